"""What holds of every reader: empty files, deep and wide trees, wrong settings."""

import numpy as np
import pytest

from dgltrees import ConfigError, TreeError
from dgltrees import formats as readers
from tests.trees.nested import write

NAMES = ["boolsent", "conllu", "dp", "inex", "listops", "logic", "mrg", "sst"]
MANY = 100_000


def conllu(heads):
    lines = (f"{i}\ta\t_\t_\t_\t_\t{head}\t_\t_\t_" for i, head in enumerate(heads, start=1))
    return "\n".join(lines)


CHAINS = {
    "boolsent": "(1_AND " * MANY + "1" + ")" * MANY,
    "conllu": conllu(range(MANY)),
    "dp": "\n".join(f"a\tNN\t{head}" for head in range(MANY)),
    "inex": "1:" + "3(" * MANY + "3($)" + ")" * MANY,
    "listops": "1\t" + "[MAX " * MANY + "1" + " ]" * MANY,
    "logic": "#\ta\t" + "( not " * MANY + "a" + " )" * MANY,
    "mrg": "(S " * MANY + "(S a)" + ")" * MANY,
    "sst": "(2 " * MANY + "(2 a)" + ")" * MANY,
}
STARS = {
    "boolsent": "(1_AND" + " 1" * MANY + ")",
    "conllu": conllu([0] * MANY),
    "dp": "a\tNN\t0\n" * MANY,
    "inex": "1:3(" + "3($) " * MANY + ")",
    "listops": "1\t[MAX" + " 1" * MANY + " ]",
    "mrg": "(S " + "(S a)" * MANY + ")",
    "sst": "(2 " + "(2 a)" * MANY + ")",
}


@pytest.mark.parametrize("name", [*NAMES, "logic_sequences"])
@pytest.mark.parametrize("content", ["", "\n \n\r\n"])
def test_an_empty_file(tmp_path, name, content):
    path = write(tmp_path, content)
    with pytest.raises(TreeError) as caught:
        getattr(readers, f"read_{name}")(path)
    assert str(caught.value) == f"{path}: expected at least one tree, got an empty file"


@pytest.mark.parametrize("name", NAMES)
def test_a_chain(tmp_path, name):
    forest = getattr(readers, f"read_{name}")(write(tmp_path, CHAINS[name])).forest
    assert forest.sizes[-1] == MANY + 1
    np.testing.assert_array_equal(forest.parent[-MANY - 1 :], np.arange(-1, MANY))
    assert forest.pos.max() == 0


@pytest.mark.parametrize("name", sorted(STARS))
def test_a_star(tmp_path, name):
    read = getattr(readers, f"read_{name}")
    option = {"single_root": False} if name in ("conllu", "dp") else {"max_children": None}
    forest = read(write(tmp_path, STARS[name]), **option).forest
    assert forest.num_nodes == MANY + 1
    np.testing.assert_array_equal(forest.parent[1:], 0)
    np.testing.assert_array_equal(forest.pos[1:], np.arange(MANY))


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file(tmp_path, name):
    with pytest.raises(FileNotFoundError):
        getattr(readers, f"read_{name}")(tmp_path / "none")


@pytest.mark.parametrize("name", NAMES)
def test_chunks_of_no_trees(tmp_path, name):
    with pytest.raises(ConfigError, match="expected chunks of at least one tree, got trees=0"):
        next(getattr(readers, f"stream_{name}")(write(tmp_path, STARS.get(name, "")), trees=0))


def test_a_chain_is_written(tmp_path):
    path = write(tmp_path, CHAINS["listops"] + "\n")
    readers.write_listops(readers.read_listops(path), tmp_path / "again", form="nary")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()

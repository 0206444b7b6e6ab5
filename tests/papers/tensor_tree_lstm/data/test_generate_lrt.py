import itertools
from collections import Counter
from pathlib import Path

import pytest

from dgltrees.cli import main
from dgltrees.errors import ConfigError
from dgltrees.papers.tensor_tree_lstm.data import generate_lrt
from dgltrees.papers.tensor_tree_lstm.data.generate_lrt import make_lrt
from tests.formats.synthetic.generated import fields

from . import brute_force

PER_BIN = [8, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60]


Files = dict[str, list[list[str]]]  # [relation, sentence, sentence] per line


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    out = tmp_path_factory.mktemp("lrt")
    paths = make_lrt(out, train=PER_BIN, valid=130, test=[9] * 13, seed=3)
    return {name: fields(path) for name, path in paths.items()}


def test_a_file_has_the_pairs_of_one_bin(files: Files) -> None:
    train = [len(files[f"train{n}"]) for n in range(13)]
    assert train == PER_BIN
    assert sum(len(pairs) for name, pairs in files.items() if name.startswith("valid")) == 130
    assert all(len(files[f"test{n}"]) == 9 for n in range(13))
    for name, pairs in files.items():
        n = int(name.lstrip("trainvldes"))
        for _, *sides in pairs:
            larger = max(map(brute_force.operators, sides))
            assert larger == n or n == 12 <= larger


def test_all_pairs_are_distinct(files: Files) -> None:
    pairs = [tuple(pair) for pairs in files.values() for pair in pairs]
    assert len(set(pairs)) == len(pairs)


def test_relations_are_those_of_brute_force(files: Files) -> None:
    for relation, *sides in itertools.chain.from_iterable(files.values()):
        left, right = map(brute_force.models, sides)
        assert relation == brute_force.relation(left, right)
        assert 0 < len(left) < 64
        assert 0 < len(right) < 64
        assert len(brute_force.letters(*sides)) <= 4


def test_relations_of_all_functions_of_two_variables() -> None:
    """Every pair of functions that are not constant, over the 64 assignments of six variables."""
    functions = [
        frozenset(row for row in range(64) if pattern >> (row & 3) & 1) for pattern in range(1, 15)
    ]
    names = set()
    for left, right in itertools.product(functions, functions):
        name = generate_lrt.relation(*(sum(1 << row for row in side) for side in (left, right)))
        assert name == brute_force.relation(left, right)
        names.add(name)
    assert names == set("=<>^|v#")


def test_shares_are_close_to_those_of_the_published_data(tmp_path: Path) -> None:
    paths = make_lrt(tmp_path, train=3_000, valid=0, test=0, seed=1)
    pairs = [pair for path in paths.values() for pair in fields(path)]
    shares = {name: count / 3_000 for name, count in Counter(p[0] for p in pairs).items()}
    published = {"#": 0.531, "<": 0.11, ">": 0.11, "v": 0.107, "|": 0.107, "=": 0.019, "^": 0.017}
    assert shares == pytest.approx(published, abs=0.03)
    counts = [len(fields(path)) for path in paths.values()]
    # 3,000 pairs: floors of 3,000 x share / 10,000, and one more for the largest remainders
    assert counts == [33, 177, 329, 431, 484, 467, 378, 269, 179, 116, 69, 68]
    assert "train0" not in paths


@pytest.mark.parametrize(
    ("words", "size"), [("300", 300), ("20 30 0", [20, 30, 0]), ("9,9", [9, 9])]
)
def test_a_size_on_the_command_line_is_one_number_or_several(
    words: str, size: int | list[int], tmp_path: Path
) -> None:
    flags = ["--train", *words.split(), "--test", "0", "--out", str(tmp_path / "typed")]
    assert main(["make-data", "lrt", *flags]) == 0
    paths = make_lrt(tmp_path / "called", train=size, test=0)
    for path in paths.values():
        assert path.read_bytes() == (tmp_path / "typed" / path.name).read_bytes()


def test_bin_0_gives_all_its_pairs_and_no_more(tmp_path: Path) -> None:
    paths = make_lrt(tmp_path / "all", train=[30], valid=[6], test=0)
    pairs = [tuple(pair) for name in ("train0", "valid0") for pair in fields(paths[name])]
    expected = {("=" if x == y else "#", x, y) for x, y in itertools.product("abcdef", repeat=2)}
    assert set(pairs) == expected
    with pytest.raises(ConfigError, match=r"37 distinct LRT pairs of bin 0 .* after 36 the next"):
        make_lrt(tmp_path / "more", train=[30], valid=[7], test=0)
    assert [path.name for path in tmp_path.iterdir()] == ["all"]


def test_a_bin_does_not_depend_on_the_other_bins(tmp_path: Path) -> None:
    few = make_lrt(tmp_path / "few", train=[0, 0, 0, 20], valid=0, test=0)
    many = make_lrt(tmp_path / "many", train=[1, 2, 3, 20, 5], valid=0, test=0)
    assert few["train3"].read_bytes() == many["train3"].read_bytes()

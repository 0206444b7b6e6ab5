from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from dgltrees import TreeError
from dgltrees.formats import LRT_OPERATORS, read, write_lrt
from tests.formats.lrt_pairs import BAD_LINES, PAIRS, Pair, lines, operators
from tests.trees.nested import arrays, assert_bad, assert_shape, write


@given(pairs=PAIRS)
def test_reads_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]
) -> None:
    examples = read(write(tmp_path_factory.mktemp("d"), lines(pairs)), "lrt")
    trees = [tree for _, left, right in pairs for tree in (left, right)]
    assert len(examples) == len(pairs)
    assert_shape(examples.forest, trees)
    labels = arrays(trees)[2]
    names = [*LRT_OPERATORS, None]
    assert [names[op] for op in examples.forest.columns["op"]] == [
        label if label in LRT_OPERATORS else None for label in labels
    ]
    assert ["abcdef"[i] if i >= 0 else None for i in examples.forest.columns["value"]] == [
        None if label in LRT_OPERATORS else label for label in labels
    ]
    assert [examples.targets.names[i] for i in examples.columns["target"]] == [p[0] for p in pairs]
    np.testing.assert_array_equal(
        examples.columns["operators"],
        [max(operators(left), operators(right)) for _, left, right in pairs],
    )


@given(pairs=PAIRS)
def test_writes_what_was_read(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]) -> None:
    folder = tmp_path_factory.mktemp("d")
    write_lrt(read(write(folder, lines(pairs)), "lrt"), folder / "again")
    assert (folder / "again").read_bytes() == lines(pairs).encode()


def test_a_node_that_does_not_fit_its_operator_is_not_written(tmp_path: Path) -> None:
    examples = read(write(tmp_path, "#\ta\t( not b )\n"), "lrt")
    examples.forest.columns["op"][1] = LRT_OPERATORS.index("and")
    with pytest.raises(TreeError, match=r"^tree 1, node 0: expected two children below 'and'"):
        write_lrt(examples, tmp_path / "again")


def test_operators_are_those_of_the_longer_sentence(tmp_path: Path) -> None:
    text = "#\ta\tb\n<\t( not ( a ( and b ) ) )\t( not c )\n>\ta\t( ( not a ) ( or ( not b ) ) )\n"
    assert read(write(tmp_path, text), "lrt").columns["operators"].tolist() == [0, 2, 3]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    assert_bad(tmp_path, "lrt", f"=\ta\ta\n{line}\n", 2, message)

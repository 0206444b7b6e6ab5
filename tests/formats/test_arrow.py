from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from dgltrees import Forest, LabeledTrees, TreeError, Vocabulary
from dgltrees.formats import (
    FORMATS,
    RecordLayout,
    guess_format,
    read,
    write_arrow,
    write_jsonl,
    write_parquet,
)
from dgltrees.formats.lines import gather
from tests.trees.nested import Tree, arrays, assert_same, names_of, nested, size

ROWS = {
    "parent": [[-1, 0, 0], [None]],
    "op": [["add", None, "x"], ["y"]],
    "cost": [[1, 2, None], [3]],
    "ok": [[True, False, True], [True]],
    "id": [[1, None, 2], [3]],
    "label": ["a", None],
    "seconds": [1, None],
}


def save(path: Path, rows: Any) -> Path:
    table = rows if isinstance(rows, pa.Table) else pa.table(rows)
    parquet.write_table(table, path) if path.suffix == ".parquet" else feather.write_feather(
        table, str(path)
    )
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_lists_as_others_write_them(tmp_path: Path, suffix: str) -> None:
    if suffix == ".parquet" and int(pa.__version__.partition(".")[0]) < 26:
        pytest.skip("pyarrow before 26 cannot read the null among vectors that it has written")
    vectors = pa.array([[[1, 2], None, [3, 4]], [[5, 6]]], pa.list_(pa.list_(pa.float32(), 2)))
    path = save(tmp_path / f"a{suffix}", {**ROWS, "at": vectors})
    assert guess_format(path) == "arrow"
    examples = FORMATS["arrow"].read(path)
    forest = examples.forest
    assert forest.parent.tolist() == [-1, 0, 0, -1]
    assert forest.parent.dtype == np.int32
    assert forest.pos.tolist() == [0, 0, 1, 0]
    assert names_of(forest, "op") == ["add", None, "x", "y"]
    np.testing.assert_array_equal(forest.columns["cost"], [1, 2, np.nan, 3])
    assert forest.columns["ok"].tolist() == [1, 0, 1, 1]
    np.testing.assert_array_equal(forest.columns["id"], [1, np.nan, 2, 3])  # of a node
    np.testing.assert_array_equal(forest.columns["at"], [[1, 2], [np.nan] * 2, [3, 4], [5, 6]])
    assert examples.columns["line"].tolist() == [1, 2]
    assert examples.columns["label"].tolist() == ["a", None]
    np.testing.assert_array_equal(examples.columns["seconds"], [1, np.nan])
    for trees in (1, 5):
        chunks = list(FORMATS["arrow"].chunks(path, trees))
        assert max(map(len, chunks)) <= trees
        assert_same(gather(chunks), examples)


def test_nothing_is_copied(tmp_path: Path) -> None:
    parents = pa.array([[-1, 0], [-1]], pa.list_(pa.int32()))
    table = pa.table({"parent": parents, "x": [[1.0, 2.0], [3.0]]})
    feather.write_feather(table, str(tmp_path / "a.arrow"), compression="uncompressed")
    forest = next(FORMATS["arrow"].chunks(tmp_path / "a.arrow")).forest
    for array in (forest.parent, forest.columns["x"]):
        assert not array.flags.owndata
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"op": [["a"], ["b"]]},
            ":1: expected column 'op' to have a value per node, 3 as 'parent'",
        ),
        ({"op": [["a", "b", "c"], None]}, ":2: expected a list in column 'op', got null"),
        ({"parent": [[-1, 0, 0], []], "op": [["a"] * 3, []]}, ":2: tree 1: expected at least one"),
        ({"parent": [[-1, 2, 1], [-1]]}, ":1: tree 0, node 1: expected every node below the root"),
        ({"parent": [[-1, -1, 1], [-1]]}, ":1: tree 0: expected exactly one root, got 2"),
        (
            {"parent": [[0.5, 0, 0], [1]]},
            ": expected lists of integers in column 'parent', got dou",
        ),
        ({"parent": [1, 2]}, ": expected a column 'parent' with lists of parents, got the columns"),
        (
            {"label": [b"a", b"b"]},
            ": expected column 'label' to hold numbers, text or vectors of o",
        ),
        *(
            (
                {name: pa.array([[0, 0, 0], [2**63]], pa.list_(pa.uint64()))},
                f": expected column {name!r} to hold values that fit into 64 bits, or text",
            )
            for name in ("op", "parent", "pos")
        ),
        (
            {"label": pa.array([1, 2**63], pa.uint64())},
            ": expected column 'label' to hold values that fit into 64 bits",
        ),
    ],
)
def test_rows_that_are_no_trees(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    rows = {name: ROWS[name] for name in ("parent", "op", "label")}
    path = save(tmp_path / "a.parquet", {**rows, **change})
    with pytest.raises(TreeError) as caught:
        read(path, "arrow")
    assert str(caught.value).startswith(f"{path}{message}")


def test_files_that_hold_nothing(tmp_path: Path) -> None:
    empty = pa.table({"parent": pa.array([], pa.list_(pa.int32()))})
    with pytest.raises(TreeError, match="expected at least one tree, got an empty file"):
        read(save(tmp_path / "a.parquet", empty), "arrow")
    path = save(tmp_path / "b.parquet", {**ROWS})
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TreeError, match="expected a Parquet or Arrow file, got a damaged one"):
        read(path, "arrow")


def test_another_name_and_any_type_as_names(tmp_path: Path) -> None:
    rows = {"up": ROWS["parent"], "at": [[1, None, 3], [4]]}
    forest = read(
        save(tmp_path / "a.arrow", rows),
        "arrow",
        layout=RecordLayout(parent="up", categorical_columns=("at",)),
    ).forest
    assert names_of(forest, "at") == ["1", None, "3", "4"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(nested(["f", "g"], ["x", "y"]), min_size=1, max_size=4), st.data())
@pytest.mark.parametrize("write", [write_arrow, write_parquet])
def test_any_forest_is_written_and_read_back(
    tmp_path: Path, write: Callable[..., None], trees: list[Tree], data: st.DataObject
) -> None:
    parent, pos, labels = arrays(trees)
    vocab = Vocabulary()
    floats = st.floats(width=32) | st.just(np.nan)
    numbers = np.array(data.draw(st.lists(floats, min_size=len(parent), max_size=len(parent))))
    forest = Forest.build(
        parent,
        pos=[2 * place for place in pos],
        offsets=np.cumsum([0, *map(size, trees)]),
        columns={
            "op": vocab.encode(labels),
            "x": numbers.astype(float),
            "v": np.stack([numbers, -numbers], 1).astype(np.float32),
            "n": np.arange(len(parent)),
        },
        vocabs={"op": vocab},
    )
    texts = np.empty(len(trees), object)
    texts[:] = data.draw(
        st.lists(st.none() | st.text(max_size=3), min_size=len(trees), max_size=len(trees))
    )
    beside = {"line": np.arange(1, len(trees) + 1), "y": numbers[: len(trees)].astype(float)}
    examples = LabeledTrees(forest, {**beside, "text": texts})
    write(examples, tmp_path / "trees")
    assert_same(read(tmp_path / "trees", "arrow"), examples)


@pytest.mark.parametrize("write", [write_arrow, write_parquet, write_jsonl])
def test_vectors_are_written(tmp_path: Path, write: Callable[..., None]) -> None:
    flags = np.array([[True, False], [False, True]])
    suffix = write.__name__.partition("_")[2]
    write(LabeledTrees(Forest.build([-1, 0], columns={"x": flags})), tmp_path / f"a.{suffix}")
    np.testing.assert_array_equal(read(tmp_path / f"a.{suffix}").forest.columns["x"], flags)
    deep = LabeledTrees(Forest.build([-1, 0], columns={"x": np.zeros((2, 3, 4))}))
    with pytest.raises(TreeError, match=r"vectors in column 'x', got shape \(2, 3, 4\)"):
        write(deep, tmp_path / "deep")


def test_columns_that_clash(tmp_path: Path) -> None:
    forest = Forest.build([-1], columns={"x": [1]})
    with pytest.raises(TreeError, match="expected every column once, got 'x' twice among"):
        write_parquet(LabeledTrees(forest, {"x": np.ones(1)}), tmp_path / "a.parquet")
    with pytest.raises(TreeError, match="expected single trees, got 2 per example"):
        write_arrow(LabeledTrees(Forest.concat([forest, forest]), arity=2), tmp_path / "a.arrow")
    assert not list(tmp_path.iterdir())

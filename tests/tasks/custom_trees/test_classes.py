"""Classes of custom trees and of their nodes, from a saved forest to accuracy."""

from pathlib import Path

import numpy as np
import pytest

from dgltrees import ConfigError, Forest, TreeError, Vocabulary, load
from dgltrees.settings.layers import Settings
from dgltrees.tasks.custom_trees.classes import CLASSIFY_NODES
from dgltrees.tasks.splits import load_examples
from dgltrees.training.run import train
from dgltrees.trees.schema import NUMBERS
from tests.training.samples import quick


def _save(folder: Path, seed: int, names: list[str]) -> str:
    """200 trees of a root ``x`` or ``y`` and two leaves: the class is whether the leaves differ."""
    rng = np.random.Generator(np.random.PCG64(seed))
    leaves = rng.integers(2, size=(200, 2))
    kinds = np.concatenate([rng.integers(2, size=(200, 1)) + 2, leaves], 1).ravel()
    differ = leaves[:, 0] != leaves[:, 1]
    target = np.stack([differ + 0, leaves[:, 0], leaves[:, 1]], 1).ravel()
    order = [names.index(name) for name in ("a", "b", "x", "y")]
    forest = Forest.build(
        np.tile([-1, 0, 0], 200),
        offsets=np.arange(201) * 3,
        columns={"kind": np.array(order)[kinds], "class": target},
        vocabs={"kind": Vocabulary(names), "class": Vocabulary(["no", "yes"])},
    )
    forest.save(folder)
    return str(folder)


def test_a_model_learns_a_forest_of_ones_own(tmp_path: Path) -> None:
    settings = Settings(
        {
            "task": "classify",
            "data": {
                "train": _save(tmp_path / "train", 0, ["a", "b", "x", "y"]),
                "test": _save(tmp_path / "test", 1, ["y", "x", "b", "a"]),
                "target": "class",
            },
            "model": {
                "cell": "lstm",
                "aggregator": "full",
                "hidden_size": 8,
                "embedding": 4,
                "readout": "root",
            },
            "training": {"optimizer": "adam", "lr": 0.02, "epochs": 20, "monitor": "loss"},
        }
    )
    result = train(settings, tmp_path / "run")
    assert result["test"]["accuracy"] == 1.0
    assert result["test"]["majority_accuracy"] < 0.8
    assert result["test"]["examples"] == 200
    assert result["baselines"]["linear"]["test"]["accuracy"] <= 1.0
    run = load(tmp_path / "run")
    assert run.evaluate() == result["test"]
    lines = list(run.predict([tmp_path / "test"]))
    assert len(lines) == 200
    assert {line["prediction"] for line in lines} == {"no", "yes"}


def test_a_column_that_the_forest_has_not_is_named(tmp_path: Path) -> None:
    _save(tmp_path / "train", 0, ["a", "b", "x", "y"])
    with pytest.raises(
        TreeError, match=r"train: expected a target 'target', got the columns kind, class"
    ):
        load_examples(CLASSIFY_NODES, CLASSIFY_NODES.data(), [tmp_path / "train"])


@pytest.mark.parametrize(
    "targets",
    [
        np.array(["yes", "", "no"]),
        np.array(["yes", None, "no"], object),
        np.array(["yes", "", "no"], object),
        np.array(["yes", np.nan, "no"], object),
    ],
)
def test_nodes_without_a_target(tmp_path: Path, targets: np.ndarray) -> None:
    forest = Forest.build(
        [-1, 0, 0], columns={"op": [0, 1, 1]}, vocabs={"op": Vocabulary(["a", "b"])}
    )
    forest.with_columns({**forest.columns, "target": targets}).save(tmp_path / "forest")
    data = load_examples(CLASSIFY_NODES, CLASSIFY_NODES.data(), [tmp_path / "forest"])
    assert sorted(data.targets.names) == ["no", "yes"]
    ids = data.forest.columns["target"].tolist()
    assert [data.targets.names[i] if i >= 0 else None for i in ids] == ["yes", None, "no"]


@pytest.mark.parametrize(("shape", "nodes"), [("chain", 5_000), ("star", 100_000)])
def test_trains_on_a_tree_that_no_recursion_would_survive(
    tmp_path: Path, shape: str, nodes: int
) -> None:
    parent = np.arange(-1, nodes - 1) if shape == "chain" else np.minimum(np.arange(nodes), 1) - 1
    columns = {"label": np.arange(nodes) % 2, "target": np.arange(nodes) % 2}
    vocabs = {"label": Vocabulary(["a", "b"]), "target": Vocabulary(["no", "yes"])}
    Forest.build(parent, columns=columns, vocabs=vocabs).save(tmp_path / "forest")
    settings = Settings(
        {
            "task": "classify-nodes",
            "data": {"train": str(tmp_path / "forest"), "valid_fraction": 0.0},
            "model": {"cell": "child_sum", "hidden_size": 2, "embedding": 2},
            "training": {"epochs": 1},
        }
    )
    assert train(settings, tmp_path / "run")["best_epoch"] == 1
    (line,) = load(tmp_path / "run").predict([tmp_path / "forest"])
    assert len(line["nodes"]) == nodes


def _nodes(path: Path, codes: list[str]) -> str:
    """A table of trees of two nodes with a code, whose class is the code too."""
    nodes = [(t, k, code) for t, code in enumerate(codes) for k in ("0,", "1,0")]
    rows = [f"{t},{k},{code},{code}" for t, k, code in nodes]
    path.write_text("\n".join(["tree,id,parent,code,class", *rows]))
    return str(path)


@pytest.mark.filterwarnings("ignore:the columns code are nearly equal to the target")
def test_names_of_training_are_names_in_a_second_file(tmp_path: Path) -> None:
    names = ["A1", "1", "01", "1_0", "NA", "null"]
    data = {"train": _nodes(tmp_path / "a.csv", names * 4), "target": "class"}
    train(quick("classify", data, epochs=1), tmp_path / "run")
    run = load(tmp_path / "run")
    for codes in (names, ["01", "1", "01"], ["1_0"], ["NA"], ["1", "null"]):
        read = run.read(_nodes(tmp_path / "b.csv", codes))
        assert run.vocabularies["code"].decode(read.forest.columns["code"][::2]) == codes
        assert read.targets.decode(read.columns["target"]) == codes
    numbers = _nodes(tmp_path / "numbers.csv", ["1.0", "1", "1.10", "1.1"] * 4)
    for columns, classes in ([], ["1", "1.1"]), (["class"], ["1", "1.0", "1.1", "1.10"]):
        some = {**data, "train": numbers, "categorical_columns": columns}
        train(quick("classify", some, epochs=1), tmp_path / str(len(columns)))
        assert [*load(tmp_path / str(len(columns))).vocabularies["target"].names] == classes
    other = {**data, "train": _nodes(tmp_path / "c.csv", names[::-1] * 4)}
    train(quick("classify", other, epochs=1), tmp_path / "other")
    with pytest.raises(ConfigError, match="those of another with other names of 'code'"):
        load(tmp_path / "other").report(run.read(tmp_path / "a.csv"))


def test_numbers_of_training_are_numbers_in_a_second_file(tmp_path: Path) -> None:
    data = {"train": _nodes(tmp_path / "a.csv", ["1", "2", "2.0", "NA"] * 4), "target": "class"}
    train(quick("classify", {**data, "target": "tree"}, epochs=1), tmp_path / "run")
    run = load(tmp_path / "run")
    for cells, values in (["NA"], [np.nan]), (["2", "null", "true"], [2, np.nan, 1]):
        numbers = run.read(_nodes(tmp_path / "b.csv", cells)).forest.columns[NUMBERS]
        np.testing.assert_array_equal(numbers[::2, 0], values)
    for cell in ("None", "007", "1_0"):
        path = _nodes(tmp_path / "c.csv", ["1", cell])
        with pytest.raises(
            TreeError, match=f"c.csv:4: column 'code': expected a number, got '{cell}'"
        ):
            run.read(path)


def test_a_category_of_numbers_keeps_its_text(tmp_path: Path) -> None:
    """Also where all cells are numbers, in the first file or in the second."""
    data = {"train": _nodes(tmp_path / "a.csv", ["1.0", "1", "2.50"] * 4), "target": "tree"}
    train(quick("classify", {**data, "features": {"code": "category"}}, epochs=1), tmp_path / "run")
    run = load(tmp_path / "run")
    read = run.read(_nodes(tmp_path / "b.csv", ["2.50", "1.0"])).forest.columns["code"]
    assert run.vocabularies["code"].decode(read[::2]) == ["2.50", "1.0"]

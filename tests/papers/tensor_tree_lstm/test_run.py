from __future__ import annotations

from pathlib import Path

import pytest

from dgltrees.errors import ConfigError, TreeError
from dgltrees.training.loaded import load
from dgltrees.training.run import train
from tests.training.samples import SAMPLES, quick, with_model


def test_logic_learns_from_simple_pairs_and_is_reported_by_operators(tmp_path: Path) -> None:
    train(quick("lrt-sum-c5", {"limit": None}), tmp_path / "run")
    loaded = load(tmp_path / "run")
    examples = loaded.metadata["examples"]
    assert examples["valid"] == 13  # a tenth of 130 pairs of 0 to 12 operators
    assert examples["train"] <= 50  # at most 4 operators: the first five of 13 files of 10
    report = loaded.evaluate(test=[str(SAMPLES / "lrt" / f"test{n}") for n in (0, 3, 12)])
    by_operators = report["accuracy_by_operators"]
    assert list(by_operators) == ["0", "3", "12+"]
    mean = sum(by_operators.values()) / 3  # as many examples in each file
    assert report["accuracy"] == pytest.approx(mean)


def test_a_task_with_operators_needs_a_cell_with_operators(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model.cell nary has no argument 'operators'.* lstm"):
        train(with_model(quick("listops-sum-c25"), cell="nary"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_more_children_than_the_model_has_places_for_are_refused(tmp_path: Path) -> None:
    wide = tmp_path / "wide.txt"
    wide.write_text("1:354(364($))\n2:354(" + "364($) " * 60 + ")\n")
    settings = quick("inex", {"limit": None})
    train(settings, tmp_path / "bounded")
    message = r"wide.txt: tree 1, node 0: expected at most 32 children, .*got one at position 32"
    with pytest.raises(TreeError, match=message):
        load(tmp_path / "bounded").evaluate(test=str(wide))
    with pytest.raises(TreeError, match=message):
        train(quick("inex", {"valid": str(wide)}), tmp_path / "valid")
    assert not (tmp_path / "valid").exists()
    train(with_model(settings, cell="child_sum"), tmp_path / "free")
    assert load(tmp_path / "free").evaluate(test=str(wide))["examples"] == 2

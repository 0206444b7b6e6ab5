"""The tasks of the paper: their settings, their files, and runs of them."""

from pathlib import Path

import pytest

from dgltrees.errors import ConfigError, TreeError
from dgltrees.training.run import train
from dgltrees.training.trained import load
from tests.training.samples import quick, with_model
from tests.training.test_device import TOLERANCE, losses_of_one_and_two


def test_a_task_with_operators_needs_a_cell_with_operators(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model.cell nary has no argument 'operators'.* lstm"):
        train(with_model(quick("listops-sum-c25"), cell="nary"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_more_children_than_the_model_has_places_for_are_refused(tmp_path: Path) -> None:
    wide = tmp_path / "wide.txt"
    wide.write_text("2\t[MAX 1 2 ]\n8\t[MAX " + "8 " * 60 + "]\n")
    settings = quick("listops-sum-c25", {"max_train_examples": None})
    train(settings, tmp_path / "bounded")
    message = r"tree 1, node 0: expected at most 5 children, .*got a child at position 5"
    with pytest.raises(TreeError, match=message):
        load(tmp_path / "bounded").evaluate(test=str(wide))
    with pytest.raises(TreeError, match=message):
        train(quick("listops-sum-c25", {"valid": str(wide)}), tmp_path / "valid")
    assert not (tmp_path / "valid").exists()
    train(with_model(settings, cell="child_sum", operator_labels="one_hot"), tmp_path / "free")
    assert load(tmp_path / "free").evaluate(test=str(wide))["examples"] == 2


def test_two_processes_give_the_losses_of_one(tmp_path: Path) -> None:
    """36 examples in batches of 7: the last holds one, so that a process has no part of it.

    It has no operators then, and in other batches not all of them.
    """
    settings = quick("listops-hosvd-c10-r3", epochs=2, batch_size=7)
    assert 40 - round(40 * settings.data.valid_fraction) == 36
    settings = with_model(settings, hidden_size=5, rank=2)
    one, two = losses_of_one_and_two(tmp_path, settings)
    assert len(one) == len(two) == 2
    for left, right in zip(one, two):
        for name in ("train_loss", "valid_loss"):
            assert right[name] == pytest.approx(left[name], rel=TOLERANCE), name

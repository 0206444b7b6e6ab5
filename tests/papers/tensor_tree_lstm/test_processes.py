from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.samples import quick, with_model
from tests.training.test_processes import TOLERANCE, losses_of_one_and_two


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

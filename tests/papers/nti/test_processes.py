from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.samples import quick, with_model
from tests.training.test_processes import TOLERANCE, losses_of_one_and_two


def test_nodes_are_counted_over_all_processes(tmp_path: Path) -> None:
    settings = with_model(quick("sst-tree", batch_size=7), hidden_size=5, embedding=4)
    one, two = losses_of_one_and_two(tmp_path, settings)
    assert two[0]["train_loss"] == pytest.approx(one[0]["train_loss"], rel=TOLERANCE)
    assert two[0]["valid_node_accuracy"] == pytest.approx(one[0]["valid_node_accuracy"])

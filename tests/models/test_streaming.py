"""Roots of trees that are encoded batch after batch."""

from pathlib import Path

import numpy as np
import pytest
from torch.testing import assert_close

from dgltrees import ConfigError, Forest
from dgltrees.cells import make_cell
from dgltrees.models import BidirectionalEncoder, OneHot, TreeEncoder, encode_roots
from tests.worlds import random_forest


def world() -> Forest:
    forest = random_forest(np.random.default_rng(3), 30, 12, 3)
    value = {"value": np.arange(forest.num_nodes, dtype=np.int32) % 4}
    return Forest.build(forest.parent, pos=forest.pos, offsets=forest.offsets, columns=value)


def encoder() -> TreeEncoder:
    cell = make_cell("lstm", input_size=4, hidden_size=3, max_children=3, dropout=0.5)
    return TreeEncoder(OneHot("value", 4), cell)


@pytest.mark.parametrize("max_nodes", [1, 20, 10_000])
def test_roots_of_all_trees_in_their_order(max_nodes: int, tmp_path: Path) -> None:
    made, forest = encoder(), world()
    forest.save(tmp_path)
    found = encode_roots(made, Forest.load(tmp_path), max_nodes=max_nodes)
    assert made.training
    batch = forest.batch()
    assert_close(found, made.eval()(batch).roots)
    assert not found.requires_grad


def test_in_float64_and_both_ways() -> None:
    made = encoder()
    down = make_cell("child_sum", input_size=3, hidden_size=2)
    both = BidirectionalEncoder(made, down).double().eval()
    forest = world()
    batch = forest.batch()
    assert_close(encode_roots(both, forest, max_nodes=9), both(batch).roots.detach())


def test_no_trees_and_no_nodes() -> None:
    none = world().select(np.zeros(0, np.int64))
    assert encode_roots(encoder(), none).shape == (0, 3)
    with pytest.raises(ConfigError, match="expected max_nodes to be at least 1, got 0"):
        encode_roots(encoder(), world(), max_nodes=0)

"""Plans of the levels of full trees."""

from __future__ import annotations

import pickle

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from dgltrees.cells.compiled.plans.full_levels import full_levels
from dgltrees.trees.builders import full_trees, left_branching_trees
from tests.trees.batches import children


@given(st.lists(st.integers(1, 20), max_size=6), st.integers(2, 4))
def test_a_plan_of_levels_reads_slices(lengths: list[int], branching: int) -> None:
    batch = full_trees(lengths, branching)
    plan = full_levels(batch)
    assert plan is not None
    assert_close(plan.order[plan.back], torch.arange(batch.num_nodes))
    below = children(batch)
    assert all(not below[node] for node in plan.order[: plan.leaves].tolist())
    table = plan.order.unsqueeze(1)
    for level in plan.levels:
        expected = [below[node] for node in plan.order[level.rows].tolist()]
        assert level.children(table).tolist() == expected
    inner = [below[node] for node in plan.order[plan.leaves :].tolist()]
    assert plan.children(table).tolist() == inner


def test_no_plan_where_sub_trees_overlap_or_the_shape_is_unknown() -> None:
    assert full_levels(full_trees([5], 3, stride=2)) is None
    assert full_levels(left_branching_trees([5])) is None
    assert full_levels(pickle.loads(pickle.dumps(full_trees([5])))) is None

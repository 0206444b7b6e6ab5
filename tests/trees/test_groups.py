"""Batches of whole groups, and pairs within them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dgltrees.trees.sampler import GroupSampler, higher_and_lower

RNG = np.random.default_rng(0)
GROUPS = RNG.permutation(np.repeat(np.arange(-1, 80), RNG.integers(1, 9, 81)))
SIZES = RNG.integers(1, 30, len(GROUPS))


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 16},
        {"batch_size": 16, "pool": 1},
        {"batch_size": 16, "depths": SIZES // 4},
        {"max_nodes": 200},
        {"batch_size": 12, "max_nodes": 150, "shuffle": False},
    ],
)
def test_every_group_is_in_one_batch_and_limits_hold(options: dict[str, Any]) -> None:
    sampler = GroupSampler(GROUPS, SIZES, **options)
    batches = sampler.batches()
    assert sorted(np.concatenate(batches).tolist()) == np.flatnonzero(GROUPS >= 0).tolist()
    assert sorted(g for ids in batches for g in np.unique(GROUPS[ids])) == list(range(80))
    for ids in batches:
        assert len(ids) <= options.get("batch_size", len(ids))
        alone = len(np.unique(GROUPS[ids])) == 1
        assert SIZES[ids].sum() <= options.get("max_nodes", 10**9) or alone
        assert (np.diff(GROUPS[ids]) != 0).sum() == len(np.unique(GROUPS[ids])) - 1
    sampler.set_epoch(1)
    again = [ids.tolist() for ids in sampler.batches()]
    assert (again == [ids.tolist() for ids in batches]) is (options.get("shuffle") is False)


def test_a_group_above_the_batch_size_is_a_batch_by_itself() -> None:
    sampler = GroupSampler(
        np.array([0, 1, 1, 1, 2]), np.ones(5, np.int64), batch_size=2, shuffle=False
    )
    assert [ids.tolist() for ids in sampler.batches()] == [[0], [1, 2, 3], [4]]
    assert GroupSampler(np.array([-1]), np.ones(1, np.int64), batch_size=2).batches() == []


def test_pairs_are_all_with_unlike_values_in_one_group() -> None:
    values, groups = torch.from_numpy(SIZES // 6), torch.from_numpy(GROUPS)
    higher, lower = higher_and_lower(values, groups)
    expected = (values[:, None] > values) & (groups[:, None] == groups)
    pairs = torch.zeros_like(expected)
    pairs[higher, lower] = True
    assert torch.equal(pairs, expected)
    assert len(higher) == int(expected.sum())

"""Batches of trees, and of whole groups."""

from typing import Any

import numpy as np
import pytest
import torch

from dgltrees import BatchSampler, ConfigError
from dgltrees.trees.sampler import GroupSampler, higher_and_lower

SIZES = np.random.default_rng(0).integers(1, 60, 500)
DEPTHS = SIZES // 7


@pytest.mark.parametrize(
    "limits",
    [
        {"batch_size": 16},
        {"max_nodes": 200},
        {"batch_size": 9, "max_nodes": 150},
        {"batch_size": 9, "max_nodes": 150, "bucket_batches": 50},
    ],
)
@pytest.mark.parametrize("shuffle", [True, False])
def test_every_example_once_and_within_the_limits(limits: dict[str, int], shuffle: bool) -> None:
    sampler = BatchSampler(SIZES, depths=DEPTHS, shuffle=shuffle, **limits)
    batches = list(sampler)
    assert len(sampler) == len(batches)
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    assert max(map(len, batches)) <= limits.get("batch_size", 500)
    assert max(SIZES[b].sum() for b in batches) <= limits.get("max_nodes", 10**9)
    if not shuffle:
        assert np.concatenate(batches).tolist() == list(range(500))


def test_epochs_differ_and_repeat() -> None:
    def epoch(number: int, seed: int = 0) -> list[list[int]]:
        sampler = BatchSampler(SIZES, depths=DEPTHS, batch_size=32, seed=seed)
        sampler.set_epoch(number)
        return [b.tolist() for b in sampler]

    assert epoch(1) == epoch(1)
    assert epoch(1) != epoch(2)
    assert epoch(1) != epoch(1, seed=1)


def test_the_trees_of_a_batch_have_similar_depths() -> None:
    def mean_range(bucket_batches: int) -> float:
        batches = BatchSampler(SIZES, depths=DEPTHS, batch_size=20, bucket_batches=bucket_batches)
        return float(np.mean([np.ptp(DEPTHS[batch]) for batch in batches]))

    assert mean_range(50) < mean_range(1) / 2
    assert mean_range(2) < mean_range(1)


@pytest.mark.parametrize("options", [{}, {"depths": DEPTHS}, {"seed": 3}, {"depths": -SIZES}])
def test_batches_are_random_samples_by_default(options: dict[str, Any]) -> None:
    """The sizes of the examples do not decide their batches."""
    one = BatchSampler(SIZES, batch_size=20, **options).batches()
    other = BatchSampler(SIZES[::-1], batch_size=20, **options).batches()
    assert [ids.tolist() for ids in one] == [ids.tolist() for ids in other]
    groups = np.arange(500) // 5
    batches = GroupSampler(groups, SIZES, batch_size=20, **options).batches()
    assert min(np.ptp(SIZES[ids]) for ids in batches) > 10


def test_an_example_above_max_nodes_is_a_batch_by_itself() -> None:
    batches = list(BatchSampler([5, 50, 5], max_nodes=10, shuffle=False))
    assert [b.tolist() for b in batches] == [[0], [1], [2]]


@pytest.mark.parametrize("large", [2**31, 2**63 - 1])
def test_a_large_limit_is_none(large: int) -> None:
    limits: dict[str, Any]
    for limits in ({"batch_size": large}, {"max_nodes": large}):
        (batch,) = BatchSampler(SIZES, bucket_batches=large, **limits).batches()
        assert sorted(batch.tolist()) == list(range(500))
        (groups,) = GroupSampler(np.arange(500) // 5, SIZES, **limits).batches()
        assert len(groups) == 500


def test_no_examples() -> None:
    assert list(BatchSampler([], max_nodes=10)) == []
    assert list(BatchSampler([], batch_size=10)) == []


def test_limits_are_checked() -> None:
    with pytest.raises(ConfigError, match="expected batch_size or max_nodes, got neither"):
        BatchSampler(SIZES)
    with pytest.raises(ConfigError, match="expected batch_size to be at least 1, got 0"):
        BatchSampler(SIZES, batch_size=0)


_RNG = np.random.default_rng(0)
GROUPS = _RNG.permutation(np.repeat(np.arange(-1, 80), _RNG.integers(1, 9, 81)))
NODES = _RNG.integers(1, 30, len(GROUPS))


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 16},
        {"batch_size": 16, "bucket_batches": 50},
        {"batch_size": 16, "bucket_batches": 50, "depths": NODES // 4},
        {"max_nodes": 200},
        {"batch_size": 12, "max_nodes": 150, "shuffle": False},
    ],
)
def test_every_group_is_in_one_batch_and_limits_hold(options: dict[str, Any]) -> None:
    sampler = GroupSampler(GROUPS, NODES, **options)
    batches = sampler.batches()
    assert sorted(np.concatenate(batches).tolist()) == np.flatnonzero(GROUPS >= 0).tolist()
    assert sorted(g for ids in batches for g in np.unique(GROUPS[ids])) == list(range(80))
    for ids in batches:
        assert len(ids) <= options.get("batch_size", len(ids))
        alone = len(np.unique(GROUPS[ids])) == 1
        assert NODES[ids].sum() <= options.get("max_nodes", 10**9) or alone
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
    values, groups = torch.from_numpy(NODES // 6), torch.from_numpy(GROUPS)
    higher, lower = higher_and_lower(values, groups)
    expected = (values[:, None] > values) & (groups[:, None] == groups)
    pairs = torch.zeros_like(expected)
    pairs[higher, lower] = True
    assert torch.equal(pairs, expected)
    assert len(higher) == int(expected.sum())

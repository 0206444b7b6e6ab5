"""Batches of similar trees."""

from __future__ import annotations

import numpy as np
import pytest

from dgltrees import BatchSampler, ConfigError

SIZES = np.random.default_rng(0).integers(1, 60, 500)
DEPTHS = SIZES // 7


@pytest.mark.parametrize(
    "limits", [{"batch_size": 16}, {"max_nodes": 200}, {"batch_size": 9, "max_nodes": 150}]
)
@pytest.mark.parametrize("shuffle", [True, False])
def test_every_example_once_and_within_the_limits(limits: dict[str, int], shuffle: bool) -> None:
    sampler = BatchSampler(SIZES, depths=DEPTHS, shuffle=shuffle, **limits)
    batches = list(sampler)
    assert len(sampler) == len(batches)
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    assert max(len(b) for b in batches) <= limits.get("batch_size", 500)
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
    def mean_range(pool: int) -> float:
        batches = BatchSampler(SIZES, depths=DEPTHS, batch_size=20, pool=pool)
        return float(np.mean([np.ptp(DEPTHS[batch]) for batch in batches]))

    assert mean_range(50) < mean_range(1) / 2


def test_an_example_above_max_nodes_is_a_batch_by_itself() -> None:
    batches = list(BatchSampler([5, 50, 5], max_nodes=10, shuffle=False))
    assert [b.tolist() for b in batches] == [[0], [1], [2]]


def test_no_examples() -> None:
    assert list(BatchSampler([], max_nodes=10)) == []
    assert list(BatchSampler([], batch_size=10)) == []


def test_limits_are_checked() -> None:
    with pytest.raises(ConfigError, match="expected batch_size or max_nodes, got neither"):
        BatchSampler(SIZES)
    with pytest.raises(ConfigError, match="expected batch_size to be at least 1, got 0"):
        BatchSampler(SIZES, batch_size=0)

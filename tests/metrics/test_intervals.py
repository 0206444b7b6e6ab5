from __future__ import annotations

import numpy as np
import pytest

from dgltrees.errors import ConfigError
from dgltrees.metrics.intervals import summarize


def test_mean_and_deviation():
    values = [0.8, 0.9, 0.85]
    found = summarize(values)
    assert found.mean == pytest.approx(0.85)
    assert found.deviation == pytest.approx(np.std(values, ddof=1))
    assert found.runs == 3
    assert min(values) <= found.low < found.mean < found.high <= max(values)


def test_the_interval_is_that_of_a_normal_mean_when_there_are_many_runs():
    values = np.random.Generator(np.random.PCG64(0)).normal(3.0, 2.0, size=400)
    found = summarize(list(values))
    half = 1.96 * values.std() / np.sqrt(400)
    assert found.low == pytest.approx(values.mean() - half, abs=0.03)
    assert found.high == pytest.approx(values.mean() + half, abs=0.03)


def test_one_run_and_none():
    assert summarize([0.5]).to_dict() == {
        "mean": 0.5,
        "deviation": 0.0,
        "low": 0.5,
        "high": 0.5,
        "runs": 1,
    }
    with pytest.raises(ConfigError, match="at least one run"):
        summarize([])


def test_the_same_seed_gives_the_same_interval():
    assert summarize([1.0, 2.0, 4.0], seed=1) == summarize([1.0, 2.0, 4.0], seed=1)

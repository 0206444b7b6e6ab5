import numpy as np
import pytest

from dgltrees.errors import ConfigError
from dgltrees.metrics.intervals import summarize


def test_the_mean_lies_in_its_interval() -> None:
    values = [0.8, 0.9, 0.85]
    summary = summarize(values)
    assert summary.mean == pytest.approx(0.85)
    assert summary.deviation == pytest.approx(np.std(values, ddof=1))
    assert summary.runs == 3
    assert min(values) <= summary.low < summary.mean < summary.high <= max(values)


def test_the_interval_is_that_of_a_normal_mean_when_there_are_many_runs() -> None:
    values = np.random.Generator(np.random.PCG64(0)).normal(3.0, 2.0, size=400)
    summary = summarize(list(values))
    half = 1.96 * values.std() / np.sqrt(400)
    assert summary.low == pytest.approx(values.mean() - half, abs=0.03)
    assert summary.high == pytest.approx(values.mean() + half, abs=0.03)


def test_one_run_has_no_deviation_and_none_is_refused() -> None:
    assert summarize([0.5]).to_dict() == {
        "mean": 0.5,
        "deviation": 0.0,
        "low": 0.5,
        "high": 0.5,
        "runs": 1,
    }
    with pytest.raises(ConfigError, match="missing values; give one value per run"):
        summarize([])


def test_the_same_seed_gives_the_same_interval() -> None:
    assert summarize([1.0, 2.0, 4.0], seed=1) == summarize([1.0, 2.0, 4.0], seed=1)

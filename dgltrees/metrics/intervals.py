"""The mean of a number over several runs, with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from dgltrees.errors import ConfigError


@dataclass(frozen=True)
class Summary:
    """Statistics of one number over several runs.

    Arguments:
        mean: the mean.
        deviation: the sample standard deviation, 0 for a single run.
        low, high: 95 % percentile bootstrap interval of the mean over the runs. With three
            runs it is hardly more informative than the smallest and the largest value.
        runs: the number of runs.
    """

    mean: float
    deviation: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.deviation:.4f} [{self.low:.4f}, {self.high:.4f}]"

    def to_dict(self) -> dict[str, float]:
        """Plain values for JSON."""
        return asdict(self)


def summarize(values: Sequence[float], *, samples: int = 10_000, seed: int = 0) -> Summary:
    """Mean, deviation and bootstrap interval of ``values``, one per run.

    Arguments:
        values: ``(R,)``, one number per run.
        samples: the number of bootstrap samples.
        seed: the seed of the bootstrap.

    Raises:
        ConfigError: there are no values.
    """
    if not len(values):
        raise ConfigError("expected the values of at least one run, got none")
    runs = np.asarray(values, dtype=np.float64)  # (R,)
    sample = np.random.Generator(np.random.PCG64(seed)).integers(
        len(runs), size=(samples, len(runs))
    )
    low, high = np.percentile(runs[sample].mean(1), [2.5, 97.5])  # (samples, R) -> (samples,)
    deviation = float(runs.std(ddof=1)) if len(runs) > 1 else 0.0
    return Summary(float(runs.mean()), deviation, float(low), float(high), len(runs))

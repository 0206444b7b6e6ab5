"""What several runs say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from dgltrees.errors import ConfigError

__all__ = ["Summary", "summarize"]


@dataclass(frozen=True)
class Summary:
    """One number over several runs.

    Arguments:
        mean: the mean.
        deviation: the sample standard deviation, 0 for a single run.
        low, high: 95 % percentile bootstrap interval of the mean over the runs. Of three runs it
            lies between the smallest and the largest and says little more than they do.
        runs: how many runs.
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
    """Mean, deviation and bootstrap interval of ``values``, one a run.

    Arguments:
        values: ``(R,)`` a number of each run.
        samples: resamples of the bootstrap.
        seed: decides the resamples.

    Raises:
        ConfigError: there are no values.
    """
    if not len(values):
        raise ConfigError("expected the values of at least one run, got none")
    runs = np.asarray(values, dtype=np.float64)  # (R,)
    drawn = np.random.Generator(np.random.PCG64(seed)).integers(
        len(runs), size=(samples, len(runs))
    )
    low, high = np.percentile(runs[drawn].mean(1), [2.5, 97.5])  # (samples, R) -> (samples,)
    deviation = float(runs.std(ddof=1)) if len(runs) > 1 else 0.0
    return Summary(float(runs.mean()), deviation, float(low), float(high), len(runs))

"""The mean of a metric over several runs, and its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from dgltrees.errors import ConfigError


@dataclass(frozen=True)
class Summary:
    """Statistics of a metric over several runs.

    Arguments:
        mean: mean over the runs.
        deviation: sample standard deviation, 0 for a single run.
        low, high: limits of the 95 % percentile bootstrap interval of the mean. With three runs
            they are close to the smallest and the largest value.
        runs: number of runs.
    """

    mean: float
    deviation: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.deviation:.4f} [{self.low:.4f}, {self.high:.4f}]"

    def to_dict(self) -> dict[str, float]:
        """Return the statistics by name, for JSON."""
        return asdict(self)


def summarize(values: Sequence[float], *, samples: int = 10_000, seed: int = 0) -> Summary:
    """Return mean, standard deviation and bootstrap interval of one value per run.

    Arguments:
        values: ``(R,)``, one value per run.
        samples: number of bootstrap samples.
        seed: seed of the bootstrap.

    Raises:
        ConfigError: ``values`` is empty.

    Example:
        >>> print(summarize([0.81, 0.84, 0.82]))
        0.8233 ± 0.0153 [0.8100, 0.8400]
    """
    if not len(values):
        raise ConfigError("missing values; give one value per run")
    runs = np.asarray(values, dtype=np.float64)  # (R,)
    sample = np.random.Generator(np.random.PCG64(seed)).integers(
        len(runs), size=(samples, len(runs))
    )
    low, high = np.percentile(runs[sample].mean(1), [2.5, 97.5])  # (samples, R) -> (samples,)
    deviation = float(runs.std(ddof=1)) if len(runs) > 1 else 0.0
    return Summary(float(runs.mean()), deviation, float(low), float(high), len(runs))

"""The accuracy of predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["accuracy"]


def accuracy(prediction: NDArray[np.int64], target: NDArray[np.int64]) -> float:
    """The share of right predictions among the rows with a target other than -1.

    There must be such a row. The result is in double precision; torchmetrics would round it to
    single.
    """
    labeled = target >= 0
    return float(np.mean(prediction[labeled] == target[labeled]))

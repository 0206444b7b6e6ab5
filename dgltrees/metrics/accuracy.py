"""How often predictions are right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["accuracy"]


def accuracy(prediction: NDArray[np.int64], target: NDArray[np.int64]) -> float:
    """Part of the rows with a class (not -1), of which there is one, whose prediction is right.

    In double precision; torchmetrics would round it to single.
    """
    labeled = target >= 0
    return float(np.mean(prediction[labeled] == target[labeled]))

"""What a model gave, and how often it was right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Outputs", "accuracy"]


@dataclass(frozen=True)
class Outputs:
    """What a model gave for every row of a data set.

    Arguments:
        loss: ``(R,)`` float64, 0 where a row has no class.
        prediction: ``(R,)`` int64, the likeliest class.
        probability: ``(R,)`` float64, the probability of that class.
    """

    loss: NDArray[np.float64]
    prediction: NDArray[np.int64]
    probability: NDArray[np.float64]


def accuracy(prediction: NDArray[np.int64], target: NDArray[np.int64]) -> float:
    """Part of the rows with a class (not -1), of which there is one, whose prediction is right.

    In double precision; torchmetrics would round it to single.
    """
    labeled = target >= 0
    return float(np.mean(prediction[labeled] == target[labeled]))

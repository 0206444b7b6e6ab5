"""Means of the predictions of several models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.settings.layers import Settings
from dgltrees.tasks.task import Columns


def predicts_logarithms(settings: Settings) -> bool:
    """Return whether a model predicts the logarithms of its targets."""
    return bool(settings.model.get("log_target"))


def mean_outputs(
    of_members: Sequence[Columns], *, logarithms: bool, weights: Sequence[float] | None = None
) -> dict[str, NDArray[Any]]:
    """Return the weighted mean of the output columns of several models.

    Arguments:
        of_members: the columns of each model.
        logarithms: use the mean of the logarithms of predicted numbers.
        weights: the weight of each model, with sum 1; default: equal weights.

    Returns:
        the means by name; columns that some of the models lack are those of the first one.
    """
    mixed = {name: np.asarray(values) for name, values in of_members[0].items()}
    for name in set.intersection(*(set(each) for each in of_members)):
        values = np.stack([np.asarray(each[name], np.float64) for each in of_members])
        logs = logarithms and name.startswith("prediction")
        mean = np.average(np.log(values) if logs else values, 0, weights)
        mixed[name] = np.exp(mean) if logs else mean
    if "probability" in mixed:  # of one of several classes
        p = np.stack([mixed[name] for name in mixed if name.startswith("probability_")], 1)
        mixed.update(prediction=p.argmax(1), probability=p.max(1))
    for name in mixed:
        if (of_flag := name.replace("prediction_", "probability_")) in mixed and of_flag != name:
            mixed[name] = (mixed[of_flag] > 0.5).astype(np.int64)
    return mixed

"""Intervals and sets of classes that contain the target with a given probability, by CV+.

For trees from the distribution of training the guaranteed coverage is ``2 * coverage - 1``, up to a
term that vanishes with their number (Barber et al., section on CV+). In practice it is about
``coverage``, and more where the members of the ensemble differ.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError
from dgltrees.trees.segments import blocks

_VALUES = 2**22
"""The number of values that are sorted at a time."""


def intervals(
    predictions: NDArray[np.float64],
    errors: NDArray[np.float64],
    folds: NDArray[np.integer[Any]],
    coverage: float,
) -> NDArray[np.float64]:
    r"""Return the CV+ interval of each new tree.

    .. math:: [q^-_{n, \alpha}\{\mu_{k(i)}(x) - R_i\},\ q^+_{n, \alpha}\{\mu_{k(i)}(x) + R_i\}]

    where :math:`q^+` is the :math:`\lceil (1 - \alpha)(n + 1) \rceil`-th smallest of n values,
    :math:`q^-` the :math:`\lfloor \alpha (n + 1) \rfloor`-th smallest, :math:`R_i` the error of
    training tree i and :math:`k(i)` its fold (Barber, Candès, Ramdas and Tibshirani, "Predictive
    inference with the jackknife+", Annals of Statistics 2021, section on CV+).
    """
    rank = _rank(coverage, len(errors))
    bounds = np.empty((len(predictions), 2))
    for rows in blocks(len(predictions), max(1, _VALUES // len(errors))):
        centers = predictions[rows][:, folds]
        # the lower bound is the upper one of the negative numbers
        for side, sign in enumerate((-1, 1)):
            values = np.partition(sign * centers + errors, rank - 1)
            bounds[rows, side] = sign * values[:, rank - 1]
    return bounds


def class_sets(
    probabilities: NDArray[np.float64],
    errors: NDArray[np.float64],
    folds: NDArray[np.integer[Any]],
    coverage: float,
) -> NDArray[np.bool_]:
    r"""Return the CV+ set of classes of each new tree.

    .. math:: \{y : |\{i : E_i < 1 - p_{k(i)}(y | x)\}| < (1 - \alpha)(n + 1)\}

    where :math:`E_i` is 1 minus the probability of the class of training tree i (Romano, Sesia and
    Candès, "Classification with valid and adaptive coverage", NeurIPS 2020, algorithm 2, with the
    score of Sadinle, Lei and Wasserman, "Least ambiguous set-valued classifiers with bounded error
    levels", JASA 2019, which gives the smallest sets on average).
    """
    rank = _rank(coverage, len(errors))
    smaller = np.zeros(probabilities[:, 0].shape, np.int64)
    for fold in range(probabilities.shape[1]):
        of_fold = np.sort(errors[folds == fold])
        smaller += np.searchsorted(of_fold, 1 - probabilities[:, fold])
    return smaller < rank


def _rank(coverage: Any, count: int) -> int:
    """Return the rank among the values of ``count`` training trees that a quantile has."""
    level = float(coverage) if isinstance(coverage, numbers.Real) else math.nan
    if not 0 < level < 1:
        raise ConfigError(
            f"expected coverage between 0 and 1, got {coverage!r}; write coverage=0.9"
        )
    least = math.ceil(round(level / (1 - level), 6))
    if count < least:
        raise ConfigError(
            f"expected at least {least} training trees for coverage={level:g}, got {count}; "
            "reduce coverage"
        )
    return max(1, math.ceil(round(level * (count + 1), 6)))

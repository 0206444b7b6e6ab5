"""Measures of predicted numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def number_metrics(
    targets: NDArray[np.float64], predictions: NDArray[np.float64]
) -> dict[str, float]:
    """MAE, RMSE, R2, Pearson and Spearman correlation, median and 95th percentile of the q-error.

    The correlations and R2 are left out where the targets are all equal, the correlations where the
    predictions are, and the q-errors where a number is not positive.

    Arguments:
        targets, predictions: ``(R,)`` numbers.
    """
    from scipy.stats import pearsonr, spearmanr
    from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

    report = {
        "mae": float(mean_absolute_error(targets, predictions)),
        "rmse": float(np.sqrt(mean_squared_error(targets, predictions))),
    }
    if len(targets) > 1 and np.ptp(targets) > 0:
        report["r2"] = float(r2_score(targets, predictions))
        if np.ptp(predictions) > 0:
            report["pearson"] = float(pearsonr(targets, predictions)[0])
            report["spearman"] = float(spearmanr(targets, predictions)[0])
    if (targets > 0).all() and (predictions > 0).all():
        errors = q_errors(targets, predictions)
        report["q_error_median"] = float(np.median(errors))
        report["q_error_95"] = float(np.percentile(errors, 95))
    return report


def q_errors(targets: NDArray[np.float64], predictions: NDArray[np.float64]) -> NDArray[np.float64]:
    """``(R,)`` max(prediction / target, target / prediction) of positive numbers.

    Moerkotte et al., "Preventing Bad Plans by Bounding the Impact of Cardinality Estimation Errors"
    (VLDB 2009), section 2.
    """
    return np.maximum(predictions / targets, targets / predictions)

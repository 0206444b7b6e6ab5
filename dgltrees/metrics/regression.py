"""Measures of predicted numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def number_metrics(
    targets: NDArray[np.float64], predictions: NDArray[np.float64]
) -> dict[str, float]:
    """Return MAE, RMSE, R2, correlations, and for positive numbers R2 of the log and q-errors.

    MAE and RMSE have the unit of the targets, the others have none. R2 is 1 for perfect
    predictions, and 0 for the mean of the targets as the prediction. R2 of the logarithms is not
    dominated by the largest targets. A q-error is the factor by which a prediction is
    wrong.

    R2 and the correlations are left out if all targets are equal, the correlations if all
    predictions are equal, and R2 of the log and the q-errors if a number is not positive.

    Arguments:
        targets, predictions: ``(R,)`` numbers.

    Returns:
        ``mae``, ``rmse``, ``r2``, ``pearson``, ``spearman``, ``r2_log``, ``q_error_median``, and
        ``q_error_95``, the 95th percentile.
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
        if "r2" in report:
            report["r2_log"] = float(r2_score(np.log(targets), np.log(predictions)))
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

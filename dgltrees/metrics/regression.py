"""Regression metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def number_metrics(
    targets: NDArray[np.float64], predictions: NDArray[np.float64]
) -> dict[str, float]:
    """Return MAE, RMSE, R2, correlations and q-errors of predicted numbers.

    MAE and RMSE are in the unit of the target. R2 is 1 for perfect predictions, and 0 for
    predictions of the mean. R2 of the logarithms is not dominated by the largest targets. A q-error
    is the factor by which a prediction is wrong.

    R2 and the correlations are omitted if all targets are equal, the correlations if all
    predictions are equal, R2 of the logarithms and the q-errors if a target or prediction is not
    positive.

    Arguments:
        targets, predictions: ``(R,)`` numbers.

    Returns:
        By name the metrics ``mae``, ``rmse``, ``r2``, ``pearson``, ``spearman``, ``r2_log``,
        ``q_error_median`` and ``q_error_95`` (the 95th percentile).

    Example:
        >>> import numpy as np
        >>> metrics = number_metrics(np.array([1.0, 2, 4]), np.array([1.0, 2, 2]))
        >>> round(metrics["mae"], 3), metrics["q_error_median"], round(metrics["r2"], 3)
        (0.667, 1.0, 0.143)
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
    """Return the q-error of each prediction, ``(R,)``.

    The q-error of a positive number is max(prediction / target, target / prediction): Moerkotte et
    al., "Preventing Bad Plans by Bounding the Impact of Cardinality Estimation Errors" (VLDB 2009),
    section 2.

    Arguments:
        targets, predictions: ``(R,)`` positive numbers.

    Example:
        >>> import numpy as np
        >>> q_errors(np.array([1.0, 2.0, 4.0]), np.array([2.0, 2.0, 1.0])).tolist()
        [2.0, 1.0, 4.0]
    """
    return np.maximum(predictions / targets, targets / predictions)


def neg_median_q_error(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return minus the median q-error of an estimator, a scorer for scikit-learn.

    ``cross_val_score(model, X, y, scoring=neg_median_q_error)``

    Arguments:
        estimator: a fitted regressor.
        X: its inputs.
        y: ``(R,)`` their targets, or several in rows. A target or prediction of 0 or less counts as
            an infinite error.

    Returns:
        at most -1, for perfect predictions; minus infinity if half of the errors are infinite.
    """
    targets, predictions = np.ravel(np.asarray(y, np.float64)), np.ravel(estimator.predict(X))
    positive = (targets > 0) & (predictions > 0)
    errors = np.full(len(targets), np.inf)
    errors[positive] = q_errors(targets[positive], predictions[positive])
    return -float(np.median(errors))

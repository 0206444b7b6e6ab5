"""Classification metrics: accuracy, and F1, AUROC and average precision of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


def accuracy(prediction: NDArray[np.int64], target: NDArray[np.int64]) -> float:
    """Return the fraction of correct predictions.

    Rows with target -1 are ignored; at least one row must have a target. The result is in double
    precision (torchmetrics would round it to single).

    Arguments:
        prediction: ``(R,)`` predicted classes.
        target: ``(R,)`` true classes, -1 if unknown.

    Example:
        >>> import numpy as np
        >>> accuracy(np.array([0, 1, 1]), np.array([0, 1, -1]))
        1.0
    """
    labeled = target >= 0
    return float(np.mean(prediction[labeled] == target[labeled]))


def class_metrics(
    targets: NDArray[np.int64], predictions: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> dict[str, float]:
    """Return accuracy, macro F1, AUROC and average precision of predicted classes.

    For two classes, AUROC and average precision are those of class 1. For more classes, they are
    the mean over one-vs-rest problems. Both are omitted if the targets contain only one class.

    Arguments:
        targets: ``(R,)`` true classes.
        predictions: ``(R,)`` predicted classes.
        probabilities: ``(R, classes)`` predicted probabilities.

    Returns:
        By name the metrics ``accuracy``, ``macro_f1``, ``auroc`` and ``average_precision``.

    Example:
        >>> import numpy as np
        >>> probabilities = np.array([[0.9, 0.1], [0.3, 0.7], [0.4, 0.6]])
        >>> class_metrics(np.array([0, 1, 1]), probabilities.argmax(1), probabilities)
        {'accuracy': 1.0, 'macro_f1': 1.0, 'auroc': 1.0, 'average_precision': 1.0}
    """
    from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score

    report = {
        "accuracy": float(accuracy_score(targets, predictions)),
        "macro_f1": float(f1_score(targets, predictions, average="macro", zero_division=0)),
    }
    present = np.unique(targets)
    if len(present) > 1:
        classes = [1] if probabilities.shape[1] == 2 else present.tolist()
        pairs = [(targets == k, probabilities[:, k]) for k in classes]
        report["auroc"] = float(np.mean([roc_auc_score(is_k, p) for is_k, p in pairs]))
        report["average_precision"] = float(
            np.mean([average_precision_score(is_k, p) for is_k, p in pairs])
        )
    return report


def flag_metrics(
    targets: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> dict[str, float]:
    """Return the metrics of binary targets, each averaged over the targets.

    Arguments:
        targets: ``(R, K)`` 0 or 1, -1 if unknown.
        probabilities: ``(R, K)`` predicted probabilities of 1.

    Returns:
        The means of the metrics of :func:`class_metrics`, by name.
    """
    reports: list[Mapping[str, float]] = []
    for k in range(targets.shape[1]):
        rows = targets[:, k] >= 0
        if rows.any():
            p = probabilities[rows, k]
            both = np.stack([1 - p, p], 1)
            reports.append(class_metrics(targets[rows, k], (p > 0.5).astype(np.int64), both))
    names = dict.fromkeys(name for each in reports for name in each)
    return {
        name: float(np.mean([each[name] for each in reports if name in each])) for name in names
    }

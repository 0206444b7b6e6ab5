"""Measures of predicted classes and flags: accuracy, and those of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


def accuracy(prediction: NDArray[np.int64], target: NDArray[np.int64]) -> float:
    """The share of right predictions among the rows with a target other than -1.

    There must be such a row. The result is in double precision; torchmetrics would round it to
    single.
    """
    labeled = target >= 0
    return float(np.mean(prediction[labeled] == target[labeled]))


def class_metrics(
    targets: NDArray[np.int64], predictions: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> dict[str, float]:
    """Accuracy, macro F1, AUROC and average precision of predicted classes.

    With two classes, AUROC and average precision are those of class 1; with more, the mean over the
    classes of each against the rest. They are left out where the targets have one class alone.

    Arguments:
        targets: ``(R,)`` classes.
        predictions: ``(R,)`` classes.
        probabilities: ``(R, classes)``.
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
    """The means over flags of the measures of each: accuracy, macro F1, AUROC, average precision.

    Arguments:
        targets: ``(R, flags)`` 0 or 1, -1 where unknown.
        probabilities: ``(R, flags)`` of yes.
    """
    reports: list[Mapping[str, float]] = []
    for k in range(targets.shape[1]):
        rows = targets[:, k] >= 0
        if rows.any():
            p = probabilities[rows, k]
            both = np.stack([1 - p, p], 1)
            reports.append(class_metrics(targets[rows, k], (p > 0.5).astype(np.int64), both))
    names = list(reports[0]) if reports else []
    return {
        name: float(np.mean([each[name] for each in reports if name in each])) for name in names
    }

import numpy as np
import pytest

from dgltrees.metrics.classes import flag_metrics


def test_metrics_of_flags_do_not_depend_on_their_order() -> None:
    """A flag of one class has no AUROC; that of the others is the mean."""
    targets = np.array([[1, 0], [1, 1], [1, 0], [-1, 1]])
    probabilities = np.array([[0.9, 0.2], [0.6, 0.7], [0.3, 0.8], [0.5, 0.6]])
    report = flag_metrics(targets, probabilities)
    assert report["auroc"] == 0.5
    assert flag_metrics(targets[:, ::-1], probabilities[:, ::-1]) == pytest.approx(report)

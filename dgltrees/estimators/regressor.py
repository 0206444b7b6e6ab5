"""Numbers of trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from dgltrees.estimators.base import TreeEstimator, parameters_by_name
from dgltrees.estimators.conformal import intervals
from dgltrees.estimators.inputs import Trees
from dgltrees.estimators.means import predicts_logarithms


class TreeRegressor(RegressorMixin, TreeEstimator):  # type: ignore[misc]
    """Regressor that predicts a number, or several, of each tree or pair of trees.

    ``TreeRegressor(log_target=True).fit(plans, seconds).predict(others)``

    Arguments:
        log_target: predict the logarithm of the target, for targets over several orders of
            magnitude. A target of 0 counts as half the smallest positive one, and no prediction is
            0 or less.
        parameters: those of :class:`~dgltrees.estimators.base.TreeEstimator`.
    """

    _preset = "regress"
    _settings_of: ClassVar[Mapping[str, str]] = {
        **TreeEstimator._settings_of,
        "log_target": "model.log_target",
    }

    @parameters_by_name
    def __init__(self, *, log_target: bool | None = None, **shared: Any) -> None:
        super().__init__(**shared)
        self.log_target = log_target

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def score(self, X: Trees, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R2 of the predictions, as scikit-learn's regressors do.

        R2 has no unit. It is 1 for perfect predictions and 0 for predictions of the mean. It is
        computed from the targets themselves, even with ``log_target``, so that the largest targets
        dominate it; :meth:`evaluate` also returns R2 of the logarithms and q-errors.

        Arguments:
            X: the trees.
            y: their targets.
            sample_weight: weights of the trees.

        Returns:
            R2, at most 1.
        """
        return float(super().score(X, y, sample_weight))

    def predict(self, X: Trees) -> NDArray[np.float64]:
        """Return the predicted numbers, in the unit of the targets.

        Arguments:
            X: the trees.

        Returns:
            ``(n_trees,)``; for several targets ``(n_trees, n_targets)``.
        """
        outputs = self._outputs(X)
        names = self.run_.vocabularies.targets
        columns = [outputs[f"prediction_{k}"] for k in range(len(names))]
        return columns[0] if len(columns) == 1 else np.stack(columns, 1)

    def predict_interval(self, X: Trees, coverage: float = 0.9) -> NDArray[np.float64]:
        """Return an interval that contains the target of a tree with a given probability.

        It needs ``ensemble``, whose predictions for trees that a member has not seen determine the
        width (CV+, :func:`~dgltrees.estimators.conformal.intervals`). With ``log_target`` the width
        is a factor. With ``groups`` in :meth:`fit` it is the width for trees of new groups.

        Arguments:
            X: the trees.
            coverage: the probability, such as 0.9, for trees from the distribution of training.

        Returns:
            ``(n_trees, 2)``, the lower and the upper bounds in the unit of the target; for several
            targets ``(n_trees, n_targets, 2)``, with the probability for each of them.

        Raises:
            ConfigError: there is no ensemble, coverage is not between 0 and 1, or there are too few
                training trees for it.
        """
        outputs = self._outputs_of_folds(X, "predict_interval")
        logs, targets = predicts_logarithms(self.run_.settings), self.targets_
        bounds = []
        for k, y in enumerate(targets.T):
            held_out = self.out_of_fold_.reshape(targets.shape)[:, k]
            known = ~np.isnan(y + held_out)  # unknown after an interrupt, or one of several targets
            y, held_out, folds = y[known], held_out[known], self.folds_[known]
            predictions = np.stack([each[f"prediction_{k}"] for each in outputs], 1)
            if logs:  # where 0 is half the smallest positive target, as in training
                zero, with_zero = y[y > 0].min() / 2, not y.all()
                y, held_out = np.log(np.where(y > 0, y, zero)), np.log(held_out)
                found = np.exp(intervals(np.log(predictions), abs(y - held_out), folds, coverage))
                if with_zero:
                    found[found <= zero] = 0.0
            else:
                found = intervals(predictions, abs(y - held_out), folds, coverage)
            bounds.append(found)
        return bounds[0] if len(bounds) == 1 else np.stack(bounds, 1)

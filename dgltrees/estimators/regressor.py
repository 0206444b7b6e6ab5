"""Numbers of trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from dgltrees.estimators.base import TreeEstimator, parameters_by_name
from dgltrees.estimators.blend import predicts_logarithms
from dgltrees.estimators.conformal import intervals
from dgltrees.estimators.inputs import Trees


class TreeRegressor(RegressorMixin, TreeEstimator):  # type: ignore[misc]
    """Regressor that predicts a number, or several, of each tree or pair of trees.

    ``TreeRegressor(log_target=True).fit(plans, seconds).predict(others)``

    Arguments:
        log_target: predict the logarithm of the target, for targets over several orders of
            magnitude. A target of 0 counts as half the smallest positive one, and no prediction is
            0 or less.
        node_target: a column of the nodes with a number of each, such as the time of each operator
            of a plan, to predict in addition to the target of the tree. It is never an input.
            Missing values (NaN or None) are allowed. :meth:`predict_nodes` predicts it.
        node_target_weight: the weight of the mean loss of a tree's nodes in the loss of the tree;
            default: 1.
        additive: predict the sum of what the nodes of a tree contribute. :meth:`explain` then shows
            these contributions, which sum to the prediction; with ``log_target`` they are positive.
            With ``node_target``, the target of a node is that of its subtree, as the total time of
            an operator includes that of its inputs: its prediction is the sum over the node and its
            descendants.
        parameters: those of :class:`~dgltrees.estimators.base.TreeEstimator`.
    """

    _preset = "regress"
    _settings_of: ClassVar[Mapping[str, str]] = {
        **TreeEstimator._settings_of,
        "log_target": "model.log_target",
        "node_target": "data.node_target",
        "node_target_weight": "model.node_target_weight",
        "additive": "model.additive",
    }

    @parameters_by_name
    def __init__(
        self,
        *,
        log_target: bool | None = None,
        node_target: str | None = None,
        node_target_weight: float | None = None,
        additive: bool | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.log_target, self.node_target = log_target, node_target
        self.node_target_weight, self.additive = node_target_weight, additive

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
        return float(super().score(X, self._in_order(y), sample_weight))

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

    def predict_nodes(self, X: Trees) -> list[NDArray[np.float64]]:
        """Return the predicted number of each node, in the unit of the node target.

        Without ``node_target``, these are the contributions of the nodes of an additive model.

        Arguments:
            X: the trees.

        Returns:
            an array per tree, ``(n_nodes,)``, in the order of its nodes: for nested dictionaries in
            preorder, a node before its children and these in their order (as
            :meth:`Forest.from_objects <dgltrees.Forest.from_objects>` orders them). Contributions
            to several targets are ``(n_nodes, n_targets)``. With ``ensemble``, means over the
            members; with ``blend``, those of the networks.

        Raises:
            ConfigError: the estimator has no ``node_target`` and is not additive.

        Example:
            >>> scans = [{"ms": float(c), "cost": c} for c in range(1, 21)]
            >>> plans = [{"ms": 1.0 + s["ms"], "cost": 0, "children": [s]} for s in scans]
            >>> model = TreeRegressor(node_target="ms", epochs=1)
            >>> model.fit(plans, [plan["ms"] for plan in plans]).predict_nodes(plans)[0].shape
            (2,)
        """
        with self._names_of_settings():
            return self._predicted(X, self._fitted().predict_nodes)

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
            # unknown after an interrupt, or one of several targets
            known = ~np.isnan(y + held_out) & (self.folds_ >= 0)
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

"""The order of trees within groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.estimators.base import TreeEstimator, parameters_by_name
from dgltrees.estimators.ensemble import fit_members
from dgltrees.estimators.inputs import Trees, group_names
from dgltrees.formats.format import RecordLayout
from dgltrees.tasks.custom_trees.settings import RankData
from dgltrees.trees import LabeledTrees


class TreeRanker(TreeEstimator):
    """Ranker that predicts a score of each tree, which orders the trees of a group.

    ``TreeRanker(best="lowest").fit(plans, seconds, groups=queries).predict(others)``

    Groups are an argument next to the targets, or a column ``group`` of the roots of the trees.
    With that column, ``cross_val_score(ranker, trees, y, groups=groups, cv=GroupKFold())`` works
    without further options. Without it, enable metadata routing, call
    ``set_fit_request(groups=True)`` and ``set_score_request(groups=True)``, and add the groups to
    the ``params`` of ``cross_val_score``.

    ``objective`` is ``pairwise`` or ``listwise``. A batch has whole groups, and ``batch_size``
    counts trees.

    Arguments:
        best: the best target of a group, ``highest`` or ``lowest``.
        parameters: those of :class:`~dgltrees.estimators.base.TreeEstimator`.
    """

    _preset = "rank"
    _settings_of: ClassVar[Mapping[str, str]] = {**TreeEstimator._settings_of, "best": "data.best"}

    @parameters_by_name
    def __init__(self, *, best: str | None = None, **shared: Any) -> None:
        super().__init__(**shared)
        self.best = best

    def fit(
        self,
        X: Trees,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        validation: tuple[Any, ...] | None = None,
        on_epoch: Callable[[dict[str, Any]], None] | None = None,
        out: PathLike | None = None,
    ) -> Any:
        """Train on trees.

        Arguments:
            X: the trees.
            y: a number per tree, which orders the trees of a group.
            groups: the group of each tree, strings or numbers; default: the column ``group`` of the
                roots.
            validation: trees, targets and groups that determine which epoch is kept.
            on_epoch: is called with the metrics of each epoch.
            out: the run directory to train in; by default nothing is written.

        Returns:
            the estimator itself.

        Raises:
            TreeError: there are no groups, or no group has trees with different targets.

        Example:
            >>> from dgltrees import TreeRanker
            >>> plans = [{"cost": 1.0, "children": [{"cost": c}]} for c in (3.0, 1.0, 2.0)] * 8
            >>> queries = [number // 3 for number in range(24)]
            >>> ranker = TreeRanker(best="lowest", epochs=1)
            >>> ranker.fit(plans, [3.0, 1.0, 2.0] * 8, groups=queries).predict(plans).shape
            (24,)
        """
        layout = self._layout(X)
        valid = self._validation(validation, layout, "(trees, targets, groups)", ["target"])
        raw = self._labeled(X, y, groups, layout=layout)
        if self.blend:
            raise ConfigError(
                "expected blend=False for a ranker, got True: its scores have no unit; leave it out"
            )
        if self.ensemble is not None:
            more: dict[str, Any] = {"validation": validation, "on_epoch": on_epoch, "out": out}
            return fit_members(self, raw, ["target"], y, layout, dict, {"groups": groups}, **more)
        return self._train(raw, ["target"], valid, on_epoch, out, layout)

    def predict(self, X: Trees) -> NDArray[np.float64]:
        """Return the score of each tree; the tree with the highest score of a group is the first.

        Arguments:
            X: the trees.

        Returns:
            ``(n_trees,)`` scores without a unit.
        """
        return np.asarray(self._outputs(X)["score"])

    def score(self, X: Trees, y: ArrayLike, groups: ArrayLike | None = None) -> float:
        """Return the fraction of pairs in the right order, as the mean over groups.

        Arguments:
            X: the trees.
            y: a number per tree.
            groups: the group of each tree; default: the column ``group`` of the roots.

        Returns:
            a number from 0 to 1; 0.5 for a random order.

        Raises:
            TreeError: no group has trees with different targets.
        """
        return float(self.evaluate(X, y, groups=groups)["pair_accuracy"])

    def _labeled(
        self,
        X: Trees,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        layout: RecordLayout | None = None,
        names: Sequence[str] | None = None,
    ) -> LabeledTrees:
        """Return trees with their targets, and with the groups if they are given."""
        if np.ndim(y) != 1:
            raise TreeError(f"expected a target per tree, (T,), got the shape {np.shape(y)}")
        examples = super()._labeled(X, y, layout=layout, names=names)
        column = self._more_settings().get("data.group", RankData.group)
        if groups is None:
            if column not in examples.forest.columns:
                raise TreeError(
                    f"missing groups; give the group of each tree, or a column {column!r} at the "
                    "roots"
                )
            return examples
        if isinstance(groups, str):
            raise ConfigError(
                f"expected groups to be one per tree, got {groups!r}; a column of the roots is "
                "named by settings={'data.group': NAME}"
            )
        of_trees = group_names(groups, len(examples))
        return replace(examples, columns={**examples.columns, column: of_trees})

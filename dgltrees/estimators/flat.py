"""Flat features of trees, for models of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dgltrees.errors import ConfigError, settings_called
from dgltrees.estimators.inputs import (
    Trees,
    as_examples,
    has_no_trees,
    inferred_layout,
    target_columns,
    with_targets,
)
from dgltrees.formats.records import RecordLayout, numbered
from dgltrees.settings.values import plain
from dgltrees.tasks.custom_trees.flat import flat_features, frequent_names
from dgltrees.tasks.custom_trees.leaks import warn_of_leaks
from dgltrees.tasks.custom_trees.reading import input_examples
from dgltrees.tasks.custom_trees.settings import CustomTreesData
from dgltrees.trees import LabeledTrees, Vocabulary
from dgltrees.trees.schema import Schema

_CALLED = {"data.features": "features"}


class FlatFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transformer of trees into rows of numbers, which ignore order and edges.

    ``make_pipeline(FlatFeatures(), HistGradientBoostingRegressor())`` is a model without trees, to
    compare an estimator with. The features are counts of categories, sums, means and maxima of
    numbers, over all nodes and over those of each type, the columns of the root, and the size and
    depth of the tree. Features that are equal in all training trees are left out.

    Arguments:
        features: the input columns, or their kinds by name; default: all columns, with inferred
            kinds.
        children_key: the key of the children, if trees are nested dictionaries; default: inferred.
        share: see :class:`~dgltrees.TreeRegressor`.

    Attributes:
        schema_: the columns of the training trees.
        feature_names_out_: the names of the features.
        varying_: their places among all features.

    Example:
        >>> trees = [{"op": "join", "children": [{"op": "scan", "rows": rows}]} for rows in (1, 5)]
        >>> flat = FlatFeatures().fit(trees)
        >>> table = flat.transform(trees)
        >>> table[:, flat.get_feature_names_out().tolist().index("sum rows")]
        array([1., 5.])
    """

    def __init__(
        self,
        *,
        features: Sequence[str] | Mapping[str, str] | None = None,
        children_key: str | list[str] | None = None,
        share: Literal[False] | None = None,
    ) -> None:
        self.features, self.children_key, self.share = features, children_key, share

    def fit(self, X: Trees, y: Any = None) -> FlatFeatures:
        """Learn the columns and the frequent categories of trees.

        Arguments:
            X: the trees, or pairs of trees, as an estimator takes them.
            y: the targets, for a warning of columns that are nearly equal to them.

        Returns:
            the transformer itself.

        Raises:
            TreeError: the trees cannot be read.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Trees, y: Any = None, **unread: Any) -> NDArray[np.float64]:
        """Learn from trees, see :meth:`fit`, and return their features, ``(n, features)``."""
        self.layout_ = inferred_layout(X, RecordLayout(children_key=self.children_key))
        settings = CustomTreesData(features=plain(self.features))
        self.layout_ = replace(self.layout_, categorical_columns=settings.as_names)
        raw = numbered(as_examples(X, self.layout_, self.share), settings.as_names)
        data = self._examples(raw, None)
        compares = y is not None and not issparse(y)  # sparse labels are not compared
        if compares:
            raw = with_targets(raw, target_columns(y))
        targets = raw.columns if compares else {}
        with settings_called(_CALLED):
            warn_of_leaks(raw, data.inputs, targets, [*targets], self.features)
        self.schema_ = data.schema
        self.frequent_ = frequent_names(data)
        names, table = flat_features(data, self.frequent_)
        varies = (table != table[0]).any(0)
        self.varying_ = np.flatnonzero(varies) if varies.any() else np.arange(len(names))
        self.feature_names_out_ = np.array(names, object)[self.varying_]
        return table[:, self.varying_]

    def transform(self, X: Trees) -> NDArray[np.float64]:
        """Return the features of trees.

        Arguments:
            X: the trees, or pairs of trees.

        Returns:
            ``(n_trees, n_features)``.

        Raises:
            TreeError: the trees cannot be read, or have none of the columns.
        """
        check_is_fitted(self)
        if has_no_trees(X):
            return np.zeros((0, len(self.varying_)))
        raw = as_examples(X, self.layout_, self.share, self.schema_.inputs)
        data = self._examples(raw, self.schema_)
        _, table = flat_features(data, self.frequent_)
        return table[:, self.varying_]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features, such as ``sum rows``; the argument has no effect."""
        check_is_fitted(self)
        return self.feature_names_out_

    def _to_dict(self) -> dict[str, Any]:
        return {
            "features": plain(self.features),
            "schema": self.schema_.to_dict(),
            "vocabularies": {name: [v.names, v.unknown] for name, v in self.schema_.items()},
            "frequent": {name: ids.tolist() for name, ids in self.frequent_.items()},
            "names": self.feature_names_out_.tolist(),
            "varying": self.varying_.tolist(),
        }

    @classmethod
    def _from_dict(cls, values: Mapping[str, Any]) -> FlatFeatures:
        flat, vocabs = cls(features=values["features"]), values["vocabularies"]
        names = {n: Vocabulary(v, unknown=u, frozen=True) for n, (v, u) in vocabs.items()}
        flat.layout_, flat.schema_ = RecordLayout(), Schema.from_dict(names, values["schema"])
        flat.frequent_ = {n: np.array(i, np.int64) for n, i in values["frequent"].items()}
        flat.feature_names_out_ = np.array(values["names"], object)
        flat.varying_ = np.array(values["varying"], np.int64)
        return flat

    def _examples(self, raw: LabeledTrees, schema: Any) -> LabeledTrees:
        """Return the trees, encoded by a schema; None to infer one."""
        with settings_called(_CALLED):
            if isinstance(self.features, str):
                raise ConfigError(
                    f"expected features to be a list of strings, got {self.features!r}; write "
                    f"features=[{self.features!r}]"
                )
            settings = CustomTreesData(features=plain(self.features), target=[])
            data = input_examples(raw, settings, schema)
        if schema is None:
            for vocab in data.schema.vocabs.values():
                vocab.freeze()
        return data

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn: trees instead of arrays."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.dict = False, True
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

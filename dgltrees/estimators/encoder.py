"""Vectors of trees, learned with a target."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin

from dgltrees.estimators.base import Trees
from dgltrees.estimators.classifier import TreeClassifier

__all__ = ["TreeEncoder"]


class TreeEncoder(TransformerMixin, TreeClassifier):  # type: ignore[misc]
    """Turns trees into the vectors that a classifier of them has learned.

    ``make_pipeline(TreeEncoder(), LogisticRegression())`` trains the vectors with its targets and
    goes on from there; :meth:`TreeRegressor.encode <dgltrees.estimators.TreeRegressor>` gives those
    that were learned with numbers.

    Arguments:
        parameters: those of :class:`~dgltrees.estimators.base.TreeEstimator`.
    """

    def transform(self, X: Trees) -> NDArray[np.float32]:
        """``(T, c)`` the vector of each tree."""
        return self.encode(X)

    def fit_transform(self, X: Trees, y: ArrayLike) -> NDArray[np.float32]:
        """Train on trees, then give their vectors."""
        self.fit(X, y)
        return self.transform(X)

"""Classes of trees, and the vectors that are learned with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, TransformerMixin

from dgltrees.estimators.base import TreeEstimator, Trees
from dgltrees.trees.columns import name_of


class TreeClassifier(ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """Classifier that predicts a class, or several labels, of each tree or pair of trees.

    ``TreeClassifier().fit(functions, packages).predict_proba(others)``

    Arguments:
        parameters: those of :class:`~dgltrees.estimators.base.TreeEstimator`.

    Attributes:
        classes_: ``(classes,)``, the classes, in the order of the columns of ``predict_proba``.
    """

    _preset = "classify"

    def fit(self, X: Trees, y: ArrayLike, **options: Any) -> Any:
        """Train on trees; see :meth:`TreeEstimator.fit`.

        Arguments:
            X: the trees.
            y: their classes, numbers or names; or a row per tree of flags.
            options: the other arguments of :meth:`TreeEstimator.fit`.
        """
        super().fit(X, y, **options)
        values = np.unique(np.asarray(y)) if np.ndim(y) == 1 else np.array([False, True])
        self._set_classes(values)
        return self

    def _set_classes(self, values: NDArray[Any]) -> None:
        """Take the classes as the user has them, in the order of the model's."""
        names = self.run_.vocabularies["target"].names
        if not names:  # flags
            self.classes_ = values
            return
        by_name = {name_of(value): value for value in values.tolist()}
        self.classes_ = np.array([by_name[name] for name in names])

    def score(self, X: Trees, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy: the share of the trees whose class is predicted correctly.

        If there are several flags, all flags of a tree must be correct.

        Arguments:
            X: the trees.
            y: their classes.
            sample_weight: weights of the trees.

        Returns:
            the accuracy, from 0 to 1; :meth:`evaluate` returns other metrics too.
        """
        return float(super().score(X, y, sample_weight))

    def predict(self, X: Trees) -> NDArray[Any]:
        """``(T,)`` the likeliest class of each tree; of flags ``(T, K)`` 0 and 1."""
        outputs = self._outputs(X)
        if "prediction" in outputs:
            predicted: NDArray[Any] = self.classes_[outputs["prediction"]]
            return predicted
        names = self.run_.vocabularies.targets
        return np.stack([outputs[f"prediction_{k}"] for k in range(len(names))], 1)

    def predict_proba(self, X: Trees) -> NDArray[np.float64]:
        """``(T, classes)`` probabilities; of flags ``(T, K)`` those of yes."""
        outputs = self._outputs(X)
        schema = self.run_.vocabularies
        count = len(schema["target"]) or len(schema.targets)
        return np.stack([outputs[f"probability_{k}"] for k in range(count)], 1)

    def _plain(self) -> dict[str, Any]:
        return {**super()._plain(), "classes": self.classes_.tolist()}

    def _restore(self, values: Mapping[str, Any]) -> None:
        self.classes_ = np.array(values["classes"])


class TreeEncoder(TransformerMixin, TreeClassifier):  # type: ignore[misc]
    """Transformer of trees into the vectors that a classifier of them has learned.

    ``make_pipeline(TreeEncoder(), LogisticRegression())`` learns the vectors from the same classes.
    For vectors that are learned from numbers use :meth:`TreeRegressor.encode
    <dgltrees.estimators.TreeRegressor>`.

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

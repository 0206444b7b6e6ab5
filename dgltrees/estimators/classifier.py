"""Classes of trees, and the vectors that are learned with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, TransformerMixin

from dgltrees._files import PathLike
from dgltrees.estimators.base import TreeEstimator, Trees
from dgltrees.trees.columns import name_of


class TreeClassifier(ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """Classifier that predicts a class, or several labels, of each tree or pair of trees.

    It is a neural network over trees, not a decision tree. Parameters that are None have the value
    that ``dgltrees train classify --help`` shows.

    Arguments:
        {parameters}

    Attributes:
        classes_: ``(classes,)``, the classes, in the order of the columns of ``predict_proba``.
        {attributes}

    Example:
        >>> from dgltrees import TreeClassifier, load_plans
        >>> plans, seconds = load_plans(60, return_X_y=True)
        >>> model = TreeClassifier(epochs=2).fit(plans, seconds > 0.1)
        >>> model.predict_proba(plans).shape
        (60, 2)
    """

    _preset = "classify"

    def fit(
        self,
        X: Trees,
        y: ArrayLike,
        *,
        validation: tuple[Trees, ArrayLike] | None = None,
        on_epoch: Callable[[dict[str, Any]], None] | None = None,
        out: PathLike | None = None,
    ) -> Any:
        """Train on trees.

        Arguments:
            X: the trees, see :meth:`TreeRegressor.fit`.
            y: their classes, numbers or names; or a row of labels per tree, each 0 or 1.
            validation: trees and classes that decide when to stop and which epoch is the best.
            on_epoch: a function that is called with the metrics of each epoch.
            out: the run directory to train in, which can be resumed; default: no file is written.

        Returns:
            The estimator itself.

        Raises:
            TreeError: X and y have different lengths, or the trees cannot be read.
            ConfigError: a setting has no effect, or its value is not allowed.
        """
        super().fit(X, y, validation=validation, on_epoch=on_epoch, out=out)
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
            The accuracy, from 0 to 1; :meth:`evaluate` returns other metrics too.
        """
        return float(super().score(X, y, sample_weight))

    def predict(self, X: Trees) -> NDArray[Any]:
        """Return the predicted classes.

        Arguments:
            X: the trees.

        Returns:
            ``(T,)`` the most probable class of each tree; of K labels ``(T, K)``, 0 or 1.
        """
        outputs = self._outputs(X)
        if "prediction" in outputs:
            predicted: NDArray[Any] = self.classes_[outputs["prediction"]]
            return predicted
        names = self.run_.vocabularies.targets
        return np.stack([outputs[f"prediction_{k}"] for k in range(len(names))], 1)

    def predict_proba(self, X: Trees) -> NDArray[np.float64]:
        """Return the probabilities of the classes.

        Arguments:
            X: the trees.

        Returns:
            ``(T, classes)`` the probability of each class; of K labels ``(T, K)``, that of each
            label.
        """
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
        {parameters}

    Attributes:
        classes_: ``(classes,)``, the classes.
        {attributes}

    Example:
        >>> from dgltrees import TreeEncoder, load_plans
        >>> plans, seconds = load_plans(60, return_X_y=True)
        >>> TreeEncoder(epochs=2, hidden_size=16).fit_transform(plans, seconds > 0.1).shape
        (60, 16)
    """

    def transform(self, X: Trees) -> NDArray[np.float32]:
        """Return the vector of each tree, ``(T, c)``."""
        return self.encode(X)

    def fit_transform(self, X: Trees, y: ArrayLike) -> NDArray[np.float32]:
        """Train on trees, then return their vectors, ``(T, c)``."""
        self.fit(X, y)
        return self.transform(X)

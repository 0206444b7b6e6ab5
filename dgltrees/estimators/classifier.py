"""Classes of trees, and the vectors that are learned with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_sample_weight

from dgltrees.errors import ConfigError, TreeError
from dgltrees.estimators.base import TreeEstimator, parameters_by_name
from dgltrees.estimators.conformal import class_sets
from dgltrees.estimators.inputs import Trees, labels
from dgltrees.models.encoder import Encoder
from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.trees import LabeledTrees
from dgltrees.trees.columns import name_of


class TreeClassifier(ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """Classifier that predicts a class, or several labels, of each tree or pair of trees.

    ``TreeClassifier().fit(functions, packages).predict_proba(others)``

    Arguments:
        class_weight: the weight of each class in the loss: a dictionary, or ``balanced``
            for the inverse of its frequency. Without it all trees have the same weight.
        parameters: those of :class:`~dgltrees.estimators.base.TreeEstimator`.

    Attributes:
        classes_: ``(classes,)``, the classes, in the order of the columns of ``predict_proba``; for
            several labels ``(n_labels, 2)``, False and True.
    """

    _preset = "classify"
    classes_: NDArray[Any]

    @parameters_by_name
    def __init__(
        self,
        *,
        class_weight: Mapping[Any, float] | Sequence[Mapping[Any, float]] | str | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = True
        return tags

    def _weights(self, y: ArrayLike, sample_weight: ArrayLike | None) -> NDArray[np.float64] | None:
        """Return the weights of trees times those of their classes; see :meth:`fit`."""
        weights = super()._weights(y, sample_weight)
        if self.class_weight is None:
            return weights
        given, of_trees = self.class_weight, y
        if np.ndim(y) == 1:  # the index of each class: scikit-learn takes "10" for a number
            classes, of_trees = np.unique(np.asarray(y), return_inverse=True)
            names = classes.tolist()
            if isinstance(given, Mapping):
                others = [name for name in given if name not in names]
                given = {k: given[name] for k, name in enumerate(names) if name in given}
                if others and len(given) < len(names):
                    raise ConfigError(
                        f"expected class_weight to name the classes {names!r:.80}, got "
                        f"{others[0]!r}"
                    )
        try:
            of_classes = compute_sample_weight(given, of_trees)
        except ValueError as error:
            raise ConfigError(f"cannot use class_weight {self.class_weight!r}: {error}") from None
        wrong = of_classes[~(np.isfinite(of_classes) & (of_classes >= 0))]
        if len(wrong) or not of_classes.any():
            raise ConfigError(
                "expected class_weight to be finite numbers of at least 0, one of them above 0, "
                f"got {self.class_weight!r}"
            )
        return np.asarray(of_classes if weights is None else weights * of_classes)

    def _targets(self, y: ArrayLike) -> ArrayLike:
        return y if y is None or hasattr(y, "columns") else labels(y)

    def _classes(self, y: ArrayLike) -> NDArray[Any]:
        """Return the classes of targets in order; for several labels False and True for each.

        By this shape scikit-learn's scorers tell several labels from classes.
        """
        count = np.shape(y)[1] if np.ndim(y) == 2 else 1
        return np.tile([False, True], (count, 1)) if count > 1 else _unique(y)

    def _of_targets(self, raw: LabeledTrees, targets: list[str]) -> Mapping[str, Any]:
        """Return the classes in the order of ``numpy.unique``, if they are strings.

        scikit-learn expects this order. Without it a task sorts "2" before "10".
        """
        continues = self.warm_start and hasattr(self, "run_")
        values = raw.columns[targets[0]].tolist()
        if len(targets) > 1 or continues or not all(isinstance(each, str) for each in values):
            return {}
        return {"data.classes": sorted({each for each in values if name_of(each) is not None})}

    def _set_classes(self, values: NDArray[Any]) -> None:
        """Set the classes of the user, in the order of the model."""
        names = self.run_.vocabularies["target"].names
        if not names:  # flags
            self.classes_ = values
            return
        known = values.tolist()
        if self.warm_start and hasattr(self, "classes_"):  # those of the first fit count
            known += self.classes_.ravel().tolist()
        by_name = {name_of(value): value for value in known}
        self.classes_ = np.array([by_name.get(name, name) for name in names])

    def score(self, X: Trees, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy: the share of the trees whose class is predicted correctly.

        If there are several labels, all labels of a tree must be correct.

        Arguments:
            X: the trees.
            y: their classes.
            sample_weight: weights of the trees.

        Returns:
            the accuracy, from 0 to 1; :meth:`evaluate` returns other metrics too.
        """
        expected, predicted = self._in_order(y), self.predict(X)
        if predicted.ndim == 1:  # scikit-learn takes classes such as 0.5 for measurements
            index = {each: k for k, each in enumerate(self.classes_.tolist())}
            names = labels(expected).ravel().tolist()
            if missing := [row for row, each in enumerate(names) if name_of(each) is None]:
                raise TreeError("missing class in y; add it, or leave it out", tree=missing[0])
            expected = np.array([index.get(each, -1) for each in names])
            predicted = np.array([index[each] for each in predicted.tolist()], np.int64)
        return float(accuracy_score(expected, predicted, sample_weight=sample_weight))

    def predict(self, X: Trees) -> NDArray[Any]:
        """Return the most likely class of each tree.

        Arguments:
            X: the trees.

        Returns:
            ``(n_trees,)`` classes; for several labels ``(n_trees, n_labels)`` of 0 and 1.
        """
        outputs = self._outputs(X)
        if "prediction" in outputs:
            return np.asarray(self.classes_[outputs["prediction"]])
        names = self.run_.vocabularies.targets
        return np.stack([outputs[f"prediction_{k}"] for k in range(len(names))], 1)

    def predict_proba(self, X: Trees) -> NDArray[np.float64]:
        """Return the probabilities of the classes.

        Arguments:
            X: the trees.

        Returns:
            ``(n_trees, n_classes)``, in the order of ``classes_``; for several labels the
            probability of each, ``(n_trees, n_labels)``.

        Example:
            >>> from dgltrees import TreeClassifier
            >>> trees = [{"op": "not", "children": [{"op": op}]} for op in ["and", "or"] * 10]
            >>> model = TreeClassifier(epochs=1).fit(trees, ["a", "b"] * 10)
            >>> model.classes_, model.predict_proba(trees[:1]).shape
            (array(['a', 'b'], dtype='<U1'), (1, 2))
        """
        outputs = self._outputs(X)
        schema = self.run_.vocabularies
        count = len(schema["target"]) or len(schema.targets)
        p = np.stack([outputs[f"probability_{k}"] for k in range(count)], 1).astype(np.float64)
        # rounded to float32, the sum of several classes is not quite 1
        return p / p.sum(1, keepdims=True) if schema["target"].names else p

    def predict_set(self, X: Trees, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return the classes of a tree that contain the right one with a given probability.

        It needs ``ensemble``, whose probabilities for trees that a member has not seen determine
        the size of the sets (CV+, :func:`~dgltrees.estimators.conformal.class_sets`). A set may be
        empty if the classifier is right more often than ``coverage``: no class is likely enough.

        Arguments:
            X: the trees.
            coverage: the probability, such as 0.9, for trees from the distribution of training.

        Returns:
            ``(n_trees, n_classes)``, in the order of ``classes_``, whether a class is in the set.

        Raises:
            ConfigError: there is no ensemble, the targets are several labels, coverage is not
                between 0 and 1, or there are too few training trees for it.
        """
        if not self._fitted().vocabularies["target"].names:
            raise ConfigError(
                "expected one class per tree for predict_set, got several labels; fit a classifier "
                "for each label"
            )
        outputs = self._outputs_of_folds(X, "predict_set")
        names = [f"probability_{k}" for k in range(len(self.classes_))]
        p = np.stack([np.stack([each[name] for name in names], 1) for each in outputs], 1)
        errors = 1 - np.take_along_axis(self.out_of_fold_, self.targets_[:, None], 1)[:, 0]
        known = ~np.isnan(errors) & (self.folds_ >= 0)  # unknown after an interrupt
        return class_sets(p, errors[known], self.folds_[known], coverage)

    def _plain(self) -> dict[str, Any]:
        values = {**super()._plain(), "classes": self.classes_.tolist()}
        parameters = values["parameters"]  # JSON has only strings as keys
        parameters["class_weight"] = _with_keys(parameters["class_weight"], name_of)
        return values

    def _restore(self, values: Mapping[str, Any]) -> None:
        self.classes_ = np.array(values["classes"])
        by_name = {"0": 0, "1": 1, **{name_of(c): c for c in self.classes_.ravel().tolist()}}
        self.class_weight = _with_keys(self.class_weight, lambda name: by_name.get(name, name))


def _with_keys(weights: Any, key: Callable[[Any], Any]) -> Any:
    """Return weights of classes, or a list of weights for each label, under other keys."""
    if isinstance(weights, list):
        return [_with_keys(each, key) for each in weights]
    return {key(k): w for k, w in weights.items()} if isinstance(weights, dict) else weights


def _unique(classes: ArrayLike) -> NDArray[Any]:
    """Return the different classes in order, without missing ones."""
    values = labels(classes).ravel()
    return np.unique([each for each in values.tolist() if name_of(each) is not None])


class TreeEncoder(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    TreeClassifier,
):
    """Transformer of trees into the vectors that a classifier of them has learned.

    ``make_pipeline(TreeEncoder(), LogisticRegression())`` learns the vectors from the same classes.
    The entries of a vector are named ``treeencoder0``, ``treeencoder1``, ..., and
    ``set_output(transform="pandas")`` returns them as a table.
    For vectors that are learned from numbers use :meth:`TreeRegressor.encode
    <dgltrees.estimators.TreeRegressor>`.

    Arguments:
        parameters: those of :class:`~dgltrees.estimators.base.TreeEstimator`.
    """

    @property
    def _n_features_out(self) -> int:
        run = self._fitted()
        return int(cast(Encoder, run.encoder).size * cast(CustomTreesTask, run.task).arity)

    def transform(self, X: Trees) -> NDArray[np.float32]:
        """Return the vector of each tree, ``(n_trees, hidden_size)``."""
        return self.encode(X)

    def fit_transform(self, X: Trees, y: ArrayLike, **options: Any) -> NDArray[np.float32]:
        """Train on trees and return their vectors, ``(n_trees, hidden_size)``; see :meth:`fit`."""
        self.fit(X, y, **options)
        return self.transform(X)

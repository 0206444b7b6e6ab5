"""The checks of scikit-learn, on estimators whose trees are made of the rows of an array.

Estimators of trees take no arrays, so that most checks do not apply to them. The estimators here
make a tree of each row: a root with a number per feature, and a child with the same numbers.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dgltrees import Forest, TreeClassifier, TreeEncoder, TreeRanker, TreeRegressor

sklearn = pytest.importorskip("sklearn", minversion="1.6")

from sklearn.utils import estimator_checks  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import validate_data  # noqa: E402

TINY: dict[str, Any] = {
    "model.embedding": 4,
    "data.baselines": False,
    "training.precision": "64-true",  # a check compares batches with single rows to 1e-7
}
QUICK: dict[str, Any] = {"hidden_size": 4, "epochs": 1, "batch_size": 60, "settings": TINY}
LEARNING = {"epochs": 10, "lr": 0.1}
LEARNED = ("check_regressors_train", "check_classifiers_train", "check_class_weight_classifiers")
"""Checks of the quality of predictions, which need several epochs."""

EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "the batches of repeated trees are others than"
    " those of trees with weights, as for all models that are trained on batches"
}
"""The checks that fail, with the reason."""


class Rows:
    """Mixin that makes a tree of each row of an array, and checks arrays as scikit-learn does."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array, tags.input_tags.dict = True, False
        tags.input_tags.string = tags.input_tags.categorical = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        numbers = isinstance(self, TreeRegressor)
        checks: dict[str, Any] = {"multi_output": True, "y_numeric": numbers}
        checks["reset"] = not (self.warm_start and hasattr(self, "run_"))  # type: ignore[attr-defined]
        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", **checks)
        if not numbers:
            check_classification_targets(y)
        of_array = {n: v for n, v in vars(self).items() if n.endswith("_in_")}
        super().fit(_trees(X), y, sample_weight)  # type: ignore[misc]
        vars(self).pop("feature_names_in_", None)
        vars(self).update(of_array)
        return self

    def _trees(self, X: Any, layout: Any = None) -> Any:
        if not isinstance(X, Forest):
            self._fitted()  # type: ignore[attr-defined]
            X = _trees(validate_data(self, X, reset=False, ensure_all_finite="allow-nan"))
        return super()._trees(X, layout)  # type: ignore[misc]


def _trees(X: NDArray[Any]) -> Forest:
    columns = {f"x{k}": np.repeat(X[:, k].astype(np.float64), 2) for k in range(X.shape[1])}
    parent, offsets = np.tile([-1, 0], len(X)), np.arange(0, 2 * len(X) + 1, 2)
    return Forest.build(parent, offsets=offsets, columns=columns)


class RowsRegressor(Rows, TreeRegressor):
    """Regressor of rows."""


class RowsClassifier(Rows, TreeClassifier):
    """Classifier of rows."""


ESTIMATORS = (RowsRegressor(**QUICK), RowsClassifier(**QUICK))


@pytest.mark.filterwarnings("ignore")
@estimator_checks.parametrize_with_checks([*ESTIMATORS], expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    if check.func.__name__ in LEARNED:
        estimator.set_params(**LEARNING)
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_at_least_40_checks_run(estimator: Any) -> None:
    checks = [check for _, check in estimator_checks.estimator_checks_generator(estimator)]
    assert len({check.func.__name__ for check in checks} - {*EXPECTED}) >= 40
    assert len(EXPECTED) <= 10


@pytest.mark.parametrize("estimator", [TreeRegressor, TreeClassifier, TreeEncoder, TreeRanker])
@pytest.mark.parametrize(
    "check",
    [
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_get_params_invariance",
        "check_mixin_order",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_set_params",
        "check_valid_tag_types",
    ],
)
def test_checks_without_data(estimator: Any, check: str) -> None:
    getattr(estimator_checks, check)(estimator.__name__, estimator())

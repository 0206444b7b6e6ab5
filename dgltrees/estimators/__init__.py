"""Models of trees by scikit-learn's conventions: fit, predict, score, save."""

from dgltrees.estimators.classifier import TreeClassifier, TreeEncoder
from dgltrees.estimators.flat import FlatFeatures
from dgltrees.estimators.inputs import Trees
from dgltrees.estimators.ranker import TreeRanker
from dgltrees.estimators.regressor import TreeRegressor

__all__ = [
    "FlatFeatures",
    "TreeClassifier",
    "TreeEncoder",
    "TreeRanker",
    "TreeRegressor",
    "Trees",
]

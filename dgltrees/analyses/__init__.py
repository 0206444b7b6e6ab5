"""Uses of a trained model: explain predictions, find similar trees."""

from dgltrees.analyses.explain import Explanation, explain
from dgltrees.analyses.similar_trees import similar_trees

__all__ = ["Explanation", "explain", "similar_trees"]

"""Metrics of predictions: accuracy, q-errors, ranking."""

from dgltrees.metrics.classes import accuracy, class_metrics, flag_metrics
from dgltrees.metrics.ranks import ndcg, order_metrics, pair_metrics, rank_within, ranking
from dgltrees.metrics.regression import neg_median_q_error, number_metrics, q_errors

__all__ = [
    "accuracy",
    "class_metrics",
    "flag_metrics",
    "ndcg",
    "neg_median_q_error",
    "number_metrics",
    "order_metrics",
    "pair_metrics",
    "q_errors",
    "rank_within",
    "ranking",
]

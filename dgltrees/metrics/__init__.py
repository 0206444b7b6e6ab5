"""Metrics of predictions: accuracy, attachment, brackets, ranking, intervals."""

"""Metrics: classification, regression, ranking, and confidence intervals."""

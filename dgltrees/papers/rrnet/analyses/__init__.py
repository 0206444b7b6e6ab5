"""Analyses of this paper."""

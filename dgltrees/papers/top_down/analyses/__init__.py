"""Analyses of top-down TreeLSTMs."""

"""Data of top-down TreeLSTMs."""

"""The tasks of top-down TreeLSTMs."""

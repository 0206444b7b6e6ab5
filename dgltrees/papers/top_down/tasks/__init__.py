"""Tasks of top-down TreeLSTMs."""

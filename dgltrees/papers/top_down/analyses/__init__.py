"""The analyses of top-down TreeLSTMs."""

"""The data of top-down TreeLSTMs."""

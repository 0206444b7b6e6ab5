"""The commands of top-down TreeLSTMs."""

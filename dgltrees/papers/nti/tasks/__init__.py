"""The tasks of Neural Tree Indexers."""

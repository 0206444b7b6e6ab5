"""The data of Neural Tree Indexers."""

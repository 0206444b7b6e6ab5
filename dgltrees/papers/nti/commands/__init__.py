"""The commands of Neural Tree Indexers."""

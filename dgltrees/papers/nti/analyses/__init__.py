"""The analyses of Neural Tree Indexers."""

"""Tasks on trees: classification of each tree, each pair of trees, or each node."""

"""Tasks on trees that are given: a class of each tree, each pair of trees, or each node."""

"""Munkhdalai and Yu, Neural Tree Indexers for Text Understanding, 2017."""

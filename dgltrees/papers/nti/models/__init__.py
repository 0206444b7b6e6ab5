"""Neural Tree Indexers: trees over plain sequences, and attention over trees.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017).
"""

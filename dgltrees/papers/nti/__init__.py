"""Neural Tree Indexers: full n-ary trees over sequences, and attention over trees.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017).

The equations of the nodes are in :mod:`dgltrees.cells.nti_lstm` and
:mod:`~dgltrees.cells.nti_attention`. This subpackage has the trees (``graphs``), the encoders,
attention and matching (``models``), and the tasks NLI, WikiQA and SST.
"""

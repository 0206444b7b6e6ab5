"""Top-down TreeLSTM and LdTreeLSTM: language models that generate a dependency tree.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016).

The equations are in :mod:`dgltrees.cells.top_down`. Here are the trees along which sentences are
generated (``graphs``), the language models and a parser, and their uses: completion of sentences,
reranking of parses, and generation of trees.
"""

"""Top-down TreeLSTM and LdTreeLSTM: language models that generate a dependency tree.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016). The cells are in
:mod:`dgltrees.cells.top_down`. In the order of the paper, the rest is in:

- ``graphs``: the edges along which a sentence is generated, and their order (section 2, Figures 1
  to 4);
- ``models``: TreeLSTM and LdTreeLSTM (``tree_lm``, equations 1 to 7), noise-contrastive estimation
  and LSTMs over sentences (``language_model``, section 2.5, Table 1), n-grams (``ngram``, Table 1),
  decisions to add edges (``add_decisions``) and trees drawn by them (``sample_trees``, section
  3.4), and a dependency parser for the trees (``biaffine``, ``kbest_trees``);
- ``data`` and ``tasks``: the files, and training on them;
- ``analyses`` and ``commands``: sentence completion (``scoring``, section 3.2), parsing and
  reranking (``parse``, ``rerank``, section 3.3), and added edges and samples (``edge_classifier``,
  ``sample``, section 3.4);
- ``presets``: the rows of Tables 1 and 2.
"""

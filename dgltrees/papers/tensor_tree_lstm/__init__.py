"""Tensor Tree-LSTMs: state transitions by a sum, a full tensor, or its Tucker factorisation.

Castellana and Bacciu, "Generalising Recursive Neural Models by Tensor Decomposition" (IJCNN 2020).

The equations are in :mod:`dgltrees.cells.tree_cells` and :mod:`dgltrees.cells.aggregators`. This
subpackage has the data of ListOps and of logical relations (``data``, sections V.B and V.C), their
``tasks``, whose operators are sets of parameters or labels (section V.A), ``presets`` for each row
of Tables I and II, and the ``demo``, which compares a tensor and a sum with as many parameters.
"""

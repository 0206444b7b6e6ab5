"""Dependency trees, and the trees along which they are generated top-down.

In a *dependency forest* node 0 of each tree is ROOT, node i is its i-th word, and the parent of a
node is its head. In the *generation forest* of Zhang, Lu & Lapata, "Top-down Tree Long Short-Term
Memory Networks" (NAACL 2016, section 2, Figures 1 to 3) the parent of the same
node is the *source* of its edge: its head, if it is the nearest dependent on its side, else the
sibling next to it on the side of the head. ::

    dependencies            generation
    w0 -> w2 w1 | w4 w5     w0 -LEFT-> w1 -NX-LEFT-> w2,  w0 -RIGHT-> w4 -NX-RIGHT-> w5

where w2, w1 are left of w0 and w4, w5 right of it. The dependents of ROOT are right of it.
"""

from dgltrees.papers.top_down.graphs.batch import generation_batch, left_chains
from dgltrees.papers.top_down.graphs.generation import generation_forest, generation_order
from dgltrees.papers.top_down.graphs.paths import dependency_path
from dgltrees.papers.top_down.graphs.word_order import dependency_forest
from dgltrees.trees.edge_types import EDGE_TYPES, EdgeType
from dgltrees.trees.words import ROOT

__all__ = [
    "EDGE_TYPES",
    "ROOT",
    "EdgeType",
    "dependency_forest",
    "dependency_path",
    "generation_batch",
    "generation_forest",
    "generation_order",
    "left_chains",
]

"""The operations of a recurrent-recursive network, and the graphs it runs over.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018).
"""

from dgltrees.papers.rrnet.graphs.graph import operation_graph
from dgltrees.papers.rrnet.graphs.inferred import inferred_trees, spans
from dgltrees.papers.rrnet.graphs.matching import Matching, match_splits
from dgltrees.papers.rrnet.graphs.words import token_at, word_operations
from dgltrees.trees.kinds import OPERATIONS, Flow, Operation

__all__ = [
    "OPERATIONS",
    "Flow",
    "Matching",
    "Operation",
    "inferred_trees",
    "match_splits",
    "operation_graph",
    "spans",
    "token_at",
    "word_operations",
]

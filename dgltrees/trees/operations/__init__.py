"""Sequences of operations as graphs: what a recurrent-recursive network does while it reads.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018).
"""

from dgltrees.trees.operations.gold import TreeOperations, operations_of_trees
from dgltrees.trees.operations.graph import operation_graph
from dgltrees.trees.operations.inferred import inferred_trees, spans
from dgltrees.trees.operations.kinds import OPERATIONS, Flow, Operation
from dgltrees.trees.operations.match import Matching, match_splits

__all__ = [
    "OPERATIONS",
    "Flow",
    "Matching",
    "Operation",
    "TreeOperations",
    "inferred_trees",
    "match_splits",
    "operation_graph",
    "operations_of_trees",
    "spans",
]

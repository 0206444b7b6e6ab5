"""The operations of a recurrent-recursive network, and the graphs it runs over.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018).
"""

from dgltrees.trees.operation_kinds import OPERATIONS, Flow, Operation
from dgltrees.trees.operations.graph import operation_graph
from dgltrees.trees.operations.inferred import inferred_trees, spans
from dgltrees.trees.operations.matching import Matching, match_splits
from dgltrees.trees.operations.oracle import OracleOperations, oracle_operations
from dgltrees.trees.operations.words import token_at, word_operations

__all__ = [
    "OPERATIONS",
    "Flow",
    "Matching",
    "Operation",
    "OracleOperations",
    "inferred_trees",
    "match_splits",
    "operation_graph",
    "oracle_operations",
    "spans",
    "token_at",
    "word_operations",
]

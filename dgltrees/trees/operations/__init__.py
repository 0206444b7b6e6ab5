"""The operations of a recurrent-recursive network, and the graphs it runs over.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018).
"""

from dgltrees.trees.operation_kinds import OPERATIONS, Flow, Operation
from dgltrees.trees.operations.graph import operation_graph
from dgltrees.trees.operations.inferred import inferred_trees, spans
from dgltrees.trees.operations.matching import Matching, match_splits
from dgltrees.trees.operations.oracle import (
    OracleOperations,
    constituent_counts,
    oracle_operations,
)
from dgltrees.trees.operations.words import (
    MERGES,
    SPLITS,
    bracket_operations,
    token_at,
    word_operations,
)

__all__ = [
    "MERGES",
    "OPERATIONS",
    "SPLITS",
    "Flow",
    "Matching",
    "Operation",
    "OracleOperations",
    "bracket_operations",
    "constituent_counts",
    "inferred_trees",
    "match_splits",
    "operation_graph",
    "oracle_operations",
    "spans",
    "token_at",
    "word_operations",
]

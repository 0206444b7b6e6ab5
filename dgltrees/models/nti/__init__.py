"""Neural Tree Indexers: trees over plain sequences, and attention over trees.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017).
"""

from dgltrees.models.nti.attention import Attended, AttentionOverTrees, GlobalAttention
from dgltrees.models.nti.encoder import NTIEncoder, make_leaves, make_nti_encoder
from dgltrees.models.nti.leaves import (
    BidirectionalLSTMLeaves,
    IdentityLeaves,
    LeafFunction,
    LSTMLeaves,
)
from dgltrees.models.nti.matching import TreeMatching
from dgltrees.models.nti.node_by_node import NodeByNode
from dgltrees.models.nti.pairs import (
    PairEncoder,
    QuestionAnswerEncoder,
    SentencePairEncoder,
    SharedWordCount,
)
from dgltrees.models.nti.sentences import Sentences
from dgltrees.models.nti.tree_attention import TreeAttention

__all__ = [
    "Attended",
    "AttentionOverTrees",
    "BidirectionalLSTMLeaves",
    "GlobalAttention",
    "IdentityLeaves",
    "LSTMLeaves",
    "LeafFunction",
    "NTIEncoder",
    "NodeByNode",
    "PairEncoder",
    "QuestionAnswerEncoder",
    "SentencePairEncoder",
    "Sentences",
    "SharedWordCount",
    "TreeAttention",
    "TreeMatching",
    "make_leaves",
    "make_nti_encoder",
]

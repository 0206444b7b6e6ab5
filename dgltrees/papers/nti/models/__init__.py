"""Neural Tree Indexers: trees over plain sequences, and attention over trees.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017).
"""

from dgltrees.papers.nti.models.attention import Attended, AttentionOverTrees, GlobalAttention
from dgltrees.papers.nti.models.encoder import NTIEncoder, make_leaves
from dgltrees.papers.nti.models.encoding import (
    EncodingPair,
)
from dgltrees.papers.nti.models.leaves import (
    BidirectionalLSTMLeaves,
    IdentityLeaves,
    LeafFunction,
    LSTMLeaves,
)
from dgltrees.papers.nti.models.matching import TreeMatching
from dgltrees.papers.nti.models.node_by_node import NodeByNode
from dgltrees.papers.nti.models.pairs import (
    PairEncoder,
    QuestionAnswerEncoder,
    SentencePairEncoder,
    SharedWordCount,
)
from dgltrees.papers.nti.models.sentences import Sentences
from dgltrees.papers.nti.models.tree_attention import TreeAttention

__all__ = [
    "Attended",
    "AttentionOverTrees",
    "BidirectionalLSTMLeaves",
    "EncodingPair",
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
]

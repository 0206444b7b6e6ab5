"""Neural Tree Indexers: trees over plain sequences, and attention over trees.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017).
"""

from dgltrees.models.nti.answers import AnswerSelector, word_counts
from dgltrees.models.nti.attend_edges import attend_along_edges
from dgltrees.models.nti.attention import Attended, GlobalAttention, pad_mass
from dgltrees.models.nti.classifiers import NTIClassifier, NTIPairClassifier
from dgltrees.models.nti.decoder import SequenceDecoder
from dgltrees.models.nti.encoder import NTIEncoder, make_nti_encoder
from dgltrees.models.nti.encoding import Encoding, NodeTable
from dgltrees.models.nti.heads import PairHead, pair_features
from dgltrees.models.nti.leaves import (
    BidirectionalLSTMLeaves,
    IdentityLeaves,
    LeafFunction,
    LSTMLeaves,
)
from dgltrees.models.nti.matching import TreeMatching
from dgltrees.models.nti.node_by_node import NodeByNode
from dgltrees.models.nti.sentences import Sentences
from dgltrees.models.nti.tree_attention import TreeAttention

__all__ = [
    "AnswerSelector",
    "Attended",
    "BidirectionalLSTMLeaves",
    "Encoding",
    "GlobalAttention",
    "IdentityLeaves",
    "LSTMLeaves",
    "LeafFunction",
    "NTIClassifier",
    "NTIEncoder",
    "NTIPairClassifier",
    "NodeByNode",
    "NodeTable",
    "PairHead",
    "Sentences",
    "SequenceDecoder",
    "TreeAttention",
    "TreeMatching",
    "attend_along_edges",
    "make_nti_encoder",
    "pad_mass",
    "pair_features",
    "word_counts",
]

"""Models over trees: encoders and classifiers, language models, and what they are made of."""

from dgltrees.models.add_decisions import AddDecisions, JointTreeLM
from dgltrees.models.classifier import Comparison, NodeLabeler, PairClassifier, TreeClassifier
from dgltrees.models.compression import Compression, compress
from dgltrees.models.encoder import BidirectionalEncoder, TreeEncoder
from dgltrees.models.growing import Grown, grow_trees
from dgltrees.models.inputs import (
    Concat,
    GivenVectors,
    NodeInput,
    OneHot,
    Thermometer,
    WordEmbedding,
)
from dgltrees.models.language_model import LanguageModel, Predictions
from dgltrees.models.mlp import MLP
from dgltrees.models.nce import NCE
from dgltrees.models.nti import (
    AnswerSelector,
    GlobalAttention,
    NodeByNode,
    NTIClassifier,
    NTIEncoder,
    NTIPairClassifier,
    SequenceDecoder,
    TreeAttention,
    TreeMatching,
    make_nti_encoder,
)
from dgltrees.models.numbers import NumberDecoder
from dgltrees.models.readout import Attention, EveryNode, Mean, Root
from dgltrees.models.sampling import Sampling
from dgltrees.models.sequence_encoder import (
    SequenceClassifier,
    SequenceEncoder,
    SequencePairClassifier,
)
from dgltrees.models.sequence_lm import BidirectionalLM, SequenceLM
from dgltrees.models.softmax import softmax_nll
from dgltrees.models.stop_symbols import with_stops
from dgltrees.models.streaming import encode_roots
from dgltrees.models.transformer_encoder import TransformerEncoder
from dgltrees.models.tree_lm import TreeLM
from dgltrees.models.word_vectors import read_word_vectors

__all__ = [
    "MLP",
    "NCE",
    "AddDecisions",
    "AnswerSelector",
    "Attention",
    "BidirectionalEncoder",
    "BidirectionalLM",
    "Comparison",
    "Compression",
    "Concat",
    "EveryNode",
    "GivenVectors",
    "GlobalAttention",
    "Grown",
    "JointTreeLM",
    "LanguageModel",
    "Mean",
    "NTIClassifier",
    "NTIEncoder",
    "NTIPairClassifier",
    "NodeByNode",
    "NodeInput",
    "NodeLabeler",
    "NumberDecoder",
    "OneHot",
    "PairClassifier",
    "Predictions",
    "Root",
    "Sampling",
    "SequenceClassifier",
    "SequenceDecoder",
    "SequenceEncoder",
    "SequenceLM",
    "SequencePairClassifier",
    "Thermometer",
    "TransformerEncoder",
    "TreeAttention",
    "TreeClassifier",
    "TreeEncoder",
    "TreeLM",
    "TreeMatching",
    "WordEmbedding",
    "compress",
    "encode_roots",
    "grow_trees",
    "make_nti_encoder",
    "read_word_vectors",
    "softmax_nll",
    "with_stops",
]

"""Models over trees: encoders, classifiers, language models, and their parts."""

from dgltrees.models.classifier import Classifier
from dgltrees.models.columns import ColumnsInput
from dgltrees.models.encoder import BidirectionalEncoder, Encoder, Encoding, TreeEncoder
from dgltrees.models.heads import MLP, ClassHead, Comparison, ComparisonHead, Head, PairHead
from dgltrees.models.inputs import (
    Concat,
    GivenVectors,
    Input,
    NodeInput,
    OneHot,
    Thermometer,
    WordEmbedding,
)
from dgltrees.models.ranks import RankTarget
from dgltrees.models.readout import Attention, EveryNode, Max, Mean, Root, RootAndMax
from dgltrees.models.sequence_encoder import BagEncoder, SequenceEncoder, TransformerEncoder
from dgltrees.models.siblings import SiblingPositions
from dgltrees.models.softmax import softmax_nll
from dgltrees.models.streaming import encode_roots
from dgltrees.models.targets import ClassTarget, FlagTargets, NumberTargets, TargetHead
from dgltrees.models.tree_convolution import ConvolutionEncoder, TreeConvolution
from dgltrees.models.word_vectors import read_word_vectors

__all__ = [
    "MLP",
    "Attention",
    "BagEncoder",
    "BidirectionalEncoder",
    "ClassHead",
    "ClassTarget",
    "Classifier",
    "ColumnsInput",
    "Comparison",
    "ComparisonHead",
    "Concat",
    "ConvolutionEncoder",
    "Encoder",
    "Encoding",
    "EveryNode",
    "FlagTargets",
    "GivenVectors",
    "Head",
    "Input",
    "Max",
    "Mean",
    "NodeInput",
    "NumberTargets",
    "OneHot",
    "PairHead",
    "RankTarget",
    "Root",
    "RootAndMax",
    "SequenceEncoder",
    "SiblingPositions",
    "TargetHead",
    "Thermometer",
    "TransformerEncoder",
    "TreeConvolution",
    "TreeEncoder",
    "WordEmbedding",
    "encode_roots",
    "read_word_vectors",
    "softmax_nll",
]

"""Models over trees: encoders, classifiers, language models, and their parts."""

from dgltrees.models.bag_encoder import BagEncoder
from dgltrees.models.classifier import Classifier
from dgltrees.models.columns import ColumnsInput
from dgltrees.models.encoder import BidirectionalEncoder, TreeEncoder
from dgltrees.models.encoding import Encoder, Encoding
from dgltrees.models.fine_tuned import FineTunedWords, SubwordEncoder
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
from dgltrees.models.sequence_encoder import SequenceEncoder
from dgltrees.models.siblings import PlaceVectors
from dgltrees.models.softmax import softmax_nll
from dgltrees.models.streaming import encode_roots
from dgltrees.models.targets import ClassTarget, FlagTargets, NumberTargets, TargetHead
from dgltrees.models.transformer_encoder import TransformerEncoder
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
    "FineTunedWords",
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
    "PlaceVectors",
    "RankTarget",
    "Root",
    "RootAndMax",
    "SequenceEncoder",
    "SubwordEncoder",
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

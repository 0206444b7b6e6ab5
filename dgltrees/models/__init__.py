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
from dgltrees.models.language_model.add_decisions import AddDecisions, JointTreeLM
from dgltrees.models.language_model.base import LanguageModel, Predictions
from dgltrees.models.language_model.compression import Compression, compress
from dgltrees.models.language_model.nce import NCE
from dgltrees.models.language_model.sample_trees import SampledTrees, sample_trees
from dgltrees.models.language_model.sampling import Sampling
from dgltrees.models.language_model.sequence_lm import BidirectionalLM, SequenceLM
from dgltrees.models.language_model.simplification import Simplification, simplify
from dgltrees.models.language_model.stop_symbols import with_stops
from dgltrees.models.language_model.tree_lm import TreeLM
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
    "NCE",
    "AddDecisions",
    "Attention",
    "BagEncoder",
    "BidirectionalEncoder",
    "BidirectionalLM",
    "ClassHead",
    "ClassTarget",
    "Classifier",
    "ColumnsInput",
    "Comparison",
    "ComparisonHead",
    "Compression",
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
    "JointTreeLM",
    "LanguageModel",
    "Max",
    "Mean",
    "NodeInput",
    "NumberTargets",
    "OneHot",
    "PairHead",
    "PlaceVectors",
    "Predictions",
    "RankTarget",
    "Root",
    "RootAndMax",
    "SampledTrees",
    "Sampling",
    "SequenceEncoder",
    "SequenceLM",
    "Simplification",
    "SubwordEncoder",
    "TargetHead",
    "Thermometer",
    "TransformerEncoder",
    "TreeConvolution",
    "TreeEncoder",
    "TreeLM",
    "WordEmbedding",
    "compress",
    "encode_roots",
    "read_word_vectors",
    "sample_trees",
    "simplify",
    "softmax_nll",
    "with_stops",
]

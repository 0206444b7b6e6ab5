"""The settings of tasks on plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from dgltrees.cells import CELLS
from dgltrees.models.encoding import Encoder
from dgltrees.models.inputs import Input
from dgltrees.options import Count, Fraction, Options
from dgltrees.papers.nti.tasks.models import make_nti, nti_name
from dgltrees.tasks.sequence_encoders import (
    SEQUENTIAL,
    SequenceEncoderSettings,
    sentence_encoders,
)
from dgltrees.tasks.settings import Files, PretrainedSettings

__all__ = ["PairModel", "PhraseSettings", "QuestionModel", "SentenceModel", "SentenceSettings"]


@dataclass(frozen=True)
class SentenceSettings(PretrainedSettings):
    """The data of tasks on plain sentences."""

    lower: bool = False
    """Turn words to lower case."""
    max_words: Count | None = None
    """Longest sentence in words; longer ones are refused, or cut with ``truncate``."""
    truncate: bool = False
    """Cut longer sentences to ``max_words``."""
    vectors: Files = None
    """Text file of word vectors, a word and its numbers a line, to start the embedding with."""
    vocabulary_from_all_splits: bool = False
    """Give words of the validation and test files alone their vectors of ``data.vectors`` too."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """What needs another setting to be of use."""
        reasons = PretrainedSettings.unread(values)
        if values["max_words"] is None:
            reasons["truncate"] = "without data.max_words"
        if not values["vectors"]:
            reasons["vocabulary_from_all_splits"] = "without data.vectors"
        return reasons


@dataclass(frozen=True)
class PhraseSettings(SentenceSettings):
    """The data of sentences that are learned from their phrases."""

    supervise: Literal["nodes", "root"] = "nodes"
    """Learn from all labelled phrases, or from whole sentences alone."""
    binary: bool = False
    """Learn positive against negative, without neutral phrases; by default five classes."""


@dataclass(frozen=True)
class TableSettings:
    """Word vectors in a table."""

    fixed_words: bool = False
    """Do not train the word vectors."""


@dataclass(frozen=True)
class FullTreeSettings:
    """Full trees over sentences."""

    branching: Count = 2
    """Children of a node."""
    stride: Count | None = None
    """Distance between the first children of neighbours; by default ``branching``, and below it
    sub-trees overlap."""
    padding: Literal["left", "right"] = "left"
    """Side of a sentence on which leaves without a word stand."""
    width: Count | None = None
    """Leaves of every tree, for which ``data.max_words`` is needed; by default as few as fit."""
    pad: Literal["fixed", "learned", "zero"] = "fixed"
    """Vector of leaves without a word: random, but not trained (fixed), learned, or zero."""


@dataclass(frozen=True)
class LeftTreeSettings:
    """Left-branching trees over sentences."""


@dataclass(frozen=True)
class NTISettings(SequenceEncoderSettings):
    """Neural Tree Indexers: a cell over trees that need no parser."""

    parts: ClassVar[Mapping[str, Any]] = {
        "cell": CELLS,
        "trees": {"full": FullTreeSettings, "left": LeftTreeSettings},
    }
    hidden: ClassVar[tuple[str, ...]] = ("input_size", "operators", "max_children", "leaf", "query")

    cell: str = "s_lstm"
    """Cell that makes a node's state from those of its children."""
    leaves: Literal["identity", "linear", "lstm", "bilstm"] = "lstm"
    """Leaf function, from the words' vectors to the states of the leaves."""
    trees: str = "full"
    """Trees over a sentence: full n-ary ones, or left-branching ones."""
    input_dropout: Fraction = 0.0
    """Probability of dropout on the vectors that the leaves read."""

    @staticmethod
    def make(model: Options, inputs: Input) -> Encoder:
        """Make the encoder."""
        return make_nti(model, inputs, inputs.size)

    @staticmethod
    def display_name(model: Options) -> str:
        """The paper's name of the model."""
        return nti_name(model)


@dataclass(frozen=True)
class AttentionSettings:
    """Attention of one tree over another."""

    attention: Literal["global", "tree", "tree_code"] = "global"
    """Attention to all nodes at once (global), or from the leaves up along the tree (tree); or as
    the paper's code has the latter (tree_code)."""
    score: Literal["mlp", "dot", "map"] = "mlp"
    """Scoring function of attention: an MLP (mlp), the scalar product (dot), or a bilinear map."""
    mask_pads: bool = False
    """Give no attention to nodes without a word."""
    attention_dropout: Fraction = 0.0
    """Probability of dropout on attention vectors."""


@dataclass(frozen=True)
class MatchingSettings(AttentionSettings):
    """Tree matching: every node of one tree attends to the other, and an LSTM reads the result."""

    root_query: bool = True
    """Let the root of a tree attend to the other tree too, not its inner nodes and leaves alone."""
    last_step: bool = False
    """Let the last matching state attend to those before it, as in the paper's code."""


@dataclass(frozen=True)
class NTIPairSettings(NTISettings):
    """Neural Tree Indexers over two sentences."""

    parts: ClassVar[Mapping[str, Any]] = {
        **NTISettings.parts,
        "interaction": {
            "none": None,
            "node_by_node": AttentionSettings,
            "matching": MatchingSettings,
            "full_matching": MatchingSettings,
        },
    }

    interaction: str = "none"
    """How the second tree attends to the first: not at all (none), while its nodes are computed
    (node_by_node), or afterwards, when an LSTM reads what each node attends to (matching), and the
    same the other way round (full_matching)."""


@dataclass(frozen=True)
class NTIQuestionSettings(NTISettings):
    """Neural Tree Indexers over a question and an answer."""

    score: Literal["mlp", "dot", "map"] = "mlp"
    """Scoring function of the attention from the answer's nodes to the question: an MLP (mlp),
    the scalar product (dot), or a bilinear map."""


@dataclass(frozen=True)
class SentenceModel:
    """A classifier of sentences."""

    parts: ClassVar[Mapping[str, Any]] = {
        "encoder": sentence_encoders(nti=NTISettings),
        "words": {"table": TableSettings, "pretrained": None},
    }

    encoder: str = "nti"
    """Encoder: Neural Tree Indexers (NTI), a recurrent-recursive network (RRNet), one or two
    LSTMs, or a transformer."""
    hidden_size: Count = 50
    """Size of a state."""
    words: str = "table"
    """Word vectors: a table that is learned, or those of ``data.pretrained``."""
    embedding: Count = 100
    """Size of a word's vector."""
    head: list[Count] = field(default_factory=list)
    """Sizes of the hidden layers between an encoding and the classes; pairs have one at most."""
    head_dropout: Fraction = 0.0
    """Probability of dropout before every layer of the head."""
    init: Literal["kaiming", "xavier", "uniform"] = "kaiming"
    """Initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1)."""


@dataclass(frozen=True)
class PairModel(SentenceModel):
    """A classifier of pairs of sentences."""

    parts: ClassVar[Mapping[str, Any]] = {
        **SentenceModel.parts,
        "encoder": sentence_encoders(nti=NTIPairSettings),
    }


@dataclass(frozen=True)
class QuestionModel(SentenceModel):
    """A model of the sentences that answer a question."""

    parts: ClassVar[Mapping[str, Any]] = {
        **SentenceModel.parts,
        "encoder": {"nti": NTIQuestionSettings, **SEQUENTIAL},
    }

    word_count: bool = False
    """Add the number of words that a question and a sentence share to the input of the head."""

"""Settings of tasks on plain sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from torch import nn

from dgltrees.cells import CELLS, BaseCell
from dgltrees.cells.initial import Init
from dgltrees.errors import ConfigError
from dgltrees.models.classifier import Classifier
from dgltrees.models.encoder import Encoder
from dgltrees.models.heads import MLP, PairHead
from dgltrees.models.inputs import Input
from dgltrees.models.readout import Root
from dgltrees.papers.nti.models.attention import GlobalAttention
from dgltrees.papers.nti.models.encoder import Leaf, NTIEncoder, make_leaves
from dgltrees.papers.nti.models.pairs import (
    NodeByNode,
    QuestionAnswerEncoder,
    SentencePairEncoder,
    SharedWordCount,
    TreeMatching,
)
from dgltrees.papers.nti.models.tree_attention import TreeAttention
from dgltrees.papers.nti.tasks.words import SEQUENTIAL, Words, make_words, sentence_encoders
from dgltrees.settings import Count, Fraction, Options, Part, chosen, options_of
from dgltrees.tasks.sequences import EncoderSettings, classifier, make_pair_head
from dgltrees.tasks.settings import Files, PretrainedSettings
from dgltrees.tasks.trees import cell_name
from dgltrees.trees import Vocabulary

_SHARED = "shared"


@dataclass(frozen=True)
class SentenceSettings(PretrainedSettings):
    """The data of tasks on plain sentences."""

    lower: bool = False
    """Turn words to lower case."""
    max_words: Count | None = None
    """Largest number of words in a sentence; longer ones are an error, or cut with ``truncate``."""
    truncate: bool = False
    """Cut longer sentences to ``max_words``."""
    vectors: Files = None
    """Text files of initial word vectors, with a word and its numbers on each line."""
    vocabulary_from_all_splits: bool = False
    """Also read the ``data.vectors`` of words that occur only in validation and test files."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings that have no effect without another setting."""
        reasons = PretrainedSettings.unread(values)
        if values["max_words"] is None:
            reasons["truncate"] = "without data.max_words"
        if not values["vectors"]:
            reasons["vocabulary_from_all_splits"] = "without data.vectors"
        return reasons


@dataclass(frozen=True)
class PhraseSettings(SentenceSettings):
    """The data of sentences with labelled phrases."""

    supervise: Literal["nodes", "root"] = "nodes"
    """Train on all labelled phrases (nodes), or only on whole sentences (root)."""
    binary: bool = False
    """Two classes, positive and negative, without neutral phrases; by default five classes."""


@dataclass(frozen=True)
class TableSettings:
    """Word vectors in a table."""

    fixed_words: bool = False
    """Do not train the word vectors."""


@dataclass(frozen=True)
class FullTreeSettings:
    """Full trees over sentences."""

    branching: Count = 2
    """Number of children of a node."""
    stride: Count | None = None
    """Distance between the first children of neighbours; default: ``branching``. With a smaller
    distance, sub-trees overlap."""
    padding: Literal["left", "right"] = "left"
    """Side of a sentence with the leaves without a word."""
    width: Count | None = None
    """Number of leaves of every tree, with ``data.max_words``; by default as few as possible."""
    pad: Literal["fixed", "learned", "zero"] = "fixed"
    """Vector of leaves without a word: random and not trained (fixed), learned, or zero."""


@dataclass(frozen=True)
class LeftTreeSettings:
    """Left-branching trees over sentences."""


@dataclass(frozen=True, kw_only=True)
class NTISettings(EncoderSettings):
    """Neural Tree Indexers: a cell over trees that need no parser."""

    parts: ClassVar[Mapping[str, Any]] = {
        "cell": CELLS,
        "trees": {"full": FullTreeSettings, "left": LeftTreeSettings},
    }
    hidden: ClassVar[tuple[str, ...]] = ("input_size", "operators", "max_children", "leaf", "query")

    hidden_size: Count
    """The model's size of a state."""
    init: Init
    """The model's scheme of initial weights."""
    cell: Part[BaseCell] = chosen("nti_lstm")
    """Cell, which computes a node's state from those of its children."""
    leaves: Leaf = "lstm"
    """Leaf function, from the words' vectors to the states of the leaves."""
    trees: FullTreeSettings | LeftTreeSettings = chosen("full")
    """Trees over a sentence: full n-ary, or left-branching."""
    input_dropout: Fraction = 0.0
    """Probability of dropout on the input vectors of the leaves."""

    def __call__(self, inputs: Input | None, size: int | None = None, **cell: Any) -> NTIEncoder:
        """Construct the encoder."""
        accepted, linear = options_of(self.cell.source), self.leaves == "linear"
        if linear and "leaf" not in accepted:
            raise ConfigError(
                f"expected model.leaves other than linear with model.cell {self.cell.name}, which "
                "has no argument 'leaf'"
            )
        width = inputs.size if inputs is not None else size
        assert width is not None
        if self.leaves == "identity" and "leaf" in accepted and width != self.hidden_size:
            raise ConfigError(
                f"expected model.hidden_size to be the size of the inputs, {width}, with "
                f"model.leaves identity, got {self.hidden_size}; set model.leaves to linear, or "
                "use equal sizes"
            )
        leaves = make_leaves(self.leaves, width, self.hidden_size, init=self.init)
        full = self.trees if isinstance(self.trees, FullTreeSettings) else None
        branching = 2 if full is None else full.branching
        leaf = "linear" if linear else "identity"
        cell = {"max_children": branching, "leaf": leaf, **cell}
        cell = {name: value for name, value in cell.items() if name in accepted}
        return NTIEncoder(
            inputs,
            leaves,
            self.cell(input_size=leaves.size, **cell),
            trees="left" if full is None else "full",
            dropout=self.input_dropout,
            **({} if full is None else vars(full)),
        )

    @staticmethod
    def display_name(model: Options) -> str:
        """Return the paper's name of the model."""
        nodes = {
            "nti_lstm": "SLSTM",
            "chainer_nti_lstm": "chainer SLSTM",
            "nti_attention": "ANF",
        }
        leaves = {"identity": "", "linear": "-linear", "lstm": "-LSTM", "bilstm": "-BiLSTM"}
        name = f"NTI-{nodes.get(model['cell'], cell_name(model))}{leaves[model['leaves']]}"
        interaction = model.get("interaction", "none")
        return name if interaction == "none" else f"{name} {interaction.replace('_', ' ')}"


@dataclass(frozen=True)
class AttentionSettings:
    """Attention of one tree over another."""

    attention: Literal["global", "tree", "tree_code"] = "global"
    """Attention to all nodes at once (global), from the leaves up along the tree (tree), or the
    latter as in the paper's code (tree_code)."""
    score: Literal["mlp", "dot", "map"] = "mlp"
    """Scoring function of attention: an MLP (mlp), the scalar product (dot), or a bilinear map."""
    mask_pads: bool = False
    """Ignore nodes without a word."""
    attention_dropout: Fraction = 0.0
    """Probability of dropout on attention vectors."""

    def module(self, size: int, init: Init) -> GlobalAttention | TreeAttention:
        """Construct the attention to states of ``size``."""
        if self.attention == "global":
            return GlobalAttention(size, score=self.score, mask_pads=self.mask_pads, init=init)
        return TreeAttention(
            size,
            score=self.score,
            mask_pads=self.mask_pads,
            init=init,
            variant="code" if self.attention == "tree_code" else "paper",
        )


@dataclass(frozen=True)
class NodeByNodeSettings(AttentionSettings):
    """Node-by-node attention: the nodes of the second tree attend to the first."""

    leaf_queries: bool = False
    """Let the leaves of the second tree attend too, not only the nodes that an S-LSTM composes;
    "every time step" in section 4.1 can mean both."""


@dataclass(frozen=True)
class MatchingSettings(AttentionSettings):
    """Tree matching: every node of one tree attends to the other, and an LSTM reads the result."""

    root_query: bool = True
    """Let the root of a tree attend to the other tree too, not only the nodes below it."""
    last_step: bool = False
    """Let the last matching state attend to the earlier ones, as in the paper's code."""
    full: ClassVar[bool] = False
    """Whether each tree attends to the other, or only the second to the first."""


@dataclass(frozen=True)
class FullMatchingSettings(MatchingSettings):
    """Tree matching in both directions."""

    full: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class NTIPairSettings(NTISettings):
    """Neural Tree Indexers over two sentences."""

    parts: ClassVar[Mapping[str, Any]] = {
        **NTISettings.parts,
        "interaction": {
            "none": None,
            "node_by_node": NodeByNodeSettings,
            "matching": MatchingSettings,
            "full_matching": FullMatchingSettings,
        },
    }

    interaction: AttentionSettings | Literal["none"] = chosen("none")
    """How the second tree attends to the first: not at all (none), while its nodes are computed
    (node_by_node), or afterwards, with an LSTM over the results (matching), also in the other
    direction (full_matching)."""
    tied: bool = True
    """Use the same encoder for both sentences. The paper states this for node_by_node only, but the
    parameters in its Table 1 are those of one encoder."""


@dataclass(frozen=True, kw_only=True)
class NTIQuestionSettings(NTISettings):
    """Neural Tree Indexers over a question and an answer."""

    score: Literal["mlp", "dot", "map"] = "mlp"
    """Scoring function of the attention from the answer to the question's nodes: an MLP (mlp), the
    scalar product (dot), or a bilinear map."""


@dataclass(frozen=True)
class SentenceModel:
    """Classifier of sentences."""

    parts: ClassVar[Mapping[str, Any]] = {
        "encoder": sentence_encoders(nti=NTISettings),
        "words": {"table": TableSettings, "pretrained": None},
    }

    encoder: NTISettings | Part[Encoder] = chosen("nti")
    """Encoder: Neural Tree Indexers (NTI), a recurrent-recursive network (RRNet), one or two
    LSTMs, or a transformer."""
    hidden_size: Count = 50
    """Size of a state."""
    words: TableSettings | Literal["pretrained"] = chosen("table")
    """Word vectors: a table, or those of ``data.pretrained``."""
    embedding: Count = 100
    """Size of a word's vector."""
    head_hidden_sizes: list[Count] = field(default_factory=list)
    """Sizes of the hidden layers between an encoding and the classes; at most one for pairs."""
    head_dropout: Fraction = 0.0
    """Probability of dropout before every layer of the head."""
    init: Init = "kaiming"
    """Initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1)."""

    def build(self, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
        """Construct the model."""
        encoder = self.encoder(inputs=self.word_vectors(vocabs))
        head = self.mlp(encoder.size, len(vocabs["target"]))
        return classifier(self.encoder, encoder, head)

    def word_vectors(self, vocabs: Mapping[str, Vocabulary]) -> Words:
        """Construct the module of word vectors: a table, or those of a pretrained encoder."""
        if isinstance(self.words, TableSettings):
            return make_words(vocabs, self.embedding, frozen=self.words.fixed_words)
        return make_words(vocabs, self.embedding, pretrained=True)

    def mlp(self, size: int, classes: int) -> MLP:
        """Construct the head for sentences."""
        return MLP(size, classes, self.head_hidden_sizes, dropout=self.head_dropout, init=self.init)

    def pair_head(self, size: int, classes: int, extra: int = 0) -> PairHead:
        """Construct the head for pairs, with ``extra`` additional features."""
        return make_pair_head(
            size,
            classes,
            self.head_hidden_sizes,
            extra=extra,
            dropout=self.head_dropout,
            init=self.init,
        )


@dataclass(frozen=True)
class PairModel(SentenceModel):
    """Classifier of pairs of sentences."""

    parts: ClassVar[Mapping[str, Any]] = {
        **SentenceModel.parts,
        "encoder": sentence_encoders(nti=NTIPairSettings),
    }

    def build(self, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
        """Construct the model, with the interaction of the trees in its settings."""
        words, classes = self.word_vectors(vocabs), len(vocabs["target"])
        encoder: Any = self.encoder(inputs=words)
        if not isinstance(self.encoder, NTIPairSettings):
            return classifier(self.encoder, encoder, self.pair_head(encoder.size, classes))
        interaction = self.encoder.interaction
        second = None if self.encoder.tied else self.encoder(None, words.size)
        if not isinstance(interaction, AttentionSettings):
            head = self.pair_head(encoder.size, classes)
            return Classifier(SentencePairEncoder(encoder, second), Root(), head)
        attention = interaction.module(encoder.size, self.init)
        dropout = interaction.attention_dropout
        if isinstance(interaction, NodeByNodeSettings):
            leaves = interaction.leaf_queries
            nodes = NodeByNode(encoder, attention, second, dropout=dropout, leaf_queries=leaves)
            return Classifier(nodes, Root(), self.pair_head(encoder.size, classes))
        assert isinstance(interaction, MatchingSettings)
        matching = TreeMatching(
            attention,
            self.mlp(encoder.size * (1 + interaction.full), classes),
            full=interaction.full,
            root_query=interaction.root_query,
            last_step=interaction.last_step,
            dropout=dropout,
            init=self.init,
        )
        return Classifier(SentencePairEncoder(encoder, second), nn.Identity(), matching)


@dataclass(frozen=True)
class QuestionModel(SentenceModel):
    """Model that ranks sentences as answers to a question."""

    parts: ClassVar[Mapping[str, Any]] = {
        **SentenceModel.parts,
        "encoder": {"nti": NTIQuestionSettings, **SEQUENTIAL},
    }

    word_count: bool = False
    """Add the number of words that question and sentence share to the input of the head."""

    def build(self, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
        """Construct the model, with one logit per pair: whether the sentence is an answer."""
        words, extra = self.word_vectors(vocabs), int(self.word_count)
        encoder: Any
        if isinstance(self.encoder, NTISettings):
            answer = self.encoder(None, words.size)
            head = self.pair_head(answer.size, 1, extra)
            attentive = replace(self.encoder, cell=self.encoder.cell.other("cell", "nti_attention"))
            encoder = QuestionAnswerEncoder(
                words, attentive(None, words.size, query="given"), answer
            )
        else:
            encoder = self.encoder(inputs=words)
            head = self.pair_head(encoder.size, 1, extra)
        features = SharedWordCount(_SHARED) if self.word_count else None
        return Classifier(encoder, Root(), head, features=features)

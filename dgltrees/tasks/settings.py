"""The settings of data and models: every field is a flag, a YAML key and a Python argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional, Union

from dgltrees.cells import AGGREGATORS, CELLS
from dgltrees.cells.initial import SCHEMES
from dgltrees.cells.scores import SCORES
from dgltrees.models.nti.encoder import LEAF_FUNCTIONS
from dgltrees.tasks.ranges import COUNT, FRACTION, NONNEGATIVE, SEED, check, one_of
from dgltrees.tasks.rrnet.policy_settings import PolicySettings

__all__ = ["DataSettings", "ModelSettings"]

Files = Optional[Union[list[str], str]]

_DATA = {
    **dict.fromkeys(("keep_back", "test_part"), FRACTION),
    "seed": SEED,
    "limit": COUNT,
    "max_operators": NONNEGATIVE,
    "supervise": one_of(["nodes", "root"]),
    "min_count": COUNT,
    "max_words": COUNT,
}
_MODEL = {
    "gate": one_of(CELLS),
    "aggregator": one_of(AGGREGATORS),
    "digits": one_of(["thermometer", "one_hot"]),
    "readout": one_of(["root", "mean", "attention"]),
    "init": one_of(SCHEMES),
    "backend": one_of(["levels", "dgl"]),
    "head": COUNT,
    "head_dropout": FRACTION,
    "dropout": FRACTION,
    "language_model": one_of(["tree", "sequence", "bidirectional"]),
    "objective": one_of(["nll", "nce"]),
    "encoder": one_of(["nti", "lstm", "bilstm", "transformer", "rrnet"]),
    "words": one_of(["table", "pretrained"]),
    "leaves": one_of(LEAF_FUNCTIONS),
    "trees": one_of(["full", "left"]),
    "padding": one_of(["left", "right"]),
    "pad": one_of(["fixed", "learned", "zero"]),
    "interaction": one_of(["none", "node_by_node", "matching", "full_matching"]),
    "attention": one_of(["global", "tree", "tree_code"]),
    "score": one_of(SCORES),
    **dict.fromkeys(("output_dropout", "input_dropout", "attention_dropout"), FRACTION),
    **dict.fromkeys(("hidden_size", "rank", "embedding", "comparison", "max_children"), COUNT),
    **dict.fromkeys(("layers", "heads", "noise", "arc_size", "label_size"), COUNT),
    **dict.fromkeys(("branching", "stride", "width"), COUNT),
}


@dataclass
class DataSettings:
    """Where the data are and how they are split.

    A file is a path, a folder that holds a saved forest, or a pattern such as ``lrt/train*``. A
    relative one is looked for in the working directory, then under the root.

    Attributes:
        root: folder of the data sets; without it, the environment variable DGLTREES_DATA.
        train: training files.
        valid: validation files; without them a part of the training examples is kept back.
        test: test files.
        keep_back: part of the training examples kept back as validation when there is no file.
        test_part: part of the training examples kept back as test when there is no file, and never
            learned from.
        seed: decides which examples are taken and which of them are kept back.
        limit: take only so many training examples, drawn by the seed, before the split; of a text
            the first lines (ptb).
        max_operators: train on examples with at most so many operators (logic).
        supervise: learn from the labels of all "nodes" or of the "root" alone (sst-tree, boolsent,
            sst-phrases).
        binary: positive against negative, neutral trees and nodes left out (sst-tree,
            sst-phrases).
        label: column of node labels that is the input (classify, label; saved forests of tree-lm).
        target: column that holds the classes (classify and label).
        min_count: words seen less often in training count as unknown.
        lower: turn words to lower case (tree-lm, parser, snli, wikiqa, sst-phrases).
        max_words: leave out longer sentences (tree-lm; parser, in training), or refuse them (snli,
            wikiqa, sst-phrases).
        single_root: refuse sentences with several words below ROOT, which CoNLL-X has (tree-lm).
        truncate: cut sentences to max_words instead (snli, wikiqa, sst-phrases).
        vectors: a text file of word vectors for the words to begin with (tree-lm, snli, wikiqa,
            sst-phrases).
        every_word: know the words of the validation and test files too, so that they have the
            vectors of the file (snli, wikiqa, sst-phrases).
        pretrained: folder of a Hugging Face encoder that gives words their vectors in the sentence,
            for model.words "pretrained" (snli, wikiqa, sst-phrases; extra "transformers").
    """

    root: Optional[str] = None
    train: Files = None
    valid: Files = None
    test: Files = None
    keep_back: float = 0.1
    test_part: float = 0.0
    seed: int = 0
    limit: Optional[int] = None
    max_operators: Optional[int] = None
    supervise: str = "nodes"
    binary: bool = False
    label: str = "label"
    target: str = "target"
    min_count: int = 1
    lower: bool = False
    max_words: Optional[int] = None
    single_root: bool = True
    truncate: bool = False
    vectors: Files = None
    every_word: bool = False
    pretrained: Optional[str] = None

    def __post_init__(self) -> None:
        check("data", self, _DATA)


@dataclass
class ModelSettings:
    """The settings of an encoder and what reads it out.

    Attributes:
        gate: "lstm", "gru" or "rnn"; or a cell with its own aggregation, "child_sum" or "nary", or
            a node function of Neural Tree Indexers, "s_lstm", "chainer_s_lstm", "anf" or
            "selective_s_lstm".
        aggregator: "sum", "full", "hosvd", "canonical", "tensor_train" and the shared and
            symmetric ones.
        hidden_size: size c of a node's state.
        rank: rank r of a factorised aggregator.
        digits: code of a digit: "thermometer" or "one_hot" (listops).
        embedding: size of word vectors.
        bidirectional: read the trees up, then down with a cell of the same kind that has no
            operators.
        readout: how a tree becomes one vector: "root", "mean" or "attention".
        head: sizes of the hidden layers between a state and the classes.
        comparison: width of the layer that compares two trees; without it, the classes (logic).
        head_dropout: dropout before every layer of the head.
        dropout: recurrent dropout in the cell; of inputs and between layers (parser).
        layer_norm: layer normalisation in the cell.
        init: "kaiming" (normal), "xavier" (uniform) or "uniform", U(-0.1, 0.1).
        max_children: children of a node at most; without it the most there are in the data, or what
            the task allows.
        backend: "levels" or "dgl".
        checkpoint: compute levels again in the backward pass, which takes longer and less memory.
        language_model: along a "tree" top-down, or the words' "sequence", or "bidirectional", which
            sees the words on both sides of each (tree-lm; so are all settings down to noise).
        end: predict the end of each sentence too ("sequence"); perplexity stays that of the words.
        stops: generate a tree's shape too, by START and STOP after the last dependents ("tree");
            perplexity stays that of the words.
        layers: of the LSTMs (parser too) or the transformer.
        left_dependents: LdTreeLSTM.
        shared: one LSTM for all types of edges.
        tied: the output embeddings are the word vectors.
        output_dropout: dropout between the top layer and the output layer.
        objective: "nll", the full softmax, or "nce", noise-contrastive estimation; validation is
            always by the full softmax.
        noise: noise words for each position.
        arc_size, label_size: of what a parser scores arcs and labels from (parser).
        tags: whether the words' UPOS tags, which the data must then have, are read too (parser).
        projective: whether trees are projective (parser).
        labels: predict each word's dependency label after it (tree-lm).
        encoder: of sentences: "nti", Neural Tree Indexers; or "lstm", "bilstm", which read along,
            or "transformer" (snli, wikiqa, sst-phrases; so are all settings down to fixed_words);
            or "rrnet", which builds trees while it reads (snli, sst-phrases). All but "nti" are for
            mee and logic-sequence too.
        heads: of a transformer's attention, which divide hidden_size.
        words: where word vectors come from: a "table" of the vocabulary, or data.pretrained,
            "pretrained"; these are not trained, and have the size ``embedding``.
        leaves: leaf function of "nti": "identity", "linear", "lstm" or "bilstm".
        trees: "full", or "left", left-branching ones.
        branching: children of a node of a full tree.
        stride: how far the first children of neighbours are apart; below branching, sub-trees
            overlap.
        padding: the side of a sentence on which leaves without a word stand, "left" or "right".
        width: leaves of every full tree, which wants data.max_words; without it, of each as few as
            there can be.
        pad: the vector of leaves without a word: "fixed", "learned" or "zero".
        interaction: of two sentences: "none", "node_by_node", "matching" or "full_matching"
            (snli).
        attention: over a tree: "global", "tree", or "tree_code", tree attention as the paper's
            code has it.
        score: scoring function of attention: "mlp", "dot" or "map".
        mask_pads: whether attention passes over nodes without a word.
        root_query: whether a tree's root is one of the nodes that attend to the other (matching).
        last_step: let the last matching state attend to those before it, as in the code (matching).
        word_count: tell how many words a question and a sentence share (wikiqa).
        input_dropout: of what the leaves read.
        attention_dropout: of attention vectors.
        fixed_words: keep the word vectors as data.vectors has them.
        policy: what "rrnet" does while it reads.
    """

    gate: str = "lstm"
    aggregator: str = "sum"
    hidden_size: int = 50
    rank: Optional[int] = None
    digits: str = "thermometer"
    embedding: int = 100
    bidirectional: bool = False
    readout: str = "root"
    head: list[int] = field(default_factory=list)
    comparison: Optional[int] = None
    head_dropout: float = 0.0
    dropout: float = 0.0
    layer_norm: bool = False
    init: str = "kaiming"
    max_children: Optional[int] = None
    backend: str = "levels"
    checkpoint: bool = False
    language_model: str = "tree"
    end: bool = False
    stops: bool = False
    layers: int = 1
    left_dependents: bool = False
    shared: bool = False
    tied: bool = False
    output_dropout: float = 0.0
    objective: str = "nll"
    noise: int = 20
    arc_size: int = 200
    label_size: int = 50
    tags: bool = False
    projective: bool = True
    labels: bool = False
    encoder: str = "nti"
    heads: int = 4
    words: str = "table"
    leaves: str = "lstm"
    trees: str = "full"
    branching: int = 2
    stride: Optional[int] = None
    padding: str = "left"
    width: Optional[int] = None
    pad: str = "fixed"
    interaction: str = "none"
    attention: str = "global"
    score: str = "mlp"
    mask_pads: bool = False
    root_query: bool = True
    last_step: bool = False
    word_count: bool = False
    input_dropout: float = 0.0
    attention_dropout: float = 0.0
    fixed_words: bool = False
    policy: PolicySettings = field(default_factory=PolicySettings)

    def __post_init__(self) -> None:
        check("model", self, _MODEL)

    @property
    def kind(self) -> str:
        """Aggregator and gate, or the cell that is both."""
        own = self.gate not in ("lstm", "gru", "rnn")
        return self.gate if own else f"{self.aggregator} {self.gate}"

    @property
    def bounded(self) -> bool:
        """Whether a node has at most ``max_children``."""
        return self.gate != "child_sum"

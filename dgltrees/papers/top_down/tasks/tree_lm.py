"""Language models over dependency trees, and over sequences for comparison.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016). The data are
CoNLL-U files, Penn brackets or saved forests. Losses are negative log-likelihoods of words
without ROOT and the ends of sentences, so that trees and sequences are comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.models.heads import class_nll
from dgltrees.models.softmax import softmax_nll
from dgltrees.models.word_vectors import vectors_of_words
from dgltrees.papers.top_down.graphs import generation_batch, generation_forest
from dgltrees.papers.top_down.models.language_model import (
    NCE,
    BidirectionalLM,
    LanguageModel,
    SequenceLM,
)
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from dgltrees.papers.top_down.tasks.reading import LABEL, TreeLMSettings, stream_trees
from dgltrees.settings import Count, Fraction, Options
from dgltrees.tasks.files import data_files
from dgltrees.tasks.task import LOSS, PERPLEXITY, Columns, Metric, Names, Task, perplexity
from dgltrees.trees import LabeledTrees, TreeBatch, Vocabulary

JOINT_LOSS = Metric("joint_loss", higher_is_better=False, scale=1.0)


class Objective(nn.Module):
    """A language model with its training loss.

    Arguments:
        model: the model.
        nce: noise-contrastive estimation, used in training; without it, and in evaluation, the loss
            is the full softmax.
    """

    def __init__(self, model: LanguageModel, nce: NCE | None = None) -> None:
        super().__init__()
        self.model, self.nce = model, nce

    @property
    def stops(self) -> bool:
        """Whether the model generates trees by START and STOP."""
        return self.model.start is not None

    def forward(self, batch: TreeBatch) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the losses of words and ends, their nodes, and the scores of labels."""
        h, words, node = self.model(batch)
        objective = self.nce if self.nce is not None and self.training else softmax_nll
        loss: Tensor = objective(h, self.model.output, words)
        return loss, node, self.model.label_scores(h, words)


@dataclass(frozen=True)
class TopDownSettings:
    """Settings of a top-down language model over trees."""

    left_dependents: bool = False
    """Use an LdTreeLSTM, which encodes left dependents before it generates right ones."""
    shared: bool = False
    """Use one LSTM for all four types of edges; by default each type has its own."""
    labels: bool = False
    """Also predict the dependency label of each word, after the word."""
    stops: bool = False
    """Also generate the shape of the tree, by START and STOP; perplexity remains that of the
    words."""


@dataclass(frozen=True)
class SequenceSettings:
    """Settings of a language model over the words of a sentence."""

    end: bool = False
    """Also predict the end of each sentence; perplexity remains that of the words."""


@dataclass(frozen=True)
class NoiseSettings:
    """Settings of noise-contrastive estimation."""

    noise: Count = 20
    """Number of noise words per word."""


@dataclass(frozen=True)
class TreeLMModel:
    """Settings of a language model over trees or over sequences."""

    parts: ClassVar[Mapping[str, Any]] = {
        "language_model": {
            "tree": TopDownSettings,
            "sequence": SequenceSettings,
            "bidirectional": None,
        },
        "objective": {"nll": None, "nce": NoiseSettings},
    }

    language_model: str = "tree"
    """Context of a word: its ancestors and siblings (tree), the words before it (sequence), or the
    words on both sides (bidirectional)."""
    hidden_size: Count = 50
    """Size of a state."""
    embedding: Count = 100
    """Size of a word vector."""
    layers: Count = 1
    """Number of LSTM layers."""
    tied: bool = False
    """Use the word vectors as output embeddings."""
    output_dropout: Fraction = 0.0
    """Probability of dropout between the top layer and the output layer, as in the paper's code."""
    layer_dropout: Fraction = 0.0
    """Probability of dropout between the layers; the paper states neither rate nor place."""
    objective: str = "nll"
    """Training loss: full softmax (nll), or noise-contrastive estimation (nce)."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings without effect."""
        return {"layer_dropout": "with model.layers 1"} if values["layers"] == 1 else {}


@dataclass(frozen=True)
class LanguageModelTask(Task):
    """Language modelling of trees: rows are nodes, and their classes are words; ROOT has none."""

    has_majority = False
    evaluate_more: ClassVar[str | None] = (
        "dgltrees.papers.top_down.analyses.edge_classifier:joint_report"
    )

    def build(self, model: Options, vocabs: Mapping[str, Vocabulary]) -> Objective:
        """Build the model of these settings."""
        given = {"words": len(vocabs["word"]), "dropout": model["output_dropout"]}
        lm: LanguageModel
        if model["language_model"] == "tree":
            labels = _count_labels(vocabs) if model["labels"] else 0
            lm = model.of(TreeLM, **given, labels=labels)
        elif model["language_model"] == "sequence":
            lm = model.of(SequenceLM, **given)
        else:
            lm = model.of(BidirectionalLM, **given)
        rows = torch.ones(len(lm.output))
        return Objective(lm, model.of(NCE, counts=rows) if model["objective"] == "nce" else None)

    def display_name(self, model: Options) -> str:
        """Return the paper's name of the model."""
        tree = "LdTreeLSTM" if model.get("left_dependents") else "TreeLSTM"
        names = {"tree": tree, "sequence": "LSTM", "bidirectional": "bidirectional LSTM"}
        return names[model["language_model"]]

    def targets(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return the word of every node, ``(N,)``, -1 at ROOT."""
        words = np.asarray(data.forest.columns["word"], dtype=np.int64)
        return np.where(data.forest.parent < 0, -1, words)

    def batch(self, data: LabeledTrees, ids: NDArray[np.int64]) -> tuple[TreeBatch, Tensor]:
        """Return the trees ``ids``, with edges to dependents, and the words to predict."""
        batch = generation_batch(data.forest, ids)
        targets = torch.full((batch.num_nodes,), -1)
        targets[batch.dst] = batch.ndata["word"][batch.dst]
        return batch, targets

    def init_from_data(  # type: ignore[override]
        self, model: nn.Module, settings: TreeLMSettings, data: LabeledTrees
    ) -> None:
        """Count the words for the noise distribution, and read the word vectors."""
        objective, vocab = cast(Objective, model), data.forest.vocabs["word"]
        if objective.nce is not None:
            counts = np.bincount(data.forest.columns["word"], minlength=len(vocab))
            words = data.forest.num_nodes - len(data)
            # One START per word, and one STOP more per sentence, for the root.
            symbols = [words, words + len(data)][: 2 * objective.stops]
            objective.nce.set_counts(torch.from_numpy(np.append(counts, symbols)))
        paths = data_files(settings, "vectors")
        if paths:
            weight = objective.model.embed.weight
            vectors = vectors_of_words(paths, vocab, weight.detach(), others="random")
            with torch.no_grad():
                weight.copy_(vectors)

    def separate_losses(self, model: Options) -> bool:
        """Return whether training has other terms than words, or noise instead of the softmax."""
        terms = ("labels", "stops", "end")
        return model["objective"] == "nce" or any(bool(model.get(name)) for name in terms)

    def losses(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Tensor:
        """Return the loss of every node's word, and of its label if any, ``(N,)``.

        The loss at ROOT is that of the ends: of the sentence, or of all dependents.
        """
        loss, node, scores = model(batch)
        if scores is not None:
            loss = loss + class_nll(scores, batch.ndata[LABEL].index_select(0, node))
        spread: Tensor = loss.new_zeros(len(targets)).index_add(0, node, loss)
        return spread

    def loss_denominator(self, examples: int, rows: int) -> int:
        """Return the number of sentences: equation (8)."""
        return examples

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> dict[str, Tensor]:
        """Return columns ``(N,)``: ``loss``, and with labels ``label`` and its probability.

        The loss at ROOT is that of the sentence's end, or of START and STOP; 0 if the model
        predicts neither. ``label`` is the likeliest label, -1 at ROOT; ``label_probability`` is
        that of the true label, -1 if the word has none.
        """
        loss, node, scores = model(batch)
        columns = {"loss": loss.new_zeros(len(targets), dtype=torch.float64)}
        columns["loss"] = columns["loss"].index_add(0, node, loss.double())
        if scores is None:
            return columns
        words = torch.nonzero(targets.index_select(0, node) >= 0)[:, 0]
        node, scores = node[words], scores[words]
        label = batch.ndata[LABEL].index_select(0, node)
        p = torch.exp(-class_nll(scores, label)).double().masked_fill(label < 0, -1.0)
        likeliest = torch.full_like(targets, -1)
        likeliest[node] = scores.argmax(1)
        probability = torch.full_like(columns["loss"], -1.0)
        probability[node] = p
        return {**columns, "label": likeliest, "label_probability": probability}

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """Return the numbers of parameters, of the LSTMs (``cell``) and in total."""
        return super().parameters(cast(Objective, model).model)

    def word_parameters(self, model: nn.Module) -> Iterable[Tensor]:
        """Return the word vectors and the output layer, which may be tied."""
        lm = cast(LanguageModel, model)
        return (lm.embed.weight, lm.output)

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, int]
    ) -> dict[str, Any]:
        """Return the mean ``loss`` of words in nats, their ``perplexity``, and counts.

        If the model predicts the ends of sentences, or a tree's shape by START and STOP,
        ``joint_loss`` is the loss of words and ends per word: the mean of -log P(S, T). If it has
        labels, ``label_loss`` and ``label_accuracy`` are added.
        """
        words, ends = data.forest.num_nodes - len(data), outputs["loss"][data.forest.parent < 0]
        total = float(outputs["loss"].sum())
        loss = (total - float(ends.sum())) / words
        return {
            "loss": loss,
            "perplexity": perplexity(loss),
            **({"joint_loss": total / words} if ends.any() else {}),
            **_label_report(data, outputs),
            "words": words,
            "examples": len(data),
        }

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """Yield ``example``, ``log_prob`` of the sentence, and its number of ``words``.

        If the model predicts ends, ``joint_log_prob`` is log P(S, T). If it has labels, ``labels``
        are the likeliest labels of the words in order.
        """
        offsets = data.forest.offsets
        ends = outputs["loss"][data.forest.parent < 0]
        words = np.add.reduceat(np.where(data.forest.parent < 0, 0, outputs["loss"]), offsets[:-1])
        for example, size in enumerate(data.forest.sizes.tolist()):
            loss, end = float(words[example]), float(ends[example])
            line = {"example": example, "log_prob": round(-loss, 6), "words": size - 1}
            if end:
                line["joint_log_prob"] = round(-loss - end, 6)
            if "label" in outputs:
                labels = outputs["label"][offsets[example] + 1 : offsets[example + 1]]
                line["labels"] = data.forest.vocabs[LABEL].decode(labels)
            yield line


def _label_report(data: LabeledTrees, outputs: Columns) -> dict[str, float]:
    if "label" not in outputs:
        return {}
    labeled = outputs["label_probability"] >= 0
    if not labeled.any():
        return {}
    p = np.maximum(outputs["label_probability"][labeled], np.finfo(np.float64).tiny)
    right = outputs["label"][labeled] == data.forest.columns[LABEL][labeled]
    return {"label_loss": float(-np.log(p).mean()), "label_accuracy": float(right.mean())}


def _read(
    path: PathLike, settings: TreeLMSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[LabeledTrees]:
    if vocabs and vocabs["word"].frozen:  # only training leaves out long sentences
        settings = replace(settings, max_words=None)
    for forest in stream_trees(path, settings, vocabs, trees):
        yield LabeledTrees(generation_forest(forest))


def _count_labels(vocabs: Mapping[str, Vocabulary]) -> int:
    if len(vocabs.get(LABEL, ())) < 2:  # the unknown one
        raise ConfigError("model.labels needs dependency labels (DEPREL), the data have none")
    return len(vocabs[LABEL])


TREE_LM = LanguageModelTask(
    "tree-lm",
    TreeLMSettings,
    TreeLMModel,
    {"conllu": _read},
    nodes=True,
    max_children=4,
    metrics=(PERPLEXITY, LOSS, JOINT_LOSS),
    reads="trees as CoNLL-U, CoNLL-X, .dp or Penn brackets (.mrg), or saved by Forest.save",
)

"""Language models over dependency trees, and over sequences beside them.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016). The data are
CoNLL-U files, Penn brackets or saved forests. Losses are negative log-likelihoods of words, ROOT
and the ends of sentences aside, so that trees and sequences can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.errors import ConfigError
from dgltrees.metrics.accuracy import Outputs
from dgltrees.models import (
    NCE,
    BidirectionalLM,
    LanguageModel,
    SequenceLM,
    TreeLM,
    read_word_vectors,
    softmax_nll,
)
from dgltrees.models.heads import class_nll
from dgltrees.tasks.files import data_files
from dgltrees.tasks.language_models.dependencies import LABEL, read_trees
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.tasks.task import Task
from dgltrees.trees import Examples, TreeBatch, Vocabulary
from dgltrees.trees.dependencies import generation_batch, generation_forest

__all__ = ["TREE_LM", "LanguageModelTask", "Objective"]


class Objective(nn.Module):
    """A language model and what it learns from.

    Arguments:
        model: the model.
        nce: noise-contrastive estimation for training; without it the full softmax, which decides
            in evaluation mode.
    """

    def __init__(self, model: LanguageModel, nce: Optional[NCE] = None) -> None:
        super().__init__()
        self.model, self.nce = model, nce

    @property
    def stops(self) -> bool:
        """Whether the model generates trees by START and STOP."""
        return self.model.start is not None

    def forward(self, batch: TreeBatch) -> tuple[Tensor, Tensor, Optional[Tensor]]:
        """The loss of each word but ROOT, and of ends; its node; and the scores of its labels.

        Returns:
            ``(P,)``; ``(P,)``, see :class:`~dgltrees.models.Predictions`; and ``(P, K)`` or None if
            the model has no labels.
        """
        h, words, node = self.model(batch)
        objective = self.nce if self.nce is not None and self.training else softmax_nll
        loss: Tensor = objective(h, self.model.output, words)
        return loss, node, self.model.label_scores(h, words)


@dataclass(frozen=True)
class LanguageModelTask(Task):
    """Every node is a row, and its class is its word; ROOT has none."""

    def kind(self, model: ModelSettings) -> str:
        """The paper's name of the model."""
        tree = "LdTreeLSTM" if model.left_dependents else "TreeLSTM"
        names = {"tree": tree, "sequence": "LSTM", "bidirectional": "bidirectional LSTM"}
        return names[model.language_model]

    def targets(self, data: Examples) -> NDArray[np.int64]:
        """``(N,)`` the word of every node, -1 at ROOT."""
        words = np.asarray(data.forest.columns["word"], dtype=np.int64)
        return np.where(data.forest.parent < 0, -1, words)

    def batch(self, data: Examples, ids: NDArray[np.int64]) -> tuple[TreeBatch, Tensor]:
        """The trees of the examples ``ids``, sources to dependents, and the words to predict."""
        batch = generation_batch(data.forest, ids)
        targets = torch.full((batch.num_nodes,), -1)
        targets[batch.dst] = batch.ndata["word"][batch.dst]
        return batch, targets

    def start(self, model: nn.Module, settings: DataSettings, data: Examples) -> None:
        """Count the words for the noise; read the word vectors.

        Raises:
            TreeError: the file of word vectors is broken, or its vectors have another size.
        """
        own, vocab = cast(Objective, model), data.forest.vocabs["word"]
        if own.nce is not None:
            counts = np.bincount(data.forest.columns["word"], minlength=len(vocab))
            words = data.forest.num_nodes - len(data)
            symbols = [words, words + len(data)][: 2 * own.stops]  # a START a word, and a STOP more
            own.nce.count(torch.from_numpy(np.append(counts, symbols)))
        weight = own.model.embed.weight
        for path in data_files(settings, "vectors"):
            vectors, _ = read_word_vectors(path, vocab, weight.detach())
            with torch.no_grad():
                weight.copy_(vectors)

    def losses(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Tensor:
        """``(N,)`` the loss of every node's word, and of its label if the model has them.

        At ROOT stands that of the ends: of the sentence, or of all dependents.
        """
        loss, node, scores = model(batch)
        if scores is not None:
            loss = loss + class_nll(scores, batch.ndata[LABEL].index_select(0, node))
        spread: Tensor = loss.new_zeros(len(targets)).index_add(0, node, loss)
        return spread

    def share(self, examples: int, rows: int) -> int:
        """The sentences: equation (8)."""
        return examples

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Tensor:
        """``(3, N)`` float64: the word's loss, the likeliest label, and the true label's p.

        At ROOT stands the loss of what tells the shape: of the sentence's end, or of START and
        STOP; or 0 if the model predicts none. Label and probability are -1 where the model, or the
        word, has no label.
        """
        loss, node, scores = model(batch)
        found = torch.full((3, len(targets)), -1.0, dtype=torch.float64, device=loss.device)
        found[0] = torch.zeros_like(found[0]).index_add(0, node, loss.double())
        if scores is not None:
            words = torch.nonzero(targets.index_select(0, node) >= 0)[:, 0]
            node, scores = node[words], scores[words]
            label = batch.ndata[LABEL].index_select(0, node)
            p = torch.exp(-class_nll(scores, label)).double()
            found[1, node] = scores.argmax(1).double()
            found[2, node] = p.masked_fill(label < 0, -1.0)
        return found

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """Of the LSTMs (``cell``) and of the model, as Table 1 counts."""
        lm = cast(Objective, model).model
        total = sum(p.numel() for p in lm.parameters())
        words = {id(p): p.numel() for p in (lm.embed.weight, lm.output)}  # once, where tied
        return {"table": None, "cell": total - sum(words.values()), "model": total}

    def majority(self, data: Examples) -> dict[str, int]:
        """None: accuracy is not reported."""
        return {}

    def report(
        self, data: Examples, outputs: Outputs, majority: Mapping[str, int]
    ) -> dict[str, Any]:
        """``loss``, the mean over the words, in nats; ``perplexity``, its exponential; counts.

        Where the model predicts the ends of sentences, or a tree's shape by START and STOP,
        ``joint_loss`` is that of words and ends over the words: the mean of -log P(S, T). Where it
        has labels, ``label_loss`` and ``label_accuracy`` stand beside them.
        """
        words, ends = data.forest.num_nodes - len(data), outputs.loss[data.forest.parent < 0]
        total = float(outputs.loss.sum())
        loss = (total - float(ends.sum())) / words
        perplexity = math.exp(loss) if loss < 700 else math.inf
        return {
            "loss": loss,
            "perplexity": perplexity,
            **({"joint_loss": total / words} if ends.any() else {}),
            **_label_report(data, outputs),
            "words": words,
            "examples": len(data),
        }

    def predictions(self, data: Examples, outputs: Outputs) -> Iterator[dict[str, Any]]:
        """``example``, ``log_prob`` of the sentence, and the number of its ``words``.

        Where the model predicts ends, ``joint_log_prob`` is log P(S, T). Where it has labels,
        ``labels`` are the likeliest of the words in their order.
        """
        offsets = data.forest.offsets
        ends = outputs.loss[data.forest.parent < 0]
        words = np.add.reduceat(np.where(data.forest.parent < 0, 0, outputs.loss), offsets[:-1])
        for example, size in enumerate(data.forest.sizes.tolist()):
            loss, end = float(words[example]), float(ends[example])
            found = {"example": example, "log_prob": round(-loss, 6), "words": size - 1}
            if end:
                found["joint_log_prob"] = round(-loss - end, 6)
            labels = outputs.prediction[offsets[example] + 1 : offsets[example + 1]]
            if (labels >= 0).all():
                found["labels"] = data.forest.vocabs[LABEL].decode(labels)
            yield found


def _label_report(data: Examples, outputs: Outputs) -> dict[str, float]:
    known = outputs.probability >= 0
    if not known.any():
        return {}
    p = np.maximum(outputs.probability[known], np.finfo(np.float64).tiny)
    right = outputs.prediction[known] == data.forest.columns[LABEL][known]
    return {"label_loss": float(-np.log(p).mean()), "label_accuracy": float(right.mean())}


def _read(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    return Examples(generation_forest(read_trees(path, settings, vocabs)))


def _build(settings: ModelSettings, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    words = len(vocabs["word"])
    shared: dict[str, Any] = {
        "embedding": settings.embedding,
        "layers": settings.layers,
        "tied": settings.tied,
        "dropout": settings.output_dropout,
    }
    if settings.labels and settings.language_model != "tree":
        raise ConfigError(
            f"model.labels is for model.language_model tree, got {settings.language_model!r}"
        )
    if settings.stops and settings.language_model != "tree":
        raise ConfigError(
            f"model.stops is for model.language_model tree, got {settings.language_model!r}"
        )
    if settings.end and settings.language_model != "sequence":
        raise ConfigError(
            f"model.end is for model.language_model sequence, got {settings.language_model!r}"
        )
    model: LanguageModel
    if settings.language_model == "tree":
        model = TreeLM(
            words,
            settings.hidden_size,
            left_dependents=settings.left_dependents,
            shared=settings.shared,
            labels=_labels(settings, vocabs),
            stops=settings.stops,
            backend=settings.backend,
            **shared,
        )
    elif settings.language_model == "sequence":
        model = SequenceLM(words, settings.hidden_size, end=settings.end, **shared)
    else:
        model = BidirectionalLM(words, settings.hidden_size, **shared)
    rows = torch.ones(len(model.output))
    nce = NCE(rows, noise=settings.noise) if settings.objective == "nce" else None
    return Objective(model, nce)


def _labels(settings: ModelSettings, vocabs: Mapping[str, Vocabulary]) -> int:
    if not settings.labels:
        return 0
    if len(vocabs.get(LABEL, ())) < 2:  # the unknown one
        raise ConfigError("model.labels wants dependency labels (DEPREL), the data have none")
    return len(vocabs[LABEL])


TREE_LM = LanguageModelTask(
    "tree-lm", _read, _build, nodes=True, max_children=4, measure="perplexity"
)

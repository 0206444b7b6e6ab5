"""Language models over dependency trees, and over sequences beside them.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016). The data are
CoNLL-U files. Losses are negative log-likelihoods of words, ROOT and the ends of sentences aside,
so that trees and sequences can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.models import (
    NCE,
    BidirectionalLM,
    LanguageModel,
    SequenceLM,
    TreeLM,
    read_word_vectors,
    softmax_nll,
)
from dgltrees.tasks.files import data_files
from dgltrees.tasks.measures import Outputs
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.tasks.task import Task
from dgltrees.trees import Examples, TreeBatch, Vocabulary
from dgltrees.trees.dependencies import generation_batch, generation_forest
from dgltrees.trees.readers.conllu import read_conllu
from dgltrees.trees.words import UNKNOWN

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

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(P,)`` the loss of each word but ROOT, in the order of the nodes."""
        h, words, _ = self.model(batch)
        objective = self.nce if self.nce is not None and self.training else softmax_nll
        loss: Tensor = objective(h, self.model.output, words)
        return loss


@dataclass(frozen=True)
class LanguageModelTask(Task):
    """Every node is a row, and its class is its word; ROOT has none."""

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
            own.nce.count(torch.from_numpy(counts))
        weight = own.model.embed.weight
        for path in data_files(settings, "vectors"):
            vectors, _ = read_word_vectors(path, vocab, weight.detach())
            with torch.no_grad():
                weight.copy_(vectors)

    def losses(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Tensor:
        """``(N,)`` the loss of every node, 0 at ROOT."""
        found: Tensor = model(batch)
        rows = torch.nonzero(targets >= 0)[:, 0]
        return found.new_zeros(len(targets)).index_copy(0, rows, found)

    def share(self, examples: int, rows: int) -> int:
        """The sentences: equation (8)."""
        return examples

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Tensor:
        """``(3, N)`` float64: the loss, the word itself and its probability."""
        losses = self.losses(model, batch, targets)
        return torch.stack([losses.double(), targets.double(), torch.exp(-losses.double())])

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
        """``loss``, the mean over the words, in nats; ``perplexity``, its exponential; counts."""
        words = data.forest.num_nodes - len(data)
        loss = float(outputs.loss.sum() / words)
        perplexity = math.exp(loss) if loss < 700 else math.inf
        return {"loss": loss, "perplexity": perplexity, "words": words, "examples": len(data)}

    def predictions(self, data: Examples, outputs: Outputs) -> Iterator[dict[str, Any]]:
        """``example``, ``log_prob`` of the sentence, and the number of its ``words``."""
        totals = np.add.reduceat(outputs.loss, data.forest.offsets[:-1])
        for example, (loss, size) in enumerate(zip(totals.tolist(), data.forest.sizes.tolist())):
            yield {"example": example, "log_prob": round(-loss, 6), "words": size - 1}


def _read(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    words = Vocabulary([UNKNOWN], unknown=UNKNOWN) if vocabs is None else vocabs["word"]
    read = read_conllu(
        path, vocabs={"word": words}, lower=settings.lower, max_words=settings.max_words
    )
    forest = replace(
        read.forest, columns={"word": read.forest.columns["word"]}, vocabs={"word": words}
    )
    return replace(read, forest=generation_forest(forest))


def _build(settings: ModelSettings, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    words = len(vocabs["word"])
    shared: dict[str, Any] = {
        "embedding": settings.embedding,
        "layers": settings.layers,
        "tied": settings.tied,
        "dropout": settings.output_dropout,
    }
    model: LanguageModel
    if settings.language_model == "tree":
        model = TreeLM(
            words,
            settings.hidden_size,
            left_dependents=settings.left_dependents,
            shared=settings.shared,
            backend=settings.backend,
            **shared,
        )
    else:
        kinds = {"sequence": SequenceLM, "bidirectional": BidirectionalLM}
        model = kinds[settings.language_model](words, settings.hidden_size, **shared)
    nce = NCE(torch.ones(words), noise=settings.noise) if settings.objective == "nce" else None
    return Objective(model, nce)


TREE_LM = LanguageModelTask("tree-lm", _read, _build, nodes=True, max_children=4)

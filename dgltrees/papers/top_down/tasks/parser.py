"""A dependency parser: the head of each word and the relation to it.

T. Dozat and C. D. Manning, "Deep Biaffine Attention for Neural Dependency Parsing", ICLR 2017. The
data are CoNLL-U files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from dgltrees.errors import TreeError
from dgltrees.formats import FORMATS, tokenize
from dgltrees.models.inputs import WordEmbedding
from dgltrees.papers.top_down.models.biaffine import ArcScores, BiaffineParser
from dgltrees.papers.top_down.tasks.reading import ParserSettings, read_parsed, text_reader
from dgltrees.settings import Count, Fraction, Options
from dgltrees.tasks.task import LOSS, Columns, Metric, Task
from dgltrees.traversal.order import node_error
from dgltrees.trees import LabeledTrees, TreeBatch, Vocabulary
from dgltrees.trees.segments import mask_of, starts

NONE = 0
"""The id of missing and unknown labels, which is the first of the vocabulary."""


@dataclass(frozen=True)
class ParserModel:
    """Settings of a biaffine dependency parser."""

    hidden_size: Count = 50
    """Size of an LSTM state, per direction."""
    embedding: Count = 100
    """Size of a word vector; vectors of its suffix and tag have half this size."""
    layers: Count = 1
    """Number of LSTM layers."""
    dropout: Fraction = 0.0
    """Probability of dropout on the inputs and between the layers."""
    arc_size: Count = 200
    """Size of the vectors that score arcs."""
    label_size: Count = 50
    """Size of the vectors that score labels."""
    tags: bool = False
    """Use the UPOS tags of the words as input; the data must have them."""


class TagEmbedding(WordEmbedding):
    """A vector for each part of speech, which every word must have."""

    def _ids(self, batch: TreeBatch) -> Tensor:
        ids = super()._ids(batch)
        lacking = batch.on_host(ids) < 0
        lacking[starts(batch.sizes)] = False  # ROOT has none
        if lacking.any():
            node = int(lacking.byte().argmax())
            raise node_error(
                batch,
                node,
                "expected a part of speech (UPOS) at each word, which this parser reads, got none; "
                "train one with model.tags false",
            )
        return ids


@dataclass(frozen=True)
class ParserTask(Task):
    """Dependency parsing: rows are nodes, and their classes are their heads; -1 at ROOT."""

    has_majority = False

    def build(self, model: Options, vocabs: Mapping[str, Vocabulary]) -> BiaffineParser:
        """Build the model of these settings."""
        embedding = model["embedding"]
        sizes = {"word": embedding, "ending": embedding // 2, "shape": 16}
        inputs: list[WordEmbedding] = [
            WordEmbedding(name, len(vocabs[name]), max(1, size)) for name, size in sizes.items()
        ]
        if model["tags"]:
            inputs.append(TagEmbedding("upos", len(vocabs["upos"]), max(1, embedding // 2)))
        return model.of(BiaffineParser, inputs=inputs, labels=len(vocabs["deprel"]))

    def display_name(self, model: Options) -> str:
        """Return the name of the model."""
        return "biaffine LSTM"

    def targets(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return the heads of all nodes, ``(N,)``."""
        return np.asarray(data.forest.columns["head"], dtype=np.int64)

    def batch(self, data: LabeledTrees, ids: NDArray[np.int64]) -> tuple[TreeBatch, Tensor]:
        """Return the sentences ``ids`` and their heads."""
        batch = data.forest.batch(ids)
        return batch, batch.ndata["head"].long()

    def losses(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Tensor:
        """Return the loss of head and label together, ``(N,)``, 0 at ROOT."""
        return _losses(model(batch), batch, targets)

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> dict[str, Tensor]:
        """Return columns ``(N,)``: ``loss``, and ``head`` and ``label`` in the best tree."""
        scores: ArcScores = model(batch)
        best, _ = scores.kbest()
        heads = best.clamp(min=0)  # (B, 1, n + 1)
        labels = best_labels(scores, heads)
        return {
            "loss": _losses(scores, batch, targets),
            "head": _rows(heads[:, 0], batch),
            "label": _rows(labels[:, 0], batch),
        }

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """Return the numbers of parameters of the LSTM (``cell``) and in total."""
        counts = [
            sum(p.numel() for p in part.parameters())
            for part in (cast(BiaffineParser, model).lstm, model)
        ]
        return {"aggregator": None, "cell": counts[0], "model": counts[1]}

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, int]
    ) -> dict[str, Any]:
        """Return ``uas`` and ``las``, with and without punctuation, mean ``loss`` and counts."""
        columns = data.forest.columns
        gold = columns["head"]
        words = gold >= 0
        heads, labels = outputs["head"], outputs["label"]
        labels = np.where(labels == NONE, -2, labels)  # a relation never met is never right
        return {
            **attachment(heads, labels, gold, columns["deprel"], columns["punct"]),
            "loss": float(outputs["loss"][words].mean()),
            "words": int(words.sum()),
            "examples": len(data),
        }

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """Yield ``example``, and the ``heads`` and ``deprels`` of its words."""
        heads, labels = outputs["head"], outputs["label"]
        names = data.forest.vocabs["deprel"].names
        for example, (start, stop) in enumerate(
            zip(data.forest.offsets[:-1], data.forest.offsets[1:])
        ):
            yield {
                "example": example,
                "heads": heads[start + 1 : stop].tolist(),
                "deprels": [names[i] for i in labels[start + 1 : stop]],
            }


def best_labels(scores: ArcScores, heads: Tensor) -> Tensor:
    """Return the most probable label of each arc, ``(B, k, n + 1)``; ``NONE`` as a last resort."""
    labels = scores.labels(heads)
    if labels.shape[3] == 1:
        return torch.full_like(heads, NONE)
    return labels[..., NONE + 1 :].argmax(3) + NONE + 1


def _losses(scores: ArcScores, batch: TreeBatch, heads: Tensor) -> Tensor:
    padded = pad_sequence(list(heads.split_with_sizes(batch.sizes.tolist())), True, -1)
    at = padded.clamp(min=0)  # (B, n + 1)
    arcs = -torch.gather(scores.arcs, 2, at.unsqueeze(2)).squeeze(2)
    labels = scores.labels(at.unsqueeze(1))[:, 0]
    gold = batch.ndata["deprel"].long()
    gold = gold.masked_fill(gold == NONE, -1)
    nll = F.cross_entropy(_rows(labels, batch), gold, ignore_index=-1, reduction="none")
    return torch.where(heads >= 0, _rows(arcs, batch) + nll, 0.0)


def _rows(padded: Tensor, batch: TreeBatch) -> Tensor:
    """Remove padding, ``(B, n + 1, ...)`` to ``(N, ...)``, in the order of the nodes."""
    mask = mask_of(batch.sizes, padded.shape[1])
    index = torch.nonzero(mask.flatten())[:, 0].to(padded.device)
    return padded.flatten(0, 1).index_select(0, index)


PARSER = ParserTask(
    "parser",
    ParserSettings,
    ParserModel,
    {"conllu": read_parsed, "text": text_reader(tokenize), "lines": text_reader(str.split)},
    nodes=True,
    max_children=1,
    metrics=(Metric("las", label="LAS"), Metric("uas", label="UAS"), LOSS),
    reads=f"{FORMATS['conllu'].description} To predict: these with heads or without, or a sentence "
    "per line, as text in English or as lines of words with spaces between them.",
)


Ids = NDArray[np.integer]


def attachment(
    heads: Ids, labels: Ids, gold_heads: Ids, gold_labels: Ids, punct: Ids
) -> dict[str, float]:
    """Return the fractions of words with the gold head (UAS), and with gold head and label (LAS).

    The label is the whole relation, including its subtype. Both scores are computed over all words
    and, if it is known of each word, also without punctuation; LAS only if the words have labels.
    """
    words = gold_heads >= 0
    if not words.any():
        raise TreeError("expected words with heads to compare with, got none")
    right = {"uas": heads == gold_heads}
    if (gold_labels[words] >= 0).any():
        right["las"] = right["uas"] & (labels == gold_labels) & (gold_labels >= 0)
    scores = {name: float(hit[words].mean()) for name, hit in right.items()}
    no_punct = words & (punct == 0)
    if no_punct.any() and (punct[words] >= 0).all():
        scores.update(
            {f"{name}_no_punct": float(hit[no_punct].mean()) for name, hit in right.items()}
        )
    return scores

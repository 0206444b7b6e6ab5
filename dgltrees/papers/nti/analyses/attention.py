"""Attention from the nodes of a hypothesis to those of its premise: Figure 2 of the NTI paper.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), sections 5.1 and 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.analyses.require import require
from dgltrees.errors import ConfigError, TreeError
from dgltrees.papers.nti.analyses.sentences import (
    batches,
    examples_with_all_words,
    with_model_words,
)
from dgltrees.papers.nti.models.encoding import EncodingPair, NTIEncoding
from dgltrees.papers.nti.models.matching import TreeMatching
from dgltrees.papers.nti.pictures import AttentionDrawing, draw_attention, tree_cells
from dgltrees.training.loaded import LoadedRun
from dgltrees.trees import TreeBatch

__all__ = ["AttentionMap", "attention_map", "pad_attention"]


@dataclass(frozen=True)
class AttentionMap:
    """Attention between the trees over two sentences.

    Arguments:
        words: ``(L,)``, the premise's words at the leaves of its tree; None marks a pad.
        spans: ``(M, 2)`` the first and the last leaf below each node of that tree.
        depth: ``(M,)``, the number of edges between each node and the root.
        phrases: ``(Q,)``, the words below each attending node of the hypothesis' tree.
        pads: ``(Q,)`` the number of pads below it.
        weights: ``(Q, M)`` the attention of each phrase on the nodes of the premise.
    """

    words: list[str | None]
    spans: NDArray[np.int64]
    depth: NDArray[np.int64]
    phrases: list[str]
    pads: list[int]
    weights: NDArray[np.float64]

    def draw(self, phrases: Sequence[str] | None = None) -> AttentionDrawing:
        """Draw the attention of phrases as heat maps.

        Nodes that differ only by pads have the same words below them; of these the lowest is drawn
        for a phrase. Titles show the number of pads.

        Arguments:
            phrases: words of the hypothesis, with spaces; by default those of all nodes.

        Raises:
            ConfigError: the hypothesis has no such phrase.
        """
        rows = list(range(len(self.phrases)))
        if phrases is not None:
            rows = [self._row(" ".join(phrase.split())) for phrase in phrases]
        titles = [self.phrases[row] + _pads(self.pads[row]) for row in rows]
        return draw_attention(self.words, self.spans, self.depth, self.weights[rows], titles=titles)

    def _row(self, phrase: str) -> int:
        if phrase not in self.phrases:
            raise ConfigError(
                f"expected a phrase that a node of the hypothesis covers, got {phrase!r}; "
                f"its phrases: {'; '.join(self.phrases)}"
            )
        return self.phrases.index(phrase)


def _pads(number: int) -> str:
    return f" (and {number} pad{'s' * (number > 1)})" if number else ""


def attention_map(run: LoadedRun, files: Sequence[PathLike], example: int = 0) -> AttentionMap:
    """The attention of one pair of sentences, from hypothesis to premise.

    Arguments:
        run: a run whose model has attention.
        files: files of pairs.
        example: the number of the pair, from 0.

    Raises:
        ConfigError: the model has no attention.
        TreeError: a file is not what the task reads, there is no such example, or sub-trees
            overlap.
    """
    data = examples_with_all_words(run, files)
    if not 0 <= example < len(data):
        raise TreeError(f"expected an example from 0 to {len(data) - 1}, got {example}")
    pair = data.forest.select([2 * example, 2 * example + 1])
    names = pair.vocabs["word"].names
    words = [[names[i] for i in pair.tree(side).columns["word"]] for side in range(2)]
    premise, hypothesis, weights = _attention(run, with_model_words(run, pair).batch())
    queries = _queries(hypothesis, weights).numpy()
    spans = hypothesis.batch.ndata["span"].cpu().numpy()[queries]
    phrases = [" ".join(words[1][first : last + 1]) for first, last in spans.tolist()]
    below = tree_cells(hypothesis.batch)[1][queries]
    pads = (np.diff(below) - np.diff(spans))[:, 0].tolist()
    leaves, premise_spans, depth = tree_cells(premise.batch)
    tokens = premise.batch.ndata["token"].cpu().numpy()[leaves]
    leaf_words = [None if token < 0 else words[0][token] for token in tokens.tolist()]
    attention = weights.cpu().double().numpy()[queries]
    return AttentionMap(leaf_words, premise_spans, depth, phrases, pads, attention)


def pad_attention(
    run: LoadedRun, files: Sequence[PathLike], *, max_nodes: int = 2_000
) -> dict[str, Any]:
    """The share of the attention on nodes without a word below them, section 5.3.

    Arguments:
        run: a run whose model has attention.
        files: files of pairs.
        max_nodes: the largest number of words in a batch.

    Returns:
        the ``mean`` and the maximum (``most``) over ``queries`` nodes of hypotheses; and ``share``,
        that of pads among all nodes, which ``mean`` would be if all weights were equal.

    Raises:
        ConfigError: the model has no attention.
        TreeError: a file is not what the task reads.
    """
    data, masses, shares = examples_with_all_words(run, files), [], []
    for _, batch in batches(run, data.forest, arity=data.arity, max_nodes=max_nodes):
        premise, hypothesis, weights = _attention(run, batch)
        queries = _queries(hypothesis, weights).to(weights.device)
        tree = hypothesis.batch.tree_of_node.to(weights.device)[queries]
        table = premise.table
        pads = (table.pad & table.mask).float()
        masses.append((weights[queries] * pads[tree]).sum(1).cpu())
        shares.append((pads.sum(1) / table.mask.sum(1))[tree].cpu())
    mass = torch.cat(masses)
    return {
        "mean": float(mass.mean()),
        "most": float(mass.max()),
        "share": float(torch.cat(shares).mean()),
        "queries": len(mass),
    }


@torch.no_grad()
def _attention(run: LoadedRun, batch: TreeBatch) -> tuple[NTIEncoding, NTIEncoding, Tensor]:
    """The encodings of premises and hypotheses, and the attention of the latter, ``(N, M)``."""
    model: Any = run.model
    expected = "a model whose sentences attend to each other (model.interaction)"
    pair = require(run, model.encoder(batch.to(run.fabric.device)), EncodingPair, expected)
    if isinstance(model.head, TreeMatching):
        weights = model.head.attend(pair.second, pair.first).weights[pair.second.table.mask]
    else:
        weights = require(run, pair.second.attention, Tensor, expected)
    return pair.first, pair.second, weights


def _queries(hypothesis: NTIEncoding, weights: Tensor) -> Tensor:
    """Which nodes attend and have a word below them, ``(N,)`` bool."""
    return ((weights.sum(1) > 0) & ~hypothesis.pad).cpu()

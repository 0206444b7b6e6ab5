"""What the nodes of a hypothesis attend to in its premise: Figure 2 of the paper on NTI.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), sections 5.1 and 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.analyses.sentence_runs import SentenceRun
from dgltrees.draw import AttentionDrawing, draw_attention, tree_cells
from dgltrees.errors import ConfigError, TreeError
from dgltrees.models import Encoding
from dgltrees.trees import BatchSampler, TreeBatch

__all__ = ["AttentionMap", "attention_map", "pad_attention"]


@dataclass(frozen=True)
class AttentionMap:
    """Attention between the trees over two sentences.

    Arguments:
        words: ``(L,)`` the premise's words at the leaves of its tree; None is a pad.
        spans: ``(M, 2)`` the first and the last leaf below each node of that tree.
        depth: ``(M,)`` edges between each node and the root.
        phrases: ``(Q,)`` the words below each node of the hypothesis' tree that attends.
        pads: ``(Q,)`` how many pads stand below it besides.
        weights: ``(Q, M)``.
    """

    words: list[Optional[str]]
    spans: NDArray[np.int64]
    depth: NDArray[np.int64]
    phrases: list[str]
    pads: list[int]
    weights: NDArray[np.float64]

    def draw(self, phrases: Optional[Sequence[str]] = None) -> AttentionDrawing:
        """Heat maps of all phrases, or of some, by their words.

        Of nodes with the same words below them, which pads make different, the lowest is drawn if
        the phrase is asked for; titles tell the pads.

        Raises:
            ConfigError: the hypothesis has no such phrase.
        """
        chosen = self.phrases if phrases is None else [" ".join(p.split()) for p in phrases]
        for phrase in chosen:
            if phrase not in self.phrases:
                raise ConfigError(
                    f"expected a phrase that a node of the hypothesis covers, got {phrase!r}; "
                    f"there are: {'; '.join(self.phrases)}"
                )
        rows = (
            range(len(self.phrases))
            if phrases is None
            else [self.phrases.index(phrase) for phrase in chosen]
        )
        titles = [_title(self.phrases[row], self.pads[row]) for row in rows]
        return draw_attention(
            self.words, self.spans, self.depth, self.weights[list(rows)], titles=titles
        )


def _title(phrase: str, pads: int) -> str:
    return f"{phrase} (and {pads} pad{'s' * (pads > 1)})" if pads else phrase


def attention_map(run: SentenceRun, files: Sequence[PathLike], example: int = 0) -> AttentionMap:
    """The attention of one pair of a file, from hypothesis to premise.

    Arguments:
        run: a run whose model attends.
        files: the pairs.
        example: which, from 0.

    Raises:
        ConfigError: the model does not attend.
        TreeError: a file is not what the task reads, there is no such example, or sub-trees
            overlap.
    """
    data = run.read(files)
    if not 0 <= example < len(data):
        raise TreeError(f"expected an example from 0 to {len(data) - 1}, got {example}")
    pair = data.forest.select([2 * example, 2 * example + 1])
    names = pair.vocabs["word"].names
    words = [[names[i] for i in pair.tree(side).columns["word"]] for side in range(2)]
    premise, hypothesis, weights = _attention(run, run.known(pair).batch())
    asks = _asks(hypothesis, weights).numpy()
    spans = hypothesis.batch.ndata["span"].cpu().numpy()[asks]
    phrases = [" ".join(words[1][first : last + 1]) for first, last in spans.tolist()]
    below = tree_cells(hypothesis.batch)[1][asks]
    pads = (np.diff(below) - np.diff(spans))[:, 0].tolist()
    leaves, covered, depth = tree_cells(premise.batch)
    tokens = premise.batch.ndata["token"].cpu().numpy()[leaves]
    shown = [None if token < 0 else words[0][token] for token in tokens.tolist()]
    given = weights.cpu().double().numpy()[asks]
    return AttentionMap(shown, covered, depth, phrases, pads, given)


def pad_attention(
    run: SentenceRun, files: Sequence[PathLike], *, max_nodes: int = 2_000
) -> dict[str, Any]:
    """The part of the attention that falls on nodes without a word below them, section 5.3.

    Returns:
        ``mean`` and ``most``, over ``queries`` nodes of hypotheses; and ``share``, the part of
        pads among the nodes attended to, which is what ``mean`` were if all weights were equal.

    Raises:
        ConfigError: the model does not attend.
        TreeError: a file is not what the task reads.
    """
    data = run.read(files)
    coded = run.known(data.forest)
    sampler = BatchSampler(data.sizes, max_nodes=max_nodes, shuffle=False)
    mass, share = [], []
    for ids in sampler:
        trees = (ids[:, None] * 2 + np.arange(2)).ravel()
        batch = coded.batch(trees).to(run.fabric.device)
        premise, hypothesis, weights = _attention(run, batch)
        asks = _asks(hypothesis, weights).to(weights.device)
        tree = hypothesis.batch.tree_of_node.to(weights.device)[asks]
        table = premise.table
        pads = (table.pad & table.mask).float()
        mass.append((weights[asks] * pads[tree]).sum(1).cpu())
        share.append((pads.sum(1) / table.mask.sum(1))[tree].cpu())
    every = torch.cat(mass)
    return {
        "mean": float(every.mean()),
        "most": float(every.max()),
        "share": float(torch.cat(share).mean()),
        "queries": len(every),
    }


@torch.no_grad()
def _attention(run: SentenceRun, batch: TreeBatch) -> tuple[Encoding, Encoding, Tensor]:
    """The trees over premises and hypotheses, and ``(N, M)`` who of these looks where in those."""
    model: Any = run.model
    pair = model.encoder(batch.to(run.fabric.device))
    if hasattr(model.head, "attend"):
        weights = model.head.attend(pair.second, pair.first).weights
        return pair.first, pair.second, weights[pair.second.table.mask]
    weights = getattr(getattr(pair, "second", None), "attention", None)
    if weights is not None:
        return pair.first, pair.second, weights
    raise ConfigError(
        f"expected a model whose sentences attend to each other (model.interaction) at {run.path}, "
        f"got {run.task.kind(run.settings.model)}"
    )


def _asks(hypothesis: Encoding, weights: Tensor) -> Tensor:
    """Which nodes attend, and have a word below them."""
    return ((weights.sum(1) > 0) & ~hypothesis.pad).cpu()

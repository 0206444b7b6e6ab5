"""Sampling of dependency trees from a language model, many at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dgltrees.cells.top_down import INITIAL
from dgltrees.errors import ConfigError
from dgltrees.papers.top_down.graphs import edge_decisions
from dgltrees.papers.top_down.models.add_decisions import AddDecisions, JointTreeLM, decision_nll
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from dgltrees.settings import Count, NonNegative, PositiveShare
from dgltrees.trees.forest import Forest
from dgltrees.trees.kinds import EDGE_TYPES, EdgeType
from dgltrees.trees.segments import mask_of, offsets_of, within
from dgltrees.trees.vocabulary import Vocabulary


@dataclass(frozen=True)
class Sampling:
    """The parameters of drawing words from a distribution.

    Arguments:
        temperature: divisor of the scores; at 0 the most probable word is chosen.
        top_k: draw from the K most probable words; by default from all.
        top_p: draw from the fewest words whose probabilities sum to at least this.
    """

    temperature: NonNegative = 1.0
    top_k: Count | None = None
    top_p: PositiveShare = 1.0

    def draw(self, y: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Sample one word per row, ``(A,)``."""
        if self.temperature == 0.0:
            return y.argmax(1)
        p = torch.softmax(self._truncated(y / self.temperature), 1)
        return torch.multinomial(p, 1, generator=generator)[:, 0]

    def _truncated(self, y: Tensor) -> Tensor:
        """Return the scores, with -inf for words that ``top_k`` and ``top_p`` exclude."""
        if self.top_k is not None and self.top_k < y.shape[1]:
            least = y.topk(self.top_k, 1).values[:, -1:]
            y = y.masked_fill(y < least, -math.inf)
        if self.top_p < 1.0:
            ranked, words = y.sort(1, descending=True)
            p = torch.softmax(ranked, 1)
            excluded = p.cumsum(1) - p >= self.top_p  # likelier words have enough already
            y = ranked.masked_fill(excluded, -math.inf).gather(1, words.argsort(1))
        return y


@dataclass(frozen=True)
class SampledTrees:
    """Trees sampled from a model, with their log-probabilities under it.

    Symbols and words that no tree can have at a place are never drawn, and the model may give them
    a small probability. So the trees are a little more frequent than their log-probabilities say.

    Attributes:
        forest: a generation forest; the nodes are in the order of generation.
        log_prob: ``(T,)``, log P(S | T), of the words only.
        edge_log_prob: ``(T,)``, the log-probability of all decisions about edges, or of all START
            and STOP symbols.
        truncated: ``(T,)`` bool, the trees that lack an edge because they reached ``max_words``.
    """

    forest: Forest
    log_prob: Tensor
    edge_log_prob: Tensor
    truncated: Tensor


@torch.no_grad()
def sample_trees(
    model: JointTreeLM | TreeLM,
    vocabs: Mapping[str, Vocabulary],
    count: Count,
    *,
    root: int,
    max_words: Count = 100,
    sampling: Sampling | None = None,
    sample_decisions: bool = False,
    excluded: Sequence[int] = (),
    single_root: bool = True,
    generator: torch.Generator | None = None,
) -> SampledTrees:
    """Sample dependency trees top-down.

    Zhang, Lu and Lapata (2016), section 3.4: a classifier decides on every edge, and if it is
    added, the LSTM of its type predicts the new word. A model with ``stops`` needs no classifier:
    if it samples START or STOP, there is no edge. The order is that of training,
    ``generation_order``. Every step adds one word or symbol to
    each tree. ROOT has only right dependents.
    """
    if count < 1 or max_words < 1:
        raise ConfigError(
            f"expected at least 1 tree and max_words of at least 1, got {count} and {max_words}"
        )
    words, decisions = model.words, model.decisions
    if decisions is None and words.start is None:
        raise ConfigError(
            "expected a model with an edge classifier or with stops=True, got neither"
        )
    trees = _Trees(words, decisions, count, max_words, root, generator)
    trees.sample_decisions, trees.single_root = sample_decisions, single_root
    excluded_ids = torch.tensor([root, *excluded], device=trees.word.device)
    sampling = sampling or Sampling()
    active = torch.arange(count, device=trees.word.device)
    while True:
        active, source, etype = trees.next_edges(active)
        if not len(active):
            return trees.finish(vocabs)
        trees.add_words(active, source, etype, sampling, excluded_ids)


class _Trees:
    """Tables of T unfinished trees of at most M nodes, ``(T, M)`` in the order of generation.

    An edge is *open* between the decision to add it and the word at its end.
    """

    def __init__(
        self,
        model: TreeLM,
        decisions: AddDecisions | None,
        trees: int,
        max_words: int,
        root: int,
        generator: torch.Generator | None,
    ) -> None:
        self.model, self.decisions, self.generator = model, decisions, generator
        self.max_words, self.sample_decisions, self.single_root = max_words, False, True
        weight = model.output
        shape, layers, d = (trees, max_words + 1), model.cell.layers, weight.shape[1]

        def table(*more: int, value: float = 0, dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.full((*shape, *more), value, dtype=dtype, device=weight.device)

        self.h, self.c = (table(layers, d, value=INITIAL, dtype=weight.dtype) for _ in range(2))
        self.word, self.label = table(value=root), table(value=-1)
        self.source, self.etype, self.head = table(value=-1), table(), table(value=-1)
        self.first_left, self.lefts = table(), table()  # nearest left dependent; number of them
        self.logits = table(len(EdgeType), dtype=weight.dtype)
        self.open = table(len(EdgeType), dtype=torch.bool)
        self.open[:, 0, EdgeType.RIGHT] = True
        self.size = torch.ones(trees, dtype=torch.int64, device=weight.device)
        self.log_prob, self.edge_log_prob = (weight.new_zeros(trees) for _ in range(2))
        self.truncated = torch.zeros(trees, dtype=torch.bool, device=weight.device)

    def next_edges(self, active: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the unfinished trees, and source and type of their next edges, ``(A,)``.

        An edge to a next sibling comes immediately, so only the last node can have an open one.
        Otherwise it is the first open edge, by nodes in order, and LEFT before RIGHT.
        """
        open_edges = self.open[active, : int(self.size[active].max())]  # (A, n, 4)
        unfinished = open_edges.flatten(1).any(1)
        if self.decisions is not None:
            unfinished &= self.size[active] <= self.max_words  # else symbols close open edges
        active, open_edges = active[unfinished], open_edges[unfinished]
        last, rows = self.size[active] - 1, torch.arange(len(active), device=active.device)
        to_sibling = open_edges[rows, last, EdgeType.NX_LEFT :].int()  # (A, 2)
        to_child = open_edges[:, :, : EdgeType.NX_LEFT].flatten(1).int()  # (A, 2 n)
        first, has_sibling = to_child.argmax(1), to_sibling.any(1)
        source = torch.where(has_sibling, last, first // 2)
        etype = torch.where(has_sibling, EdgeType.NX_LEFT + to_sibling.argmax(1), first % 2)
        return active, source, etype

    def add_words(
        self, active: Tensor, source: Tensor, etype: Tensor, sampling: Sampling, excluded: Tensor
    ) -> None:
        """Add a node at the end of each of these edges, or close the edge by a symbol."""
        model = self.model
        ndata = {"x": model.embed.look_up(self.word[active, source]), "etype": etype}
        if model.left is not None:
            ndata["left"] = self._left(active, source, etype)
        h, c = model.cell.advance(ndata, self.h[active, source], self.c[active, source])
        y = h[:, -1] @ model.output.t()  # (A, V)
        word = self._draw(y.index_fill(1, excluded, -math.inf), active, source, etype, sampling)
        self.open[active, source, etype] = False
        log_p = -F.cross_entropy(y, word, reduction="none")
        is_word = word < len(y[0]) if model.start is None else word < model.start
        self.log_prob[active] += log_p.masked_fill(~is_word, 0.0)
        self.edge_log_prob[active] += log_p.masked_fill(is_word, 0.0)
        active, source, etype, h, c, word = (
            each[is_word] for each in (active, source, etype, h, c, word)
        )
        n = self.size[active]
        self.h[active, n], self.c[active, n], self.word[active, n] = h, c, word
        scores = model.label_scores(h[:, -1], word)
        if scores is not None:
            self.label[active, n] = sampling.draw(scores, self.generator)
        self.size[active] = n + 1
        self._attach(active, source, etype, n)
        self._open_edges(active, source, etype, n)

    def _draw(
        self, y: Tensor, active: Tensor, source: Tensor, etype: Tensor, sampling: Sampling
    ) -> Tensor:
        """Sample a word for each edge, or the symbol of its side, ``(A,)``."""
        start = self.model.start
        if start is None:
            return sampling.draw(y, self.generator)
        right = etype % 2
        y = y.scatter(1, (start + 1 - right)[:, None], -math.inf)
        y[:, start:].masked_fill_((source == 0)[:, None], -math.inf)  # ROOT has a dependent
        second = (etype == EdgeType.NX_RIGHT) & (self.head[active, source] == 0) & self.single_root
        word = sampling.draw(y, self.generator)
        too_long = (self.size[active] > self.max_words) & (word < start) & ~second
        self.truncated[active] |= too_long
        return torch.where(second | too_long, start + right, word)

    def _attach(self, active: Tensor, source: Tensor, etype: Tensor, n: Tensor) -> None:
        """Attach the new nodes n to their sources and heads."""
        self.source[active, n], self.etype[active, n] = source, etype
        head = torch.where(etype < EdgeType.NX_LEFT, source, self.head[active, source])
        self.head[active, n] = head
        nearest = etype == EdgeType.LEFT
        self.first_left[active[nearest], head[nearest]] = n[nearest]
        self.lefts[active, head] += (etype % 2 == EdgeType.LEFT).long()

    def _left(self, active: Tensor, source: Tensor, etype: Tensor) -> Tensor:
        """Return the state q after the left dependents of each source, ``(A, d)``.

        They were added consecutively, so the k-th nearest is k - 1 columns after the nearest; START
        comes before them all. Only RIGHT edges read q; it is q_0 for all others.
        """
        model = self.model
        assert model.left is not None
        count = self.lefts[active, source] * (etype == EdgeType.RIGHT)
        first = self.first_left[active, source]
        h = self.h.new_full((len(active), model.left.layers, model.left.hidden_size), INITIAL)
        c = h.clone()
        steps = [
            (rows, self.word[active[rows], first[rows] + k - 1])
            for k in range(int(count.max()), 0, -1)
            for rows in torch.nonzero(count >= k).T
        ]
        if model.start is not None:
            rows = torch.nonzero((etype == EdgeType.RIGHT) & (source > 0))[:, 0]
            steps.insert(0, (rows, torch.full_like(rows, model.start)))
        for rows, word in steps:
            ndata = {"x": model.embed.look_up(word)}
            h[rows], c[rows] = model.left.advance(ndata, h[rows], c[rows])
        return h[:, -1]

    def _open_edges(self, active: Tensor, source: Tensor, etype: Tensor, n: Tensor) -> None:
        """Open the edges of the new nodes n: those that the classifiers add, or all allowed ones.

        Without classifiers, sampled symbols close edges again.
        """
        opened = torch.ones(len(n), len(EdgeType), dtype=torch.bool, device=n.device)
        opened[:, EdgeType.NX_LEFT] = etype % 2 == EdgeType.LEFT
        opened[:, EdgeType.NX_RIGHT] = etype % 2 == EdgeType.RIGHT
        if self.decisions is not None:
            at = n if self.decisions.state == "own" else source
            h, word = self.h[active, at, -1], self.word[active, n]
            features = torch.cat([h, F.embedding(word, self.decisions.vectors(self.model))], 1)
            logits = self.decisions(features)  # (A, 4)
            p = torch.sigmoid(logits)
            bound = torch.full_like(p, 0.5)
            if self.sample_decisions:
                bound.uniform_(generator=self.generator)
            if self.single_root:
                opened[:, EdgeType.NX_RIGHT] &= source > 0
            opened &= p > bound
            self.logits[active, n] = logits
        self.open[active, n] = opened

    def finish(self, vocabs: Mapping[str, Vocabulary]) -> SampledTrees:
        """Return the sampled trees."""
        mask = mask_of(self.size, self.word.shape[1])
        columns = {"word": self.word, "etype": self.etype}
        if self.model.labels is not None:
            columns["deprel"] = self.label
        arrays = {name: table[mask].cpu().numpy() for name, table in columns.items()}
        sizes = self.size.cpu().numpy()
        arrays["t"] = within(sizes)
        forest = Forest.build(
            self.source[mask].cpu().numpy(),
            pos=arrays["etype"],
            offsets=offsets_of(sizes),
            columns={name: array.astype(np.int32) for name, array in arrays.items()},
            vocabs={
                **{name: vocabs[name] for name in arrays if name in vocabs},
                "etype": EDGE_TYPES,
            },
        )
        if self.decisions is None:
            return SampledTrees(forest, self.log_prob, self.edge_log_prob, self.truncated)
        logits = self.logits[mask]  # (N, 4)
        added = torch.from_numpy(edge_decisions(forest.pos, forest.global_parent)).t()
        nll = decision_nll(logits, added.to(logits.device)).sum(1)
        tree = torch.nonzero(mask)[:, 0]
        edge_log_prob = -torch.zeros_like(self.log_prob).index_add_(0, tree, nll)
        truncated = self.open.flatten(1).any(1)
        return SampledTrees(forest, self.log_prob, edge_log_prob, truncated)

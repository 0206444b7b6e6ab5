"""Sentence compression: the most probable part of a dependency tree under a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.papers.top_down.analyses.edge_classifier import load_joint
from dgltrees.papers.top_down.analyses.sample import GeneratedTrees, one_by_one, read_trees
from dgltrees.papers.top_down.analyses.scoring import Score, log_probs, tree_language_model
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import Forest
from dgltrees.trees.check import check_roots
from dgltrees.trees.order import over_subtrees
from dgltrees.trees.segments import offsets_of


class Compression(NamedTuple):
    """The result of :func:`compress`.

    Attributes:
        forest: a forest with one tree, the compressed sentence.
        score: its score.
        exact: whether no other part of this length has a higher score; False if unknown.
    """

    forest: Forest
    score: float
    exact: bool


def compress(forest: Forest, max_words: int, score: Score, *, beam: int = 8) -> Compression:
    """Shorten a sentence to the connected part of its tree with the highest score.

    Zhang, Lu and Lapata (2016) name sentence compression as a use of their model (section 4). As in
    Filippova et al. (2015), words are only deleted. The remaining part of the tree is connected,
    has the dependents of ROOT, and has exactly ``max_words`` words, because among parts of
    different lengths a language model would prefer the shortest. A shorter sentence is not changed.

    The probability of a word depends on its remaining siblings, so the best part of a tree does not
    consist of the best parts of its subtrees, and there may be exponentially many parts. The search
    is therefore a beam search over deletions of whole subtrees. For each length, from the longest
    down, it expands the ``beam`` parts with the highest scores, and scores every part that results
    from one more deletion. The result is exact if no beam was full.

    Arguments:
        forest: one dependency tree, with ROOT as node 0.
        max_words: number of words to keep.
        score: function that scores dependency trees, such as log-probabilities of a language model.
        beam: number of parts of each length that are expanded.

    Returns:
        The compressed sentence, its score, and whether the search was exact.

    Raises:
        ConfigError: there is not exactly one tree, no word remains, or there is no beam.
        TreeError: node 0 is not the root.
    """
    if len(forest) != 1 or max_words < 1 or beam < 1:
        raise ConfigError(
            "expected one tree, max_words of at least 1 and a beam of at least 1, got "
            f"{len(forest)} trees, max_words={max_words} and beam={beam}"
        )
    check_roots(forest)
    words, own = forest.num_nodes - 1, np.eye(forest.num_nodes, dtype=np.bool_)
    below = over_subtrees(np.logical_or, own, forest.global_parent)  # (n, n) by node, its subtree
    least = max(min(words, max_words), int((forest.parent == 0).sum()))
    waiting: dict[int, list[NDArray[np.bool_]]] = {words: [np.ones((1, words + 1), np.bool_)]}
    exact = True
    for length in range(words, least, -1):
        if length in waiting:
            parts = np.unique(np.concatenate(waiting.pop(length)), axis=0)
            exact &= len(parts) <= beam
            if len(parts) > beam:
                parts = parts[np.argsort(-score(_parts(forest, parts)), kind="stable")[:beam]]
            for left, shorter in _deletions(forest, parts, below, least):
                waiting.setdefault(left, []).append(shorter)
    parts = np.unique(np.concatenate(waiting[least]), axis=0)
    scores = score(_parts(forest, parts))
    best = int(scores.argmax())
    return Compression(_parts(forest, parts[best : best + 1]), float(scores[best]), exact)


def _deletions(
    forest: Forest, parts: NDArray[np.bool_], below: NDArray[np.bool_], least: int
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield the parts ``(P, n)`` after one deletion by length, with at least ``least`` words.

    Arguments:
        parts: ``(B, n)`` bool, the nodes of each part.
        below: ``(n, n)`` bool, the nodes in the subtree of each node (row).
    """
    sizes = parts.astype(np.int64) @ below.T  # (B, n) nodes that go with each node
    left = parts.sum(1, keepdims=True) - 1 - sizes
    part, node = np.nonzero(parts & (forest.parent > 0) & (left >= least))
    lengths = left[part, node]
    for length in np.unique(lengths):
        chosen = lengths == length
        yield int(length), parts[part[chosen]] & ~below[node[chosen]]


def _parts(forest: Forest, parts: NDArray[np.bool_]) -> Forest:
    """Build a forest of the parts ``(P, n)`` of one tree."""
    number = np.cumsum(parts, 1) - 1  # (P, n)
    part, node = np.nonzero(parts)
    up = forest.parent[node]
    return Forest.build(
        np.where(up < 0, -1, number[part, up]),
        offsets=offsets_of(parts.sum(1)),
        columns={name: column[node] for name, column in forest.columns.items()},
        vocabs=forest.vocabs,
    )


def compress_sentences(
    run: TrainedModel,
    files: Sequence[PathLike],
    max_words: int,
    *,
    beam: int = 8,
    joint: bool = False,
) -> GeneratedTrees:
    """Compress all sentences of CoNLL-U files; see :func:`compress`.

    Arguments:
        run: a trained language model over trees.
        files: the sentences with their trees.
        max_words: largest number of words of a compressed sentence.
        beam: number of parts of each length that the search expands.
        joint: score by log P(S, T), with the decisions to add edges, instead of log P(S | T). A
            model that generates the shape (``model.stops``) always uses log P(S, T).

    Returns:
        The compressed sentences with all columns of the files. Their comments have the score
        (``log_prob`` or ``joint_log_prob``), the original number of ``words``, and whether the
        search was ``exact``.

    Raises:
        ConfigError: the model is not a TreeLM, a number is out of range, or the run has no edge
            classifier.
        TreeError: a file is not CoNLL-U.
    """
    words = tree_language_model(run)
    score = partial(log_probs, run, model=load_joint(run) if joint else words)
    name = "joint_log_prob" if joint or words.start is not None else "log_prob"

    def compressed(sentence: Forest) -> tuple[Forest, dict[str, object], str]:
        part, length = compress(sentence, max_words, score, beam=beam), sentence.num_nodes - 1
        exact = "yes" if part.exact else "no"
        title = f"{part.forest.num_nodes - 1} of {length} words"
        return part.forest, {name: part.score, "words": length, "exact": exact}, title

    return GeneratedTrees.of(map(compressed, one_by_one(read_trees(run, files), "compress")))

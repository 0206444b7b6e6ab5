"""K-best parses reranked by a language model over trees.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016), section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.analyses.scoring import TrainedLanguageModel
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats import KBest, read_conllu, write_conllu
from dgltrees.formats.conllu import conllu_sentences
from dgltrees.metrics.attachment import attachment, punctuation
from dgltrees.trees import Forest
from dgltrees.trees.segments import owner, within

__all__ = ["choose", "combined", "most", "read_gold", "scored", "table", "tune", "write_chosen"]

Scores = NDArray[np.float64]
Trees = NDArray[np.int64]


def most(kbest: KBest) -> int:
    """The length of the longest list."""
    return int(np.diff(kbest.offsets).max())


def scored(model: TrainedLanguageModel, kbest: KBest) -> Scores:
    """``(T,)`` log P of each analysis.

    Raises:
        ConfigError: the model reads no trees, so that all analyses are alike to it.
    """
    if not model.needs_trees:
        raise ConfigError(
            f"expected a language model over trees at {model.path}, got one over sequences, to "
            "which all trees of a sentence are alike"
        )
    return model.log_probs(kbest.forest)


def combined(kbest: KBest, log_probs: Scores, weight: float) -> Scores:
    """``(T,)`` log P plus ``weight`` times the parser's score.

    With a weight every analysis must have a score: ``read_kbest(..., scored=True)`` sees to it.
    """
    return log_probs if weight == 0.0 else log_probs + weight * kbest.score


def choose(scores: Scores, offsets: Trees, k: int) -> Trees:
    """``(G,)`` the best tree of the first ``k`` of each list; of equals the first.

    Arguments:
        scores: ``(T,)``.
        offsets: ``(G + 1,)`` list g is the trees ``offsets[g]:offsets[g + 1]``.
        k: at least 1.
    """
    sizes = np.diff(offsets)
    is_first = within(sizes) < k
    first_scores = np.where(is_first, scores, -np.inf)
    best = np.repeat(np.maximum.reduceat(first_scores, offsets[:-1]), sizes)
    hit = np.flatnonzero((first_scores == best) & is_first)
    return hit[np.unique(owner(sizes)[hit], return_index=True)[1]]


def read_gold(path: PathLike, kbest: KBest, *, single_root: bool = True) -> Forest:
    """The right trees of the sentences of k-best lists, with the ids of their vocabularies.

    Arguments:
        path: a CoNLL-U file.
        kbest: the lists.
        single_root: whether a tree with two words below ROOT is an error.

    Raises:
        TreeError: with file and line: there are more or fewer sentences, or one has other words.
    """
    lists, count = _spelled(kbest), 0
    for count, one in enumerate(conllu_sentences(path), start=1):
        if count > len(lists):
            wanted = f"no more than the {len(lists)} sentences of the k-best lists"
        elif list(one.words) != lists[count - 1]:
            wanted = f"sentence {count} of the k-best lists, {_start(lists[count - 1])}"
        else:
            continue
        raise TreeError(f"expected {wanted}, got {_start(one.words)}", file=path, line=one.line)
    if count < len(lists):
        raise TreeError(
            f"expected a tree for each of the {len(lists)} sentences of the k-best lists, "
            f"got {count}",
            file=path,
            line=one.lines[-1],
        )
    return read_conllu(path, vocabs=kbest.forest.vocabs, single_root=single_root).forest


def _spelled(kbest: KBest) -> list[list[str]]:
    """The words of each sentence, ROOT aside."""
    first = kbest.forest.select(kbest.offsets[:-1])
    ids = np.split(first.columns["word"], first.offsets[1:-1])
    return [first.vocabs["word"].decode(words[1:]) for words in ids]


def _start(words: Sequence[str]) -> str:
    return repr(" ".join(words)[:60])


def tune(kbest: KBest, scores: Scores, gold: Forest) -> tuple[int, list[dict[str, Any]]]:
    """The number K of trees to choose from, and what every K gives.

    K is that of the highest UAS, without punctuation where the gold trees tell what that is; of
    equals the largest. At K = 1 the parser's own tree is chosen. ``oracle`` is the same measure of
    the trees nearest to the gold ones.

    Arguments:
        kbest: the lists.
        scores: ``(T,)``.
        gold: see :func:`read_gold`.
    """
    hits, rows = _hits(kbest, gold), []
    for k in range(1, most(kbest) + 1):
        found = measure(kbest, choose(scores, kbest.offsets, k), gold)
        nearest = measure(kbest, choose(hits, kbest.offsets, k), gold)
        by = "uas_no_punct" if "uas_no_punct" in found else "uas"
        rows.append({"k": k, **found, "oracle": nearest[by]})
    best = max(range(len(rows)), key=lambda i: (rows[i][by], i))
    return best + 1, rows


def measure(kbest: KBest, trees: Trees, gold: Forest) -> dict[str, float]:
    """UAS and LAS of one tree of each list; see :func:`~dgltrees.metrics.attachment.attachment`."""
    chosen = kbest.forest.select(trees)
    return attachment(
        chosen.parent,
        chosen.columns["deprel"],
        gold.parent,
        gold.columns["deprel"],
        punctuation(gold.columns["upos"], gold.vocabs["upos"].names),
    )


def _hits(kbest: KBest, gold: Forest) -> Scores:
    """``(T,)`` the words of each analysis with the right head, punctuation aside."""
    punct = punctuation(gold.columns["upos"], gold.vocabs["upos"].names)
    punct *= (punct[gold.parent >= 0] >= 0).all()  # as attachment has it
    counted = Forest(gold.parent, gold.pos, gold.offsets, {"punct": punct})
    repeated = counted.select(owner(np.diff(kbest.offsets)))
    right = (repeated.parent == kbest.forest.parent) & (repeated.columns["punct"] != 1)
    return np.add.reduceat(right.astype(np.float64), kbest.forest.offsets[:-1])


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as text, in percent; K = 1 is the parser's own."""
    names = [name for name in rows[0] if name != "k"]
    lines = ["   K" + "".join(f"{name:>14}" for name in names)]
    for row in rows:
        lines.append(f"{row['k']:4}" + "".join(f"{100 * row[name]:14.2f}" for name in names))
    return "\n".join(lines)


def write_chosen(kbest: KBest, trees: Trees, scores: Scores, out: PathLike) -> None:
    """Write one tree of each list as CoNLL-U, its place in the list and its score above it."""
    comments: list[dict[str, object]] = []
    for name, first, tree in zip(kbest.ids, kbest.offsets.tolist(), trees.tolist()):
        about: dict[str, object] = {} if name is None else {"sent_id": name}
        comments.append({**about, "chosen": tree - first + 1, "score": f"{scores[tree]:.6f}"})
    write_conllu(kbest.forest.select(trees), out, comments=comments)

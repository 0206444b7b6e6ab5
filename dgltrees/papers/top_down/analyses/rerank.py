"""Reranking of k-best parses by a language model over trees.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016), section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats import read, write_conllu
from dgltrees.formats.conllu import conllu_sentences
from dgltrees.papers.top_down.analyses.scoring import log_probs, tree_language_model
from dgltrees.papers.top_down.data.kbest import KBest
from dgltrees.papers.top_down.tasks.parser import attachment
from dgltrees.papers.top_down.tasks.reading import punctuation
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import Forest
from dgltrees.trees.segments import owner, within

Scores = NDArray[np.float64]
Trees = NDArray[np.int64]


def longest_list(kbest: KBest) -> int:
    """Return the number of trees of the longest list."""
    return int(np.diff(kbest.offsets).max())


def tree_scores(run: TrainedModel, kbest: KBest, weight: float = 0.0) -> Scores:
    """Return each tree's log-probability plus ``weight`` times the parser's score, ``(T,)``."""
    tree_language_model(run)
    scores = log_probs(run, kbest.forest)
    return scores if weight == 0.0 else scores + weight * kbest.score


def choose(scores: Scores, offsets: Trees, k: int) -> Trees:
    """Return the best of the first ``k`` trees of each list, ``(G,)``; of equal ones the first."""
    sizes = np.diff(offsets)
    is_first = within(sizes) < k
    first_scores = np.where(is_first, scores, -np.inf)
    best = np.repeat(np.maximum.reduceat(first_scores, offsets[:-1]), sizes)
    hit = np.flatnonzero((first_scores == best) & is_first)
    return hit[np.unique(owner(sizes)[hit], return_index=True)[1]]


def read_gold(path: PathLike, kbest: KBest, *, single_root: bool = True) -> Forest:
    """Read the gold trees of the sentences of k-best lists, with the lists' vocabularies."""
    lists, count = _words_of_lists(kbest), 0
    lines: list[int] = []
    for count, sentence in enumerate(conllu_sentences(path), start=1):
        if count > len(lists):
            expected = f"no more than the {len(lists)} sentences of the k-best lists"
        elif list(sentence.words) != lists[count - 1]:
            expected = f"sentence {count} of the k-best lists, {_start(lists[count - 1])}"
            if list(sentence.words) in lists:
                expected += ", in the order of the lists"
        else:
            lines += sentence.lines
            continue
        raise TreeError(
            f"expected {expected}, got {_start(sentence.words)}", file=path, line=sentence.line
        )
    if count < len(lists):
        raise TreeError(
            f"expected a tree for each of the {len(lists)} sentences of the k-best lists, "
            f"got {count}",
            file=path,
            line=sentence.lines[-1],
        )
    gold = read(path, "conllu", vocabs=kbest.forest.vocabs, single_root=single_root).forest
    punct = punctuation(gold)[gold.parent >= 0]
    if punct.min() < 0 or punct.all():
        raise TreeError(
            "UAS without punctuation needs words that are not punctuation, and a tag (UPOS or "
            "XPOS) where a word is missing, got "
            + ("'_' without a tag" if punct.min() < 0 else "only punctuation"),
            file=path,
            line=lines[int(punct.argmin())],
        )
    return gold


def _words_of_lists(kbest: KBest) -> list[list[str]]:
    """Return the words of each sentence, without ROOT."""
    first = kbest.forest.select(kbest.offsets[:-1])
    ids = np.split(first.columns["word"], first.offsets[1:-1])
    return [first.vocabs["word"].decode(words[1:]) for words in ids]


def _start(words: Sequence[str]) -> str:
    return repr(" ".join(words)[:60])


def tune(kbest: KBest, scores: Scores, gold: Forest) -> tuple[int, list[dict[str, Any]]]:
    """Find the number K of trees to choose from, and compute the metrics for every K.

    K is the number with the highest UAS without punctuation; of equal ones the largest. At K = 1
    the parser's best tree is chosen. ``oracle`` is the same metric for the best trees among the
    first K.
    """
    hits, rows = _hits(kbest, gold), []
    for k in range(1, longest_list(kbest) + 1):
        metrics = measure(kbest, choose(scores, kbest.offsets, k), gold)
        nearest = measure(kbest, choose(hits, kbest.offsets, k), gold)
        rows.append({"k": k, **metrics, "oracle": nearest["uas_no_punct"]})
    best = max(range(len(rows)), key=lambda i: (rows[i]["uas_no_punct"], i))
    return best + 1, rows


def measure(kbest: KBest, trees: Trees, gold: Forest) -> dict[str, float]:
    """Return UAS and LAS of one tree per list; see ``attachment``."""
    chosen = kbest.forest.select(trees)
    return attachment(
        chosen.parent,
        chosen.columns["deprel"],
        gold.parent,
        gold.columns["deprel"],
        punctuation(gold),
    )


def _hits(kbest: KBest, gold: Forest) -> Scores:
    """Return the number of words of each tree with the gold head, without punctuation, ``(T,)``."""
    counted = Forest(gold.parent, gold.pos, gold.offsets, {"punct": punctuation(gold)})
    repeated = counted.select(owner(np.diff(kbest.offsets)))
    hits = (repeated.parent == kbest.forest.parent) & (repeated.columns["punct"] != 1)
    return np.add.reduceat(hits.astype(np.float64), kbest.forest.offsets[:-1])


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows of :func:`tune` as text, in per cent; K = 1 is the parser's best tree."""
    names = [name for name in rows[0] if name != "k"]
    lines = ["   K" + "".join(f"{name:>14}" for name in names)]
    for row in rows:
        lines.append(f"{row['k']:4}" + "".join(f"{100 * row[name]:14.2f}" for name in names))
    return "\n".join(lines)


def write_chosen(kbest: KBest, trees: Trees, scores: Scores, out: PathLike) -> None:
    """Write one tree per list as CoNLL-U, with its rank in the list and its score as comments."""
    comments: list[dict[str, object]] = []
    for name, first, tree in zip(kbest.ids, kbest.offsets.tolist(), trees.tolist()):
        identity: dict[str, object] = {} if name is None else {"sent_id": name}
        comments.append({**identity, "chosen": tree - first + 1, "score": f"{scores[tree]:.6f}"})
    write_conllu(kbest.forest.select(trees), out, comments=comments)

"""Which phrases or sentences a model takes for alike: Tables 4 and 5 of the paper on NTI.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.analyses.sentence_runs import SentenceRun
from dgltrees.errors import ConfigError
from dgltrees.models import Encoding
from dgltrees.trees import Forest
from dgltrees.trees.segments import inverse

__all__ = ["nearest"]

KINDS = ("phrases", "sentences")


def nearest(
    run: SentenceRun,
    files: Sequence[PathLike],
    queries: Sequence[str],
    *,
    number: int = 5,
    of: str = "phrases",
) -> list[dict[str, Any]]:
    """The nearest phrases or sentences of files to each query, by the cosine of their states.

    A phrase is what stands below a node of a tree over a sentence; a query is the root of a tree
    of its own. Equal texts count once, and a query is not its own neighbour.

    Arguments:
        run: a run with a model that makes trees.
        files: the sentences.
        queries: texts with spaces between words.
        number: how many neighbours to find.
        of: ``"phrases"``, all nodes with a word below them, or ``"sentences"``, the roots.

    Returns:
        of each query ``query`` and ``nearest``, a list of ``text`` and ``cosine``.

    Raises:
        ConfigError: no query, no neighbour is asked for, or neighbours of another kind; or the
            model makes no trees.
        TreeError: a file is not what the task reads, a query has no word.
    """
    if not queries or number < 1 or of not in KINDS:
        raise ConfigError(
            f"expected queries, a number of at least 1 and one of {' or '.join(KINDS)}, got "
            f"{len(queries)} queries, {number} and {of}"
        )
    asked = _roots(run, run.sentences(queries))  # (Q, c)
    forest = run.read(files).forest
    best: list[dict[str, float]] = [{} for _ in queries]
    for ids, encoding in run.encodings(forest):
        nodes = torch.arange(encoding.batch.num_nodes)
        if of == "sentences":
            nodes = encoding.batch.roots.cpu()
        nodes = nodes[~encoding.pad.cpu()[nodes]]
        cosines = asked @ _unit(encoding.states[nodes.to(encoding.states.device)]).T  # (Q, n)
        text = _Texts(forest, ids, encoding, nodes)
        for query, row, found in zip(queries, cosines.cpu(), best):
            _update(found, row, text, _words(run, query), number)
    return [
        {
            "query": query,
            "nearest": [{"text": t, "cosine": round(s, 6)} for t, s in found.items()],
        }
        for query, found in zip(queries, best)
    ]


def _words(run: SentenceRun, query: str) -> str:
    """A query as the texts of a file are spelled."""
    words = " ".join(query.split())
    return words.lower() if run.settings.data.lower else words


def _roots(run: SentenceRun, forest: Forest) -> Tensor:
    """``(T, c)`` the directions of the roots, in the order of the forest."""
    parts = [(ids, encoding.roots) for ids, encoding in run.encodings(forest)]
    order = inverse(np.concatenate([ids for ids, _ in parts]))
    return _unit(torch.cat([roots for _, roots in parts])[torch.from_numpy(order)])


def _unit(h: Tensor) -> Tensor:
    return torch.nn.functional.normalize(h.float(), dim=1)


class _Texts:
    """The words below some nodes of the trees over some sentences."""

    def __init__(self, forest: Forest, ids: Any, encoding: Encoding, nodes: Tensor) -> None:
        batch = encoding.batch
        self.span = batch.ndata["span"].cpu()[nodes].numpy()
        self.first = forest.offsets[ids][batch.tree_of_node.cpu()[nodes].numpy()]
        self.words, self.names = forest.columns["word"], forest.vocabs["word"].names

    def __getitem__(self, i: int) -> str:
        first, last = self.first[i] + self.span[i]
        return " ".join(self.names[word] for word in self.words[first : last + 1])


def _update(
    found: dict[str, float], cosines: Tensor, texts: _Texts, query: str, number: int
) -> None:
    """Let ``found`` hold the ``number`` nearest texts of what it holds and what is new."""
    new: dict[str, float] = {}
    for i in cosines.argsort(descending=True, stable=True).tolist():
        text = texts[i]
        if text != query:
            new.setdefault(text, float(cosines[i]))
        if len(new) == number:
            break
    for text, cosine in new.items():
        found[text] = max(cosine, found.get(text, -1.0))
    kept = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:number]
    found.clear()
    found.update(kept)

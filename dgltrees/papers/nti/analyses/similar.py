"""Phrases and sentences that a model finds similar: Tables 4 and 5 of the paper on NTI.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.models.encoding import Encoding
from dgltrees.papers.nti.analyses.sentences import (
    encodings,
    examples_with_all_words,
    sentence_settings,
    sentences_with_all_words,
)
from dgltrees.training.loaded import LoadedRun
from dgltrees.trees import Forest
from dgltrees.trees.segments import inverse

__all__ = ["similar"]

KINDS = ("phrases", "sentences")


def similar(
    run: LoadedRun,
    files: Sequence[PathLike],
    queries: Sequence[str],
    *,
    number: int = 5,
    of: str = "phrases",
) -> list[dict[str, Any]]:
    """The nearest phrases or sentences of files to each query, by the cosine of their states.

    A phrase is the text below a node of the tree over a sentence; a query is encoded as a sentence,
    by the root of its tree. Equal texts count once, and a query is not its own neighbour.

    Arguments:
        run: a run whose model builds trees over sentences.
        files: the sentences.
        queries: texts with spaces between words.
        number: the number of neighbours per query.
        of: ``"phrases"``, all nodes with a word below them, or ``"sentences"``, the roots.

    Returns: for each query a dictionary with ``query`` and ``nearest``, a list of ``text`` and
    ``cosine``.

    Raises:
        ConfigError: there is no query, ``number`` is not positive, ``of`` is unknown, or the model
            builds no trees.
        TreeError: a file is not what the task reads, or a query has no word.
    """
    if not queries or number < 1 or of not in KINDS:
        raise ConfigError(
            f"expected queries, a number of at least 1 and one of {' or '.join(KINDS)}, got "
            f"{len(queries)} queries, {number} and {of}"
        )
    lower = sentence_settings(run).lower
    spelled = [" ".join(query.split()) for query in queries]
    spelled = [query.lower() if lower else query for query in spelled]  # as files are read
    directions = _root_directions(run, sentences_with_all_words(run, queries))  # (Q, c)
    forest = examples_with_all_words(run, files).forest
    neighbors: list[dict[str, float]] = [{} for _ in queries]
    for ids, encoding in encodings(run, forest):
        nodes = torch.arange(encoding.batch.num_nodes)
        if of == "sentences":
            nodes = encoding.batch.roots.cpu()
        nodes = nodes[~encoding.batch.ndata["pad"].cpu()[nodes]]
        cosines = directions @ _unit(encoding.states[nodes.to(encoding.states.device)]).T  # (Q, n)
        texts = _Texts(forest, ids, encoding, nodes)
        for query, row, nearest in zip(spelled, cosines.cpu(), neighbors):
            _update(nearest, row, texts, query, number)
    return [
        {
            "query": query,
            "nearest": [{"text": t, "cosine": round(s, 6)} for t, s in nearest.items()],
        }
        for query, nearest in zip(queries, neighbors)
    ]


def _root_directions(run: LoadedRun, forest: Forest) -> Tensor:
    """The normalised states of the roots, ``(T, c)``, in the order of the forest."""
    parts = [(ids, encoding.roots) for ids, encoding in encodings(run, forest)]
    order = inverse(np.concatenate([ids for ids, _ in parts]))
    return _unit(torch.cat([roots for _, roots in parts])[torch.from_numpy(order)])


def _unit(h: Tensor) -> Tensor:
    return torch.nn.functional.normalize(h.float(), dim=1)


class _Texts:
    """The words below some nodes of the trees over some sentences."""

    def __init__(
        self, forest: Forest, ids: NDArray[np.int64], encoding: Encoding, nodes: Tensor
    ) -> None:
        batch = encoding.batch
        self.span = batch.ndata["span"].cpu()[nodes].numpy()
        self.first = forest.offsets[ids][batch.tree_of_node.cpu()[nodes].numpy()]
        self.words, self.names = forest.columns["word"], forest.vocabs["word"].names

    def __getitem__(self, i: int) -> str:
        first, last = self.first[i] + self.span[i]
        return " ".join(self.names[word] for word in self.words[first : last + 1])


def _update(
    nearest: dict[str, float], cosines: Tensor, texts: _Texts, query: str, number: int
) -> None:
    """Update ``nearest`` to the ``number`` nearest of its texts and the new ones."""
    new: dict[str, float] = {}
    for i in cosines.argsort(descending=True, stable=True).tolist():
        text = texts[i]
        if text != query:
            new.setdefault(text, float(cosines[i]))
        if len(new) == number:
            break
    for text, cosine in new.items():
        nearest[text] = max(cosine, nearest.get(text, -1.0))
    ordered = sorted(nearest.items(), key=lambda pair: (-pair[1], pair[0]))[:number]
    nearest.clear()
    nearest.update(ordered)

"""Sentences parsed by a parser that was trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, Optional, cast

import numpy as np
import torch
from numpy.typing import NDArray

from dgltrees._files import PathLike, replacing
from dgltrees.errors import ConfigError
from dgltrees.formats import (
    KBest,
    conllu_blocks,
    format_by_suffix,
    sentences_of_lines,
    sentences_of_text,
)
from dgltrees.formats.conllu import conllu_sentences
from dgltrees.formats.lengths import leave_out_long
from dgltrees.formats.lines import chunks
from dgltrees.formats.sentences import Sentence
from dgltrees.models.parser import BiaffineParser
from dgltrees.tasks.parser import PARSER, best_labels, sentences
from dgltrees.training.processes import make_fabric
from dgltrees.training.run import load_run
from dgltrees.training.rundir import RunDirectory
from dgltrees.trees import BatchSampler, Forest
from dgltrees.trees.builders.heads import from_heads
from dgltrees.trees.segments import offsets_of, owner, within

__all__ = ["FORMATS", "TrainedParser", "chains", "parse_files", "read_sentences"]

FORMATS = ("conllu", "lines", "text")
"""What is parsed: CoNLL-U, a sentence of words a line, running text."""


def read_sentences(
    path: PathLike,
    form: Optional[str] = None,
    *,
    encoding: str = "utf-8",
    after: Optional[str] = None,
) -> Iterator[Sentence]:
    """The sentences of a file, one by one.

    Arguments:
        path: the file.
        form: one of :data:`FORMATS`; if not given, ``conllu`` for ``.conllu`` and ``.conll``, else
            ``lines``.
        encoding, after: see :func:`~dgltrees.formats.sentences_of_text`; CoNLL-U is UTF-8.

    Raises:
        ConfigError: there is no such form.
        TreeError: the file is not of that form.
    """
    if form is None:
        form = "conllu" if format_by_suffix(path) == "conllu" else "lines"
    if form not in FORMATS:
        raise ConfigError(f"expected the format to be {' or '.join(FORMATS)}, got {form!r}")
    if form == "conllu":
        return conllu_sentences(path)
    if form == "lines":
        return sentences_of_lines(path, encoding=encoding)
    return sentences_of_text(path, encoding=encoding, after=after)


def chains(batch: Sequence[Sentence]) -> Forest:
    """The sentences as a forest without heads: each word below the one before.

    Columns: ``word``, ``upos`` and ``xpos``, -1 where a sentence has none.
    """
    sizes = np.array([len(one.words) for one in batch], np.int64)
    tags = {
        name: list(
            chain.from_iterable(one.columns.get(name) or [None] * len(one.words) for one in batch)
        )
        for name in ("upos", "xpos")
    }
    words = list(chain.from_iterable(one.words for one in batch))
    return from_heads(words, within(sizes), offsets=offsets_of(sizes), columns=tags)


class _Parse(NamedTuple):
    """The trees of one sentence, best first: ``(K, n + 1)``, ``(K, n + 1)`` and ``(K,)``."""

    heads: NDArray[np.int64]
    labels: NDArray[np.int64]
    scores: NDArray[np.float64]


class TrainedParser:
    """The parser of a run directory.

    Arguments:
        path: the run directory.
        projective: whether the trees are; if not given, as the run's settings say.

    Raises:
        ConfigError: there is no usable run, or one of another task.
    """

    def __init__(self, path: PathLike, *, projective: Optional[bool] = None) -> None:
        self.fabric = make_fabric(RunDirectory(path).one_device())
        run, settings, task, model = load_run(path, self.fabric)
        if task is not PARSER:
            raise ConfigError(f"expected a parser at {path}, got a run of the task {task.name}")
        self.model, self.vocabs = cast(BiaffineParser, model).eval(), run.vocabularies()
        self.lower = settings.data.lower
        self.projective = self.model.projective if projective is None else projective

    def parse(self, forest: Forest, k: int = 1, *, max_nodes: int = 2000) -> KBest:
        """The k trees of the highest log-probability of their heads, for each sentence.

        Each arc has its likeliest label. A sentence of few words may have fewer trees.

        Arguments:
            forest: sentences with a column ``word``, and ``upos`` with its vocabulary; their heads
                are not read.
            k: how many trees.
            max_nodes: nodes in a batch, at most; a longer sentence is a batch of its own.

        Returns:
            the trees, with the columns of ``forest``, ``deprel`` anew.

        Raises:
            ConfigError: ``k`` is not positive.
            TreeError: the parser reads parts of speech, and a word has none.
        """
        read = sentences(forest, self.vocabs, lower=self.lower)
        order = np.argsort(forest.sizes, kind="stable")
        found: list[_Parse] = [None] * len(forest)  # type: ignore[list-item]
        for ids in BatchSampler(forest.sizes[order], max_nodes=max_nodes, shuffle=False):
            chosen = order[ids]
            for at, parse in zip(chosen, self._batch(read, chosen, k)):
                found[at] = parse
        counts = np.array([len(parse.scores) for parse in found], dtype=np.int64)
        trees = forest.select(owner(counts))
        scores = np.concatenate([parse.scores for parse in found])
        return KBest(self._forest(trees, found), offsets_of(counts), scores, [None] * len(forest))

    @torch.no_grad()
    def _batch(self, read: Forest, ids: NDArray[np.int64], k: int) -> Iterator[_Parse]:
        with self.fabric.autocast():
            scores = self.model(read.batch(ids).to(self.fabric.device))
        heads, totals = scores.kbest(k, projective=self.projective)
        labels = best_labels(scores, heads.clamp(min=0))
        rows = zip(scores.sizes.tolist(), heads.cpu(), labels.cpu(), totals.cpu())
        for size, tree, label, total in rows:
            there = ~torch.isinf(total)
            yield _Parse(
                tree[there, : size + 1].numpy(),
                label[there, : size + 1].numpy(),
                total[there].double().numpy(),
            )

    def _forest(self, trees: Forest, found: Sequence[_Parse]) -> Forest:
        """The structure of ``trees`` replaced by what was found."""
        parent = np.concatenate([parse.heads.ravel() for parse in found])
        labels = np.concatenate([parse.labels.ravel() for parse in found])
        names = self.vocabs["deprel"]
        none = (parent < 0) | (labels == 0)  # label 0 is that of none
        return Forest.build(
            parent,
            offsets=trees.offsets,
            columns={**trees.columns, "deprel": np.where(none, -1, labels).astype(np.int32)},
            vocabs={**trees.vocabs, "deprel": names},
        )


def parse_files(
    parser: TrainedParser,
    stream: Iterator[Sentence],
    out: PathLike,
    *,
    k: int = 1,
    max_words: Optional[int] = None,
    chunk: int = 1000,
) -> dict[str, Any]:
    """Parse sentences and write their k-best lists as CoNLL-U, a chunk at a time.

    Above each tree stand its sentence's ``sent_id``, if it has one, ``analysis`` (1 for the best)
    and ``score``, as ``read_kbest`` reads them.

    Arguments:
        parser: the parser.
        stream: sentences; tags that they have are carried over.
        out: the file; it is replaced at the end, or stays as it was.
        k: trees a sentence.
        max_words: leave out longer sentences; a warning says how many.
        chunk: sentences to read at a time.

    Returns:
        how many ``sentences``, ``words`` and ``trees`` were written.
    """
    counts = {"sentences": 0, "words": 0, "trees": 0}
    short = leave_out_long(stream, lambda sentence: len(sentence.words), max_words)
    with replacing(out) as file:
        for batch in chunks(short, chunk):
            found = parser.parse(chains(batch), k)
            file.writelines(conllu_blocks(found.forest, comments=_comments(batch, found)))
            counts["sentences"] += len(batch)
            counts["words"] += sum(len(one.words) for one in batch)
            counts["trees"] += len(found.forest)
    return counts


def _comments(batch: Sequence[Sentence], found: KBest) -> list[dict[str, object]]:
    comments: list[dict[str, object]] = []
    for one, first, stop in zip(batch, found.offsets[:-1].tolist(), found.offsets[1:].tolist()):
        name = one.comments.get("sent_id")
        about: dict[str, object] = {} if name is None else {"sent_id": name}
        for tree in range(first, stop):
            score = f"{found.score[tree]:.6f}"
            comments.append({**about, "analysis": tree - first + 1, "score": score})
    return comments

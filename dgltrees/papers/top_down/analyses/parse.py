"""Parsing of sentences with a trained parser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from dgltrees._files import PathLike, replacing
from dgltrees._progress import progress
from dgltrees.analyses.require import require
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats import conllu_blocks, format_by_suffix, sentences_of_lines, sentences_of_text
from dgltrees.formats.conllu import conllu_sentences
from dgltrees.formats.lines import chunks
from dgltrees.formats.sentences import Sentence, leave_out_long
from dgltrees.models.streaming import batches_of_similar
from dgltrees.papers.top_down.data.kbest import KBest
from dgltrees.papers.top_down.graphs import sentence_forest
from dgltrees.papers.top_down.models.biaffine import ArcScores, BiaffineParser
from dgltrees.papers.top_down.tasks.parser import NONE, best_labels
from dgltrees.papers.top_down.tasks.reading import ParserSettings, sentences
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import Forest
from dgltrees.trees.segments import offsets_of, owner

SentenceFormat = Literal["conllu", "lines", "text"]
"""Formats of sentences: CoNLL-U, one tokenized sentence per line, running text."""


def read_sentences(
    path: PathLike,
    form: SentenceFormat | None = None,
    *,
    encoding: str = "utf-8",
    after: str | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a file."""
    if form is None:
        suffix = format_by_suffix(path)
        if suffix not in (None, "conllu", "text"):
            raise TreeError(
                f"expected sentences or CoNLL-U, got {suffix}; set --format if the suffix is wrong",
                file=path,
            )
        form = "conllu" if suffix == "conllu" else "lines"
    forms = get_args(SentenceFormat)
    if form not in forms:
        raise ConfigError(f"expected the format to be {' or '.join(forms)}, got {form!r}")
    if after is not None and form != "text":
        raise ConfigError(f"expected --format text with --after, got the format {form}")
    if form == "conllu":
        return conllu_sentences(path, heads=False)
    if form == "lines":
        return sentences_of_lines(path, encoding=encoding)
    return sentences_of_text(path, encoding=encoding, after=after)


@torch.no_grad()
def parse(run: TrainedModel, forest: Forest, k: int = 1, *, max_nodes: int = 2000) -> KBest:
    """Return the k projective trees with the highest log-probability of each sentence's heads.

    Each arc has its most probable label. A short sentence may have fewer than k trees.

    Arguments:
        run: a trained parser.
        forest: sentences with a column ``word``, and ``upos`` with its vocabulary; their heads are
            ignored.
        k: number of trees per sentence.
        max_nodes: largest number of nodes in a batch; a longer sentence is a batch by itself.

    Returns:
        The trees, with the columns of ``forest``, and ``deprel`` from the parser.

    Raises:
        ConfigError: the model is not a parser, or ``k`` is not positive.
        TreeError: the parser uses parts of speech, and a word has none.
    """
    model = require(run, run.model, BiaffineParser, "a parser")
    settings = require(run, run.settings.data, ParserSettings, "a parser")
    inputs = sentences(forest, run.vocabularies, lower=settings.lower)
    parses: dict[int, tuple[NDArray[Any], ...]] = {}
    batches = batches_of_similar(forest.sizes, max_nodes=max_nodes)
    for ids in progress(batches, "parse", unit="batch"):
        batch = inputs.batch(ids).to(run.fabric.device)
        with run.fabric.autocast():
            arcs = model(batch)
        parses.update(zip(ids.tolist(), _best_trees(arcs, k)))
    heads, labels, scores = zip(*(parses[sentence] for sentence in range(len(forest))))
    counts = np.array([len(each) for each in scores], dtype=np.int64)
    repeated = forest.select(owner(counts))
    parent, label = (
        np.concatenate([each.ravel() for each in column]) for column in (heads, labels)
    )
    none = (parent < 0) | (label == NONE)
    trees = Forest.build(
        parent,
        offsets=repeated.offsets,
        columns={**repeated.columns, "deprel": np.where(none, -1, label).astype(np.int32)},
        vocabs={**repeated.vocabs, "deprel": run.vocabularies["deprel"]},
    )
    return KBest(trees, offsets_of(counts), np.concatenate(scores), [None] * len(forest))


def _best_trees(scores: ArcScores, k: int) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the heads, labels and scores of the k best trees of each sentence of a batch."""
    heads, totals = scores.kbest(k)
    labels = best_labels(scores, heads.clamp(min=0))
    rows = zip(scores.sizes.tolist(), heads.cpu(), labels.cpu(), totals.cpu().double())
    for size, tree, label, total in rows:
        exists = ~torch.isinf(total)
        trees = (tree[exists, : size + 1], label[exists, : size + 1], total[exists])
        yield tuple(each.numpy() for each in trees)


def parse_files(
    run: TrainedModel,
    stream: Iterator[Sentence],
    out: PathLike,
    *,
    k: int = 1,
    max_words: int | None = None,
    chunk: int = 1000,
) -> dict[str, Any]:
    """Parse sentences and write their k-best lists as CoNLL-U, a chunk at a time.

    The comments of each tree have the ``sent_id`` of its sentence, if any, ``analysis`` (1 for the
    best) and ``score``, as read by ``read_kbest``.
    """
    require(run, run.model, BiaffineParser, "a parser")
    counts = {"sentences": 0, "words": 0, "trees": 0}
    short = leave_out_long(stream, lambda sentence: len(sentence.words), max_words)
    with replacing(out) as file:
        for batch in progress(chunks(short, chunk), "read", unit=f" times {chunk} sentences"):
            trees = parse(run, sentence_forest(batch), k)
            file.writelines(conllu_blocks(trees.forest, comments=_comments(batch, trees)))
            counts["sentences"] += len(batch)
            counts["words"] += sum(len(sentence.words) for sentence in batch)
            counts["trees"] += len(trees.forest)
    return counts


def _comments(batch: Sequence[Sentence], trees: KBest) -> list[dict[str, object]]:
    """Return the comments of each tree."""
    comments: list[dict[str, object]] = []
    bounds = trees.offsets.tolist()
    for sentence, first, stop in zip(batch, bounds, bounds[1:]):
        name = sentence.comments.get("sent_id")
        identity = {"line": sentence.line} if name is None else {"sent_id": name}
        for tree in range(first, stop):
            score = f"{trees.score[tree]:.6f}"
            comments.append({**identity, "analysis": tree - first + 1, "score": score})
    return comments

"""Pairs of a premise and a hypothesis: the files of SNLI and SICK."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lengths import VERBATIM, WordRules
from dgltrees.formats.lines import chunks, empty_file, gather, numbered_lines
from dgltrees.formats.table import Format
from dgltrees.papers.nti.data.pairs import Pair, pair_examples
from dgltrees.papers.nti.data.sick import sick_pairs
from dgltrees.papers.nti.data.snli import jsonl_pairs, line_pairs, tsv_pairs
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary, vocabs_for

__all__ = ["ENTAILMENT", "ENTAILMENT_LABELS", "read_entailment", "stream_entailment"]

ENTAILMENT_LABELS = ("entailment", "neutral", "contradiction")
_NO_LABEL = "-"


def read_entailment(
    path: PathLike,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    rules: WordRules = VERBATIM,
    labeled: bool = True,
) -> Examples:
    """All pairs of a file; see :func:`stream_entailment`."""
    return gather(stream_entailment(path, vocabs=vocabs, rules=rules, labeled=labeled))


def stream_entailment(
    path: PathLike,
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    rules: WordRules = VERBATIM,
    labeled: bool = True,
) -> Iterator[Examples]:
    """The pairs of a file, premise first, ``trees`` pairs at a time.

    Four forms are told apart: ``.jsonl`` files are SNLI's; ``labels.NAME`` has its sentences in
    ``s1.NAME`` and ``s2.NAME`` beside it; a file whose first line names a field ``gold_label`` is
    SNLI's ``.txt``; every other file is SICK's ``label TAB parse TAB parse``. Pairs with the label
    ``-``, on which SNLI's annotators did not agree, are left out; a warning counts them.

    Where labels are not needed, all pairs stay, and there are three more forms: SNLI's files
    without the field ``gold_label``; ``s1.NAME`` with ``s2.NAME`` beside it; and ``sentence TAB
    sentence``. A sentence without brackets is English text, split by
    :func:`~dgltrees.formats.tokenize`; fields ``sentence1`` and ``sentence2`` hold such text where
    a file of SNLI has no parses.

    Node columns: ``word``; a sentence is a chain (:func:`~dgltrees.trees.builders.sentences`); and
    ``merges`` and ``splits``, the brackets that end and then those that begin before a word
    (:mod:`dgltrees.trees.constituents`), -1 where a sentence has none. Example columns:
    ``target``, the row of :data:`ENTAILMENT_LABELS`, and ``line``. Examples have arity 2.

    Arguments:
        path: the file.
        trees: pairs per chunk; the last chunk may have fewer.
        vocabs: ``{"word": vocabulary}`` to use; where a word is missing from a frozen one it is an
            error, or becomes the vocabulary's unknown name. All chunks share one vocabulary.
        rules: how words are changed and long sentences treated.
        labeled: whether every pair must have a label; otherwise ``target`` is -1 without one.

    Raises:
        TreeError: with file and line: the file is not UTF-8 or in none of the forms, a line is cut
            off, a sentence is empty or too long, a label is none of the three, or a word is not in
            a frozen vocabulary; or no pair has a label.
        ConfigError: ``trees`` is below 1.
    """
    words = vocabs_for(vocabs, "word")["word"]
    classes = Vocabulary(ENTAILMENT_LABELS, frozen=True)
    pairs = _pairs(path, labeled)
    pairs = _labeled(pairs, path) if labeled else pairs
    empty = True
    for chunk in chunks((pair.cut(rules, path) for pair in pairs), trees):
        empty = False
        yield pair_examples(chunk, words, classes, path, labeled=labeled, brackets=True)
    if empty:
        raise empty_file(path, "pair")


def _pairs(path: PathLike, labeled: bool) -> Iterator[Pair]:
    """The pairs of a file in any of the forms."""
    name = Path(path).name
    if name.startswith("labels.") or (name.startswith("s1.") and not labeled):
        return line_pairs(path)
    lines = numbered_lines(path)
    first = next(lines, None)
    if first is None:
        return iter(())
    rows = chain([first], lines)
    if name.endswith(".jsonl") or first[1].lstrip().startswith("{"):
        return jsonl_pairs(rows, path, labeled)
    has_names = {"gold_label", "sentence1_binary_parse", "sentence1"} & {*first[1].split("\t")}
    return (tsv_pairs if has_names else sick_pairs)(rows, path, labeled)


def _labeled(pairs: Iterator[Pair], path: PathLike) -> Iterator[Pair]:
    """The pairs that have a label; behind the last one a warning counts the others."""
    total = skipped = 0
    for pair in pairs:
        total += 1
        if pair.target == _NO_LABEL:
            skipped += 1
        else:
            yield pair
    if not total:
        raise empty_file(path, "pair with a label")
    if skipped == total:
        raise TreeError(
            f"expected at least one pair with a label, got {total} without one", file=path
        )
    if skipped:
        warnings.warn(
            f"{os.fspath(path)}: left out {skipped} of {total} pairs, which have no label "
            f"({_NO_LABEL!r})",
            stacklevel=2,
        )


ENTAILMENT = Format(
    "Pairs of sentences as chains of words: the files of SNLI and SICK.", stream_entailment
)

"""Pairs of a premise and a hypothesis: the files of SNLI and SICK.

S. R. Bowman, G. Angeli, C. Potts and C. D. Manning, "A large annotated corpus for learning natural
language inference", EMNLP 2015; M. Marelli and others, "A SICK cure for the evaluation of
compositional distributional semantic models", LREC 2014.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from dgltrees._files import PathLike
from dgltrees._json import load_json
from dgltrees.errors import TreeError
from dgltrees.formats.format import Format
from dgltrees.formats.lines import (
    LineError,
    at_least_one,
    chunks,
    empty_file,
    error_in,
    numbered_lines,
)
from dgltrees.formats.text import tokenize
from dgltrees.papers.nti.data.pairs import VERBATIM, Pair, WordRules, pair_examples
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.vocabulary import Vocabulary, vocabs_for

ENTAILMENT_LABELS = ("entailment", "neutral", "contradiction")
_NO_LABEL = "-"


def stream_entailment(
    path: PathLike,
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    rules: WordRules = VERBATIM,
    labeled: bool = True,
) -> Iterator[LabeledTrees]:
    """Yield the pairs of a file, premise first, ``trees`` pairs at a time.

    There are three kinds of files: ``.jsonl`` files are SNLI's; a file whose first line names a
    field ``gold_label`` is SNLI's ``.txt``; every other file is SICK's ``label TAB parse TAB
    parse``. Pairs with the label ``-``, on which SNLI's annotators did not agree, are left out; a
    warning counts them.

    If labels are optional, all pairs are kept, and there are two more kinds: SNLI's files without
    the field ``gold_label``; and ``sentence TAB sentence``. A sentence without brackets is English
    text, split by :func:`~dgltrees.formats.tokenize`. SNLI's files without parses have such text in
    the fields ``sentence1`` and ``sentence2``.

    Node columns: ``word``; and ``merges`` and ``splits``, the numbers of brackets that end and
    begin before a word (:mod:`dgltrees.trees.constituents`), -1 without brackets. A sentence is a
    chain, see :func:`~dgltrees.trees.builders.sentences.chains`. Example columns: ``target``, the
    index in :data:`ENTAILMENT_LABELS`, and ``line``. Examples have arity 2.
    """
    words = vocabs_for(vocabs, "word")["word"]
    classes = Vocabulary(ENTAILMENT_LABELS, frozen=True)
    pairs = _pairs(path, labeled)
    pairs = _labeled(pairs, path) if labeled else pairs
    pairs = at_least_one((pair.cut(rules, path) for pair in pairs), empty_file(path, "pair"))
    for chunk in chunks(pairs, trees):
        yield pair_examples(chunk, words, classes, path, labeled=labeled, brackets=True)


def _pairs(path: PathLike, labeled: bool) -> Iterator[Pair]:
    """Read the pairs of a file of any kind."""
    lines = numbered_lines(path)
    first = next(lines, None)
    if first is None:
        return iter(())
    rows, error = chain([first], lines), error_in(path)
    if Path(path).suffix == ".jsonl" or first[1].lstrip().startswith("{"):
        read = _pairs_of_jsonl
    elif {"gold_label", "sentence1_binary_parse", "sentence1"} & {*first[1].split("\t")}:
        read = _pairs_of_fields
    else:
        read = _pairs_of_sick
    texts = read(((number, line) for number, line in rows if line.strip()), error, labeled)
    return (_pair(line, label, sides, error, labeled) for line, label, sides in texts)


def _labeled(pairs: Iterator[Pair], path: PathLike) -> Iterator[Pair]:
    """Yield the pairs with a label; after the last one a warning counts the others."""
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


def _pair(
    line: int, label: str, sentences: tuple[str, str], error: LineError, labeled: bool
) -> Pair:
    """Make a pair of two sentences in brackets or, if labels are optional, in English."""
    words: list[list[str]] = []
    parses: list[str | None] = []
    for sentence in sentences:
        if not (labeled or "(" in sentence or ")" in sentence):  # one word needs no brackets
            words.append(tokenize(sentence))
            parses.append(None)
            continue
        opened, closed = sentence.count("("), sentence.count(")")
        if opened != closed:
            raise error(
                f"expected a ')' for every '(', got {opened} and {closed}; is the line cut off?",
                line,
            )
        words.append(sentence.replace("(", " ").replace(")", " ").split())
        parses.append(sentence)
    left, right = words
    return Pair(line, label, left, right, parses)


_Lines = Iterator[tuple[int, str]]
_Texts = Iterator[tuple[int, str, tuple[str, str]]]
"""The line, label and two sentences of each pair."""

_LABEL = "gold_label"
_FIELDS = (_LABEL, "sentence1_binary_parse", "sentence2_binary_parse")
_TEXT = {"sentence1_binary_parse": "sentence1", "sentence2_binary_parse": "sentence2"}


def _pairs_of_jsonl(lines: _Lines, error: LineError, labeled: bool) -> _Texts:
    """Read the pairs of SNLI's ``.jsonl``."""
    for number, line in lines:
        try:
            values = load_json(line)
        except ValueError as cause:
            raise error(f"{cause}; is the line cut off?", number) from None
        yield _of_fields(values if isinstance(values, dict) else {}, number, error, labeled)


def _pairs_of_fields(lines: _Lines, error: LineError, labeled: bool) -> _Texts:
    """Read the pairs of SNLI's ``.txt``: fields between tabs, named by the first line."""
    number, line = next(lines)
    names = line.split("\t")
    missing = [name for name in _FIELDS if name not in names and labeled]
    if missing:
        raise error(
            f"expected the fields {', '.join(_FIELDS)} in the first line, missing {missing[0]}",
            number,
        )
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) != len(names):
            raise error(
                f"expected {len(names)} fields between tabs, got {len(fields)}; is the line "
                "cut off?",
                number,
            )
        yield _of_fields(dict(zip(names, fields)), number, error, labeled)


def _of_fields(
    values: Mapping[str, Any], line: int, error: LineError, labeled: bool
) -> tuple[int, str, tuple[str, str]]:
    if not labeled:
        texts = {name: values.get(text) for name, text in _TEXT.items()}
        values = {_LABEL: "", **texts, **values}
    for name in _FIELDS:
        if not isinstance(values.get(name), str):
            raise error(f"missing text in the field {name}", line)
    label, left, right = (values[name] for name in _FIELDS)
    return line, label, (left, right)


def _pairs_of_sick(lines: _Lines, error: LineError, labeled: bool) -> _Texts:
    """Read the pairs of SICK: ``label TAB parse TAB parse``, and two more fields or none.

    A first line with ``%`` names the fields. Labels become lower case, as in SNLI.
    """
    for number, line in lines:
        if number == 1 and line.startswith("%"):
            continue
        fields = line.split("\t")
        if len(fields) == 2 and not labeled:
            fields = ["", *fields]
        if len(fields) not in (3, 5):
            missing = "; training and evaluation need the label" * (len(fields) == 2)
            raise error(
                f"expected label TAB parse TAB parse, and two more fields or none, got "
                f"{len(fields)} fields{missing}",
                number,
            )
        yield number, fields[0].strip().lower(), (fields[1], fields[2])


ENTAILMENT = Format(
    "Pairs of sentences as chains of words: the files of SNLI and SICK.", stream_entailment
)

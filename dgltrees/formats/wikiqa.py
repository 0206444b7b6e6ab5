"""WikiQA: which sentences of an article answer a question.

Y. Yang, W. Yih and C. Meek, "WikiQA: A Challenge Dataset for Open-Domain Question Answering",
EMNLP 2015.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats.lines import gather, numbered_lines
from dgltrees.formats.pairs import VERBATIM, Pair, WordRules, pair_examples
from dgltrees.formats.text import tokenize
from dgltrees.trees.builders.vocabs import own_vocabs
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["WIKIQA_LABELS", "read_wikiqa", "stream_wikiqa"]

WIKIQA_LABELS = ("0", "1")
_FIELDS = ("QuestionID", "Question", "SentenceID", "Sentence", "Label")


class _Row(NamedTuple):
    """A sentence, what tells its question from others, and its own name, if the file has one."""

    question: str
    sentence: Optional[str]
    pair: Pair


def read_wikiqa(
    path: PathLike,
    *,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    rules: WordRules = VERBATIM,
) -> Examples:
    """All questions of a file; see :func:`stream_wikiqa`."""
    return gather(stream_wikiqa(path, vocabs=vocabs, rules=rules))


def stream_wikiqa(
    path: PathLike,
    trees: int = 10_000,
    *,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    rules: WordRules = VERBATIM,
) -> Iterator[Examples]:
    """The questions of a file, each with all its sentences, about ``trees`` pairs at a time.

    A file whose first line names the fields ``QuestionID``, ``Question``, ``SentenceID``,
    ``Sentence`` and ``Label`` is the official one; its text is parted into words by
    :func:`~dgltrees.formats.tokenize`. All others have lines ``question TAB sentence TAB
    0/1`` with spaces between words; there, equal questions that follow each other are one.

    Node columns: ``word``; and ``shared``, whether the word stands in the other sentence of the
    pair too, cases aside. Example columns: ``target``, 1 for a sentence that answers; ``question``,
    the number of the question in the file; ``sentence``, that of the sentence in its question; and
    ``rank``, the place of the sentence's name among those of its question when sorted as strings
    (in files without names it is its number), by which trec_eval orders equal scores. Examples
    have arity 2, the question first.

    Arguments:
        path: the file.
        trees: how many pairs to read at a time, at least; a question is never parted.
        vocabs, rules: see :func:`~dgltrees.formats.stream_entailment`.

    Raises:
        TreeError: with file and line: the file is empty, not UTF-8 or of no such form, a line has
            another number of fields, a sentence is empty or too long, a label not 0 or 1, a word
            unknown.
        ConfigError: ``trees`` is not positive.
    """
    if trees < 1:
        raise ConfigError(f"expected chunks of at least one tree, got trees={trees}")
    words = own_vocabs(vocabs, "word")["word"]
    first = 0
    for questions in _together(_rows(path), trees):
        yield _examples(questions, first, words, rules, path)
        first += len(questions)
    if not first:
        raise TreeError("expected at least one question, got an empty file", file=path)


def _rows(path: PathLike) -> Iterator[_Row]:
    names: list[str] = []
    for number, line in numbered_lines(path):
        fields = line.split("\t")
        if number == 1 and fields[0] == _FIELDS[0]:
            names = fields
            if not set(_FIELDS) <= set(names):
                raise TreeError(
                    f"expected the fields {', '.join(_FIELDS)}, got {', '.join(names)}",
                    file=path,
                    line=number,
                )
        elif line.strip():
            yield _row(fields, names, path, number)


def _row(fields: Sequence[str], names: Sequence[str], path: PathLike, line: int) -> _Row:
    if len(fields) != (len(names) or 3):
        raise TreeError(
            f"expected {len(names) or 'question TAB sentence TAB 0/1, 3'} fields, got "
            f"{len(fields)}; is the line cut off?",
            file=path,
            line=line,
        )
    if not names:
        question, sentence, label = fields
        pair = Pair(line, label.strip(), question.split(), sentence.split())
        return _Row(question, None, pair)
    values = dict(zip(names, fields))
    identity, question, name, sentence, label = (values[field] for field in _FIELDS)
    return _Row(identity, name, Pair(line, label.strip(), tokenize(question), tokenize(sentence)))


def _together(rows: Iterator[_Row], least: int) -> Iterator[list[list[_Row]]]:
    """Whole questions, so many that they have ``least`` sentences; the last may have fewer."""
    held: list[list[_Row]] = []
    size = 0
    for _, group in groupby(rows, key=lambda row: row.question):
        held.append(list(group))
        size += len(held[-1])
        if size >= least:
            yield held
            held, size = [], 0
    if held:
        yield held


def _examples(
    questions: Sequence[Sequence[_Row]],
    first: int,
    words: Vocabulary,
    rules: WordRules,
    path: PathLike,
) -> Examples:
    pairs = [row.pair for question in questions for row in question]
    classes = Vocabulary(WIKIQA_LABELS, frozen=True)
    found = pair_examples(pairs, words, classes, rules, path)
    sizes = [len(question) for question in questions]
    columns = {
        **found.columns,
        "question": np.repeat(np.arange(first, first + len(sizes)), sizes),
        "sentence": np.concatenate([np.arange(size) for size in sizes]),
        "rank": np.concatenate([_ranks(question) for question in questions]),
    }
    shared = _shared(pairs, rules.max_words)
    forest = replace(found.forest, columns={**found.forest.columns, "shared": shared})
    return replace(found, forest=forest, columns=columns)


def _ranks(question: Sequence[_Row]) -> NDArray[np.int64]:
    """Where each sentence's name stands among those of its question, by the bytes of UTF-8."""
    names = [str(i) if row.sentence is None else row.sentence for i, row in enumerate(question)]
    order = sorted(range(len(names)), key=lambda i: names[i].encode())
    return np.argsort(order)


def _shared(pairs: Sequence[Pair], most: Optional[int]) -> NDArray[np.bool_]:
    """Whether each word stands in the other sentence of its pair, in what is kept of both."""
    marks: list[list[bool]] = []
    for pair in pairs:
        left, right = ([w.lower() for w in side[:most]] for side in (pair.left, pair.right))
        both = set(left) & set(right)
        marks += [[w in both for w in side] for side in (left, right)]
    return np.array(list(chain.from_iterable(marks)), bool)

"""WikiQA: questions, and sentences as possible answers.

Y. Yang, W. Yih and C. Meek, "WikiQA: A Challenge Dataset for Open-Domain Question Answering",
EMNLP 2015.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.formats.format import Format
from dgltrees.formats.lines import LineError, check_chunk_size, empty_file, error_in, numbered_lines
from dgltrees.formats.text import tokenize
from dgltrees.papers.nti.data.pairs import VERBATIM, Pair, WordRules, pair_examples
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import inverse, owner, within
from dgltrees.trees.vocabulary import Vocabulary, vocabs_for

WIKIQA_LABELS = ("0", "1")
_FIELDS = ("QuestionID", "Question", "SentenceID", "Sentence", "Label")


class _Row(NamedTuple):
    """Line of a file: the ids of the question and of the sentence, and their words."""

    question: str  # the question itself in files without ids
    sentence: str | None  # None in files without ids
    pair: Pair


def stream_wikiqa(
    path: PathLike,
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    rules: WordRules = VERBATIM,
    labeled: bool = True,
) -> Iterator[LabeledTrees]:
    """Yield the pairs of a question and a sentence of a file, about ``trees`` pairs at a time.

    The first line of the official file names the fields ``QuestionID``, ``Question``,
    ``SentenceID``, ``Sentence`` and ``Label``; :func:`~dgltrees.formats.tokenize` splits its text
    into words. All other files have lines ``question TAB sentence TAB 0/1`` with spaces between
    words; successive lines with the same question belong together.

    Node columns: ``word``; ``shared``, whether the word also occurs in the other sentence of the
    pair, regardless of case. Example columns: ``target``, 1 for an answer; ``question``, the number
    of the question in the file; ``sentence``, the number of the sentence in its question; ``rank``,
    the place of the sentence in its question by the id as a string (without ids, the number), which
    is trec_eval's order of equal scores. Examples have arity 2, the question first.
    """
    check_chunk_size(trees)
    words = vocabs_for(vocabs, "word")["word"]
    first = 0
    for questions in _whole_questions(_rows(path, rules, labeled), trees, error_in(path)):
        yield _examples(questions, first, words, path, labeled)
        first += len(questions)
    if not first:
        raise empty_file(path, "question")


def _rows(path: PathLike, rules: WordRules, labeled: bool) -> Iterator[_Row]:
    names: list[str] = []
    error = error_in(path)
    for number, line in numbered_lines(path):
        fields = line.split("\t")
        if number == 1 and fields[0] == _FIELDS[0]:
            names = fields
            if not {*(_FIELDS if labeled else _FIELDS[:-1])} <= {*names}:
                raise error(
                    f"expected the fields {', '.join(_FIELDS)}, got {', '.join(names)}", number
                )
        elif line.strip():
            row = _row(fields, names, number, error, labeled)
            yield row._replace(pair=row.pair.cut(rules, path))


def _row(
    fields: Sequence[str], names: Sequence[str], line: int, error: LineError, labeled: bool
) -> _Row:
    if not names and len(fields) == 2 and not labeled:
        fields = [*fields, ""]
    if len(fields) != (len(names) or 3):
        raise error(
            f"expected {len(names) or 'question TAB sentence TAB 0/1, 3'} fields, got "
            f"{len(fields)}; is the line cut off, or without the label that training and "
            "evaluation need?",
            line,
        )
    if not names:
        question, sentence, label = fields
        pair = Pair(line, label.strip(), question.split(), sentence.split())
        return _Row(" ".join(pair.left), None, pair)
    values = {_FIELDS[-1]: "", **dict(zip(names, fields))}
    question_id, question, sentence_id, sentence, label = (values[field] for field in _FIELDS)
    pair = Pair(line, label.strip(), tokenize(question), tokenize(sentence))
    return _Row(question_id, sentence_id, pair)


def _whole_questions(
    rows: Iterator[_Row], least: int, error: LineError
) -> Iterator[list[list[_Row]]]:
    """Yield lists of questions with at least ``least`` rows together; the last may have fewer."""
    questions: list[list[_Row]] = []
    seen: set[str] = set()
    size = 0
    for name, group in groupby(rows, key=attrgetter("question")):
        questions.append(list(group))
        if name in seen:
            raise error(
                f"expected all sentences of a question together, got {name!r} again; sort the "
                "file by question",
                questions[-1][0].pair.line,
            )
        seen.add(name)
        size += len(questions[-1])
        if size >= least:
            yield questions
            questions, size = [], 0
    if questions:
        yield questions


def _examples(
    questions: Sequence[Sequence[_Row]],
    first: int,
    words: Vocabulary,
    path: PathLike,
    labeled: bool,
) -> LabeledTrees:
    pairs = [row.pair for question in questions for row in question]
    classes = Vocabulary(WIKIQA_LABELS, frozen=True)
    examples = pair_examples(pairs, words, classes, path, labeled=labeled)
    sizes = np.array([len(question) for question in questions], np.int64)
    columns = {
        **examples.columns,
        "question": first + owner(sizes),
        "sentence": within(sizes),
        "rank": np.concatenate([_ranks(question) for question in questions]),
    }
    node_columns = {**examples.forest.columns, "shared": _shared(pairs)}
    forest = replace(examples.forest, columns=node_columns)
    return replace(examples, forest=forest, columns=columns)


def _ranks(question: Sequence[_Row]) -> NDArray[np.int64]:
    """Return the place of each sentence's id in its question, in the order of UTF-8 bytes."""
    ids = [str(i) if row.sentence is None else row.sentence for i, row in enumerate(question)]
    order = sorted(range(len(ids)), key=lambda i: ids[i].encode())
    return inverse(np.array(order))


def _shared(pairs: Sequence[Pair]) -> NDArray[np.bool_]:
    """Return whether each word is in the other sentence of its pair, regardless of case."""
    shared: list[bool] = []
    for pair in pairs:
        left, right = ([word.lower() for word in side] for side in (pair.left, pair.right))
        both = set(left) & set(right)
        shared += [word in both for word in chain(left, right)]
    return np.array(shared, bool)


WIKIQA = Format("Questions and sentences as chains of words: the files of WikiQA.", stream_wikiqa)

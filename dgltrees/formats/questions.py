"""Sentences with a blank, and what might fill it.

G. Zweig and C. J. C. Burges, "The Microsoft Research Sentence Completion Challenge", 2011.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lines import numbered_lines

__all__ = ["BLANK", "Question", "read_answers", "read_questions"]

BLANK = "_____"
_LETTERS = "abcde"
_QUESTIONS = ["id", "question", *(f"{letter})" for letter in _LETTERS)]
_ANSWERS = ["id", "answer"]


@dataclass(frozen=True)
class Question:
    """A sentence with a blank.

    Arguments:
        id: its name.
        text: the sentence, ``_____`` once in it.
        candidates: ``(5,)`` what might fill the blank.
    """

    id: str
    text: str
    candidates: Sequence[str]

    @property
    def sentences(self) -> list[str]:
        """The sentence with each of the candidates."""
        return [self.text.replace(BLANK, candidate) for candidate in self.candidates]


def read_questions(path: PathLike) -> list[Question]:
    """The questions of a CSV file with the columns ``id,question,a),b),c),d),e)``.

    Raises:
        TreeError: with file and line: the columns are others, a row has more or fewer, an id stands
            twice, a question has no blank or two, a candidate is empty; there is no question.
    """
    found: dict[str, Question] = {}
    for line, (name, text, *candidates) in _rows(path, _QUESTIONS):
        if name in found:
            raise TreeError(
                f"expected every question once, got {name!r} again", file=path, line=line
            )
        if text.count(BLANK) != 1 or "_" in text.replace(BLANK, ""):
            raise TreeError(
                f"expected one blank {BLANK} in the question, got {text[:60]!r}",
                file=path,
                line=line,
            )
        if not all(candidate.strip() for candidate in candidates):
            raise TreeError(
                f"expected five candidates, got {candidates}; one is missing", file=path, line=line
            )
        found[name] = Question(name, text, [candidate.strip() for candidate in candidates])
    if not found:
        raise TreeError("expected a question below the names of the columns, got none", file=path)
    return list(found.values())


def read_answers(path: PathLike, questions: Sequence[Question]) -> list[int]:
    """Which candidate answers each question, from a CSV file with the columns ``id,answer``.

    Returns:
        0 for a to 4 for e, in the order of ``questions``.

    Raises:
        TreeError: with file and line: the columns are others, an answer is no letter from a to e,
            an id stands twice or is no question's, a question has no answer (the line is the last).
    """
    known, found, line = {question.id for question in questions}, {}, 1
    for line, (name, answer) in _rows(path, _ANSWERS):
        letter = answer.strip().lower().rstrip(")")
        if len(letter) != 1 or letter not in _LETTERS:
            raise TreeError(f"expected a letter from a to e, got {answer!r}", file=path, line=line)
        if name not in known or name in found:
            what = "a second one" if name in found else "one of another question"
            raise TreeError(
                f"expected one answer to each question, got {what}, {name!r}", file=path, line=line
            )
        found[name] = _LETTERS.index(letter)
    missing = [question.id for question in questions if question.id not in found]
    if missing:
        raise TreeError(
            f"expected an answer to each of {len(questions)} questions, got none to {missing[0]!r}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else ""),
            file=path,
            line=line,
        )
    return [found[question.id] for question in questions]


def _rows(path: PathLike, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header, each with the number of its last line."""
    header = False
    reader = csv.reader((f"{text}\n" for _, text in numbered_lines(path)), strict=True)
    try:
        for row in reader:
            if not row:
                continue
            if not header and [name.strip() for name in row] != list(columns):
                raise TreeError(
                    f"expected the columns {','.join(columns)}, got {','.join(row)[:60]!r}",
                    file=path,
                    line=reader.line_num,
                )
            if header and len(row) != len(columns):
                raise TreeError(
                    f"expected {len(columns)} columns {','.join(columns)}, got {len(row)}",
                    file=path,
                    line=reader.line_num,
                )
            if header:
                yield reader.line_num, [row[0].strip(), *row[1:]]
            header = True
    except csv.Error as error:
        raise TreeError(f"expected CSV, got {error}", file=path, line=reader.line_num) from None
    if not header:
        raise TreeError(f"expected the columns {','.join(columns)}, got nothing", file=path)

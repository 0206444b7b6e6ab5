"""Sentence completion: sentences with a blank, and five candidates to fill it.

G. Zweig and C. J. C. Burges, "The Microsoft Research Sentence Completion Challenge", 2011.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dgltrees._files import PathLike
from dgltrees.formats.lines import error_in, numbered_lines

BLANK = "_____"
_LETTERS = "abcde"
_QUESTIONS = ["id", "question", *(f"{letter})" for letter in _LETTERS)]
_ANSWERS = ["id", "answer"]


@dataclass(frozen=True)
class Question:
    """A sentence with a blank.

    Arguments:
        id: the question's id in the file.
        text: the sentence, which has the blank ``_____`` once.
        candidates: ``(5,)`` words or phrases to fill the blank.
    """

    id: str
    text: str
    candidates: Sequence[str]

    @property
    def sentences(self) -> list[str]:
        """``(5,)`` the sentence with each candidate in place of the blank."""
        return [self.text.replace(BLANK, candidate) for candidate in self.candidates]


def read_questions(path: PathLike) -> list[Question]:
    """Read questions from a CSV file with the columns ``id,question,a),b),c),d),e)``."""
    questions: dict[str, Question] = {}
    error = error_in(path)
    for line, (key, text, *candidates) in _rows(path, _QUESTIONS):
        if key in questions:
            raise error(f"expected every question once, got {key!r} again", line)
        if text.count(BLANK) != 1 or "_" in text.replace(BLANK, ""):
            raise error(f"expected one blank {BLANK} in the question, got {text[:60]!r}", line)
        if not all(candidate.strip() for candidate in candidates):
            raise error(f"expected five candidates, got {candidates}; one is missing", line)
        questions[key] = Question(key, text, [candidate.strip() for candidate in candidates])
    if not questions:
        raise error("expected a question below the names of the columns, got none", 1)
    return list(questions.values())


def read_answers(path: PathLike, questions: Sequence[Question]) -> list[int]:
    """Read the answers to questions from a CSV file with the columns ``id,answer``."""
    ids = {question.id for question in questions}
    answers: dict[str, int] = {}
    error = error_in(path)
    line = 1
    for line, (key, answer) in _rows(path, _ANSWERS):
        letter = answer.strip().lower().rstrip(")")
        if len(letter) != 1 or letter not in _LETTERS:
            raise error(f"expected a letter from a to e, got {answer!r}", line)
        if key not in ids or key in answers:
            what = "a second one" if key in answers else "one of another question"
            raise error(f"expected one answer to each question, got {what}, {key!r}", line)
        answers[key] = _LETTERS.index(letter)
    missing = [question.id for question in questions if question.id not in answers]
    if missing:
        raise error(
            f"expected an answer to each of {len(questions)} questions, got none to {missing[0]!r}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else ""),
            line,
        )
    return [answers[question.id] for question in questions]


def _rows(path: PathLike, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield each row below the header with the number of its last line."""
    header, error = False, error_in(path)
    reader = csv.reader((f"{text}\n" for _, text in numbered_lines(path)), strict=True)
    try:
        for row in reader:
            if not row:
                continue
            if not header and [name.strip() for name in row] != list(columns):
                raise error(
                    f"expected the columns {','.join(columns)}, got {','.join(row)[:60]!r}",
                    reader.line_num,
                )
            if header and len(row) != len(columns):
                raise error(
                    f"expected {len(columns)} columns {','.join(columns)}, got {len(row)}",
                    reader.line_num,
                )
            if header:
                yield reader.line_num, [row[0].strip(), *row[1:]]
            header = True
    except csv.Error as cause:
        raise error(f"expected CSV, got {cause}", reader.line_num) from None
    if not header:
        raise error(f"expected the columns {','.join(columns)}, got nothing", 1)

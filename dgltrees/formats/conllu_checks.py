"""What CoNLL-U says of the lines of a sentence, by which damaged ones are known.

https://universaldependencies.org/format.html. A changed tag, label or head is not known, as long as
the heads still are a tree; nor a changed word in a sentence without the comment ``# text = ...``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import normalize

from conllu import Token

from dgltrees._files import PathLike
from dgltrees.errors import TreeError

__all__ = ["FIELDS", "check_lines", "check_text", "words_of"]

FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

# Python makes no numbers of more than 4,300 digits.
_RANGE = re.compile(
    r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})", re.ASCII
)  # a multiword token, such as 3-4
_EMPTY = re.compile(r"([0-9]{1,9})\.([1-9][0-9]{0,8})", re.ASCII)  # an empty node, such as 8.1
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ONCE = re.compile(r"#\s*(sent_id|text)\s*=")

Row = tuple[int, Token]
"""The number of a line, and its columns."""


def check_lines(block: Sequence[tuple[int, str]], path: PathLike) -> list[int]:
    """Check the lines of a sentence one by one, and return the numbers of those of words.

    Raises:
        TreeError: with file and line: a line has not ten columns, an empty one or a control
            character; a comment stands behind a word, or there is a second ``sent_id`` or ``text``.
    """
    words: list[int] = []
    comments: set[str] = set()
    for line, text in block:
        if fault := _CONTROL.search(text):
            raise TreeError(
                f"expected text without control characters, got {fault[0]!r}", file=path, line=line
            )
        if not text.startswith("#"):
            _check_columns(text, path, line)
            words.append(line)
        elif words:
            raise TreeError(
                f"expected comments above the words of a sentence, got {text[:60]!r} behind one; "
                "is a blank line missing?",
                file=path,
                line=line,
            )
        elif name := _ONCE.match(text):
            if name[1] in comments:
                raise TreeError(
                    f"expected one comment '# {name[1]} = ...' of a sentence, got a second",
                    file=path,
                    line=line,
                )
            comments.add(name[1])
    return words


def _check_columns(text: str, path: PathLike, line: int) -> None:
    columns = text.split("\t")
    if len(columns) != len(FIELDS):
        hint = "" if len(columns) > 1 else "; is this a CoNLL-U file?"
        raise TreeError(
            f"expected ten columns with tabs between them, got {len(columns)}{hint}",
            file=path,
            line=line,
        )
    if "  " in text or not all(map(str.strip, columns)):
        raise TreeError(
            "expected columns that are not empty and have no two spaces in a row, got "
            f"{text[:60]!r}; an empty column is _",
            file=path,
            line=line,
        )


def words_of(rows: Sequence[Row], path: PathLike, first: int) -> list[Row]:
    """The rows of words, without multiword tokens and empty nodes.

    Arguments:
        rows: all rows of a sentence.
        path: the file.
        first: the number of the sentence's first line.

    Raises:
        TreeError: with file and line: there is no word; words are not numbered 1, 2, 3; a multiword
            token does not stand above its words, or is within another; empty nodes behind word 8
            are not 8.1, 8.2, 8.3.
    """
    words: list[Row] = []
    covered, nodes, token = 0, 0, first  # the last word of a multiword token; empty nodes
    for line, row in rows:
        number, count = row["id"], len(words)
        if match := _RANGE.fullmatch(number):
            begin, end = int(match[1]), int(match[2])
            if not covered < begin == count + 1 <= end:
                raise TreeError(
                    "expected a token of several words above the first of them and outside of "
                    f"others, such as {count + 1}-{count + 2}, got {number!r}",
                    file=path,
                    line=line,
                )
            covered, token = end, line
        elif match := _EMPTY.fullmatch(number):
            nodes += 1
            if (int(match[1]), int(match[2])) != (count, nodes):
                raise TreeError(
                    f"expected the empty node {count}.{nodes}, got {number!r}", file=path, line=line
                )
        elif number != str(count + 1):
            hint = "; is a blank line missing above?" if number == "1" else ""
            raise TreeError(
                f"expected the integer id {count + 1}, or one such as 3-4 or 8.1, got "
                f"{number!r}{hint}",
                file=path,
                line=line,
            )
        else:
            words.append((line, row))
            nodes = 0
    if not words:
        raise TreeError(
            "expected a word in every sentence, got an empty sentence", file=path, line=first
        )
    if covered > len(words):
        raise TreeError(
            f"expected a token of several words with all of them below, got one up to word "
            f"{covered} of {len(words)}",
            file=path,
            line=token,
        )
    return words


def check_text(rows: Sequence[Row], text: str | None, path: PathLike) -> None:
    """Check that a sentence's tokens are its text, but for spaces.

    Arguments:
        rows: all rows of a sentence, as :func:`words_of` takes them.
        text: the comment ``# text = ...``; with None, or where all words are ``_``, which stands
            for words that may not be published, nothing is checked.
        path: the file.

    Raises:
        TreeError: with file and line: they are not.
    """
    if text is None:
        return
    tokens: list[tuple[int, str]] = []
    covered = 0
    for line, row in rows:
        if match := _RANGE.fullmatch(row["id"]):
            covered = int(match[2])
        elif _EMPTY.fullmatch(row["id"]) or int(row["id"]) <= covered:
            continue
        tokens.append((line, _without_spaces(row["form"])))
    if all(form == "_" for _, form in tokens):
        return
    whole, at = _without_spaces(text), 0
    for line, form in tokens:
        if not whole.startswith(form, at):
            raise TreeError(
                "expected a word of the sentence's text, which goes on with "
                f"{whole[at:][:20]!r} here, got {form[:60]!r}; correct one of them, or leave out "
                "the comment '# text = ...'",
                file=path,
                line=line,
            )
        at += len(form)
    if at < len(whole):
        raise TreeError(
            f"expected all words of the sentence's text, got none for its end {whole[at:][:60]!r}; "
            "are lines missing? If not, correct the comment '# text = ...', or leave it out",
            file=path,
            line=tokens[-1][0],
        )


def _without_spaces(text: str) -> str:
    return normalize("NFC", "".join(text.split()))

"""Dependency treebanks in ten columns: CoNLL-U, and its predecessor CoNLL-X.

Universal Dependencies, https://universaldependencies.org/format.html; Buchholz & Marsi, "CoNLL-X
Shared Task on Multilingual Dependency Parsing", CoNLL 2006.

The reader checks the rules of CoNLL-U for the lines of a sentence. It cannot detect a changed tag
or label, a changed head if the heads still form a tree, or a changed word in a sentence without the
comment ``# text = ...``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from unicodedata import normalize

import numpy as np

from dgltrees._files import PathLike, replacing
from dgltrees.errors import TreeError
from dgltrees.formats.format import Format
from dgltrees.formats.lines import LineError, error_in
from dgltrees.formats.sentences import Sentence, blocks, head_of, stream_sentences
from dgltrees.trees.check import check_roots
from dgltrees.trees.forest import Forest

CONLLU_COLUMNS = ("word", "upos", "xpos", "deprel")
"""The columns of words that CoNLL-U files have."""

_ID, _FORM, _UPOS, _XPOS, _HEAD, _DEPREL = 0, 1, 3, 4, 6, 7  # of ten columns
_NAMES = {"upos": _UPOS, "xpos": _XPOS, "deprel": _DEPREL}
# Python makes no numbers of more than 4,300 digits.
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})", re.ASCII)  # a multiword token: 3-4
_EMPTY = re.compile(r"([0-9]{1,9})\.([1-9][0-9]{0,8})", re.ASCII)  # an empty node, such as 8.1
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f]| {2}|^\s|\s$|^$")  # in a name

Row = tuple[int, list[str]]
"""A line: its number and its ten columns."""


def conllu_sentences(path: PathLike, *, heads: bool = True) -> Iterator[Sentence]:
    """Read the sentences of a CoNLL-U file one by one, with the columns of :data:`CONLLU_COLUMNS`.

    Multiword tokens (``3-4``) and empty nodes (``8.1``) are left out. In CoNLL-X files, ``upos``
    and ``xpos`` are the coarse and the fine tag. ``_`` is a missing name.

    Arguments:
        path: the file.
        heads: whether to read the heads. Otherwise that column is ignored.

    Raises:
        TreeError: the file is empty or not UTF-8, a line does not have ten columns, a sentence has
            no words, or not those of its comment ``# text = ...``, ids are not 1, 2, 3, ..., a
            multiword token, empty node or comment is misplaced, or a head is not a number; the
            error names file and line. Heads out of range, cycles and roots are not checked.
    """
    error = error_in(path)
    for block in blocks(path):
        rows, comments = _rows(block, error)
        words = _words(rows, block[0][0], error)
        _check_text(rows, comments.get("text"), error)
        yield Sentence(
            words=[row[_FORM] for _, row in words],
            heads=[head_of(row[_HEAD], line, error) for line, row in words] if heads else [],
            columns={
                name: [None if row[at] == "_" else row[at] for _, row in words]
                for name, at in _NAMES.items()
            },
            lines=[line for line, _ in words],
            line=block[0][0],
            comments=comments,
        )


def _rows(block: Sequence[tuple[int, str]], error: LineError) -> tuple[list[Row], dict[str, str]]:
    """Check each line of a sentence; return its rows and its comments ``# key = value``."""
    rows: list[Row] = []
    comments: dict[str, str] = {}
    for line, text in block:
        if fault := _CONTROL.search(text):
            raise error(f"expected text without control characters, got {fault[0]!r}", line)
        if not text.startswith("#"):
            rows.append((line, _columns(text, line, error)))
            continue
        if rows:
            raise error(
                f"expected comments above the words of a sentence, got {text[:60]!r} after one; "
                "is a blank line missing?",
                line,
            )
        key, equals, value = (part.strip() for part in text[1:].partition("="))
        if key in ("sent_id", "text") and key in comments and equals:
            raise error(f"expected one comment '# {key} = ...' of a sentence, got a second", line)
        if key and equals:
            comments[key] = value
    return rows, {key: value for key, value in comments.items() if value}


def _columns(text: str, line: int, error: LineError) -> list[str]:
    columns = text.split("\t")
    if len(columns) != 10:
        hint = "" if len(columns) > 1 else "; is this a CoNLL-U file?"
        raise error(f"expected ten columns with tabs between them, got {len(columns)}{hint}", line)
    if "  " in text or not all(map(str.strip, columns)):
        raise error(
            "expected columns that are not empty and have no two spaces in a row, got "
            f"{text[:60]!r}; an empty column is _",
            line,
        )
    columns[_ID] = columns[_ID].lstrip()
    return columns


def _words(rows: Sequence[Row], first: int, error: LineError) -> list[Row]:
    """Return the rows of words, without multiword tokens and empty nodes, and check the ids.

    ``first`` is the line of the sentence's first row or comment.
    """
    words: list[Row] = []
    covered, nodes, token = 0, 0, first  # the last word of a multiword token; empty nodes
    for line, row in rows:
        number, count = row[_ID], len(words)
        if number == str(count + 1):
            words.append((line, row))
            nodes = 0
        elif match := _RANGE.fullmatch(number):
            begin, end = int(match[1]), int(match[2])
            if not covered < begin == count + 1 <= end:
                raise error(
                    "expected a token of several words above the first of them and outside of "
                    f"others, such as {count + 1}-{count + 2}, got {number!r}",
                    line,
                )
            covered, token = end, line
        elif match := _EMPTY.fullmatch(number):
            nodes += 1
            if (int(match[1]), int(match[2])) != (count, nodes):
                raise error(f"expected the empty node {count}.{nodes}, got {number!r}", line)
        else:
            hint = "; is a blank line missing above?" if number == "1" else ""
            raise error(
                f"expected the integer id {count + 1}, or one such as 3-4 or 8.1, got "
                f"{number!r}{hint}",
                line,
            )
    if not words:
        raise error("expected a word in every sentence, got an empty sentence", first)
    if covered > len(words):
        raise error(
            f"expected a token of several words with all of them below, got one up to word "
            f"{covered} of {len(words)}",
            token,
        )
    return words


def _check_text(rows: Sequence[Row], text: str | None, error: LineError) -> None:
    """Check that the tokens of a sentence are its text, except for spaces.

    Nothing is checked if ``text`` is None, or all words are ``_``, which replaces words that must
    not be published.
    """
    if text is None:
        return
    tokens: list[tuple[int, str]] = []
    covered = 0
    for line, row in rows:
        if match := _RANGE.fullmatch(row[_ID]):
            covered = int(match[2])
        elif _EMPTY.fullmatch(row[_ID]) or int(row[_ID]) <= covered:
            continue
        tokens.append((line, _without_spaces(row[_FORM])))
    if all(form == "_" for _, form in tokens):
        return
    whole, at = _without_spaces(text), 0
    for line, form in tokens:
        if not whole.startswith(form, at):
            raise error(
                "expected a word of the sentence's text, which continues with "
                f"{whole[at:][:20]!r} here, got {form[:60]!r}; correct one of them, or leave out "
                "the comment '# text = ...'",
                line,
            )
        at += len(form)
    if at < len(whole):
        raise error(
            f"expected all words of the sentence's text, got none for its end {whole[at:][:60]!r}; "
            "are lines missing? If not, correct the comment '# text = ...', or leave it out",
            tokens[-1][0],
        )


def _without_spaces(text: str) -> str:
    return normalize("NFC", "".join(text.split()))


def write_conllu(
    forest: Forest, path: PathLike, *, comments: Sequence[Mapping[str, object]] | None = None
) -> None:
    """Write a dependency forest as a CoNLL-U file for ``read(path, "conllu")``.

    Arguments:
        forest: see :func:`conllu_blocks`.
        path: the file; it is replaced when the new one is complete.
        comments: see :func:`conllu_blocks`.

    Raises:
        TreeError: see :func:`conllu_blocks`.
    """
    with replacing(path) as file:
        file.writelines(conllu_blocks(forest, comments=comments))


def conllu_blocks(
    forest: Forest, *, comments: Sequence[Mapping[str, object]] | None = None
) -> Iterator[str]:
    r"""Write each tree of a dependency forest as CoNLL-U text.

    Columns that the forest lacks, and columns other than ``word``, ``upos``, ``xpos`` and
    ``deprel``, are written as ``_``.

    Arguments:
        forest: dependency trees whose node 0 is ROOT.
        comments: a mapping per tree; its items are written above the tree, ``# key = value``.

    Returns:
        an iterator over the texts, each with a blank line at its end.

    Raises:
        TreeError: node 0 of a tree is not its root, a tree has no words, a node has no word, a name
            has a control character (such as a tab or line end), double or outer spaces, a comment
            has a line end, or the numbers of comments and trees differ.

    Example:
        >>> from dgltrees.trees.builders import from_heads
        >>> print(next(conllu_blocks(from_heads(["cats", "sleep"], [2, 0]))).replace("\t", " "))
        1 cats _ _ _ _ 2 _ _ _
        2 sleep _ _ _ _ 0 _ _ _
        <BLANKLINE>
    """
    _check_forest(forest)
    _check_comments(forest, comments)
    columns = [_names(forest, column) for column in CONLLU_COLUMNS]
    parent = forest.parent.tolist()
    for tree, comment in zip(range(len(forest)), comments or repeat({})):
        first, stop = forest.offsets[tree : tree + 2].tolist()
        lines = [
            f"# {key} = {value}" if str(value) else f"# {key}" for key, value in comment.items()
        ]
        for node in range(first + 1, stop):
            word, upos, xpos, deprel = (names[node] for names in columns)
            lines.append(
                f"{node - first}\t{word}\t_\t{upos}\t{xpos}\t_\t{parent[node]}\t{deprel}\t_\t_"
            )
        yield "\n".join(lines) + "\n\n"


def _names(forest: Forest, column: str) -> list[str]:
    """Return the names of a column, ``_`` where a node has none."""
    if column not in forest.columns:
        return ["_"] * forest.num_nodes
    if column not in forest.vocabs:
        raise TreeError(f"expected a vocabulary {column!r}, got {list(forest.vocabs)}")
    ids = forest.columns[column]
    for name in forest.vocabs[column].decode(np.unique(ids[ids >= 0])):
        if _UNWRITABLE.search(name):
            raise TreeError(
                f"expected names without control characters, double or outer spaces in column "
                f"{column!r}, got {name!r}"
            )
    names = forest.vocabs[column].names
    return [names[i] if i >= 0 else "_" for i in ids.tolist()]


def _check_forest(forest: Forest) -> None:
    check_roots(forest)
    if "word" not in forest.columns:
        raise TreeError(f"expected a column 'word', got the columns {list(forest.columns)}")
    wordless = forest.sizes < 2
    wordless[forest.tree_of_node[(forest.columns["word"] < 0) & (forest.parent >= 0)]] = True
    if wordless.any():
        raise TreeError(
            "expected a word at each node, and one below ROOT, got none",
            tree=int(np.argmax(wordless)),
        )


def _check_comments(forest: Forest, comments: Sequence[Mapping[str, object]] | None) -> None:
    if comments is None:
        return
    if len(comments) != len(forest):
        raise TreeError(f"expected comments for each of {len(forest)} trees, got {len(comments)}")
    for tree, comment in enumerate(comments):
        for text in (f"{key} = {value}" for key, value in comment.items()):
            if "\n" in text or "\r" in text:
                raise TreeError(f"expected comments of one line, got {text!r}", tree=tree)


CONLLU = Format(
    "Dependency trees as CoNLL-U or CoNLL-X, a word per line in ten columns.",
    partial(stream_sentences, conllu_sentences, CONLLU_COLUMNS),
    lambda examples, path: write_conllu(examples.forest, path),
    suffixes=(".conllu", ".conll"),
    first_line=r"# ?\w+.* = |1(-\d+)?\t([^\t]+\t){8}",
)

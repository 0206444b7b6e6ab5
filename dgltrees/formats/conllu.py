"""Dependency treebanks: CoNLL-U, its predecessor CoNLL-X, and CoNLL-U Plus, with other columns.

Universal Dependencies, https://universaldependencies.org/format.html; Buchholz & Marsi, "CoNLL-X
Shared Task on Multilingual Dependency Parsing", CoNLL 2006.

The reader checks columns, ids and heads; the validator of Universal Dependencies checks the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat

import numpy as np

from dgltrees._files import PathLike, replacing
from dgltrees.errors import TreeError
from dgltrees.formats.format import Format
from dgltrees.formats.lines import error_in
from dgltrees.formats.sentences import Sentence, blocks, head_of, stream_sentences
from dgltrees.trees.check import check_roots
from dgltrees.trees.forest import Forest

CONLLU_COLUMNS = ("word", "upos", "xpos", "deprel")
"""The columns of words that CoNLL-U files have."""

_TEN = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
_SKIPPED = re.compile(r"[0-9]+[-.][0-9]+")  # a multiword token, 3-4, or an empty node, 8.1
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f]")  # in a name


def conllu_sentences(path: PathLike, *, heads: bool = True) -> Iterator[Sentence]:
    """Read the sentences of a CoNLL-U file one by one, with the columns of :data:`CONLLU_COLUMNS`.

    Multiword tokens (``3-4``) and empty nodes (``8.1``) are left out. In CoNLL-X files, ``upos``
    and ``xpos`` are the coarse and the fine tag. ``_`` is a missing name. CoNLL-U Plus names its
    columns in the comment ``# global.columns``; without it, columns after the tenth are ignored.
    Without ``heads`` that column is ignored. Heads out of range, cycles and roots are not checked
    here.
    """
    error = error_in(path)
    place, width = _places(_TEN), 0
    for block in blocks(path):
        comments: dict[str, str] = {}
        lines: list[int] = []
        words: list[list[str]] = []
        for line, text in block:
            if text.startswith("#"):
                key, _, value = map(str.strip, text[1:].partition("="))
                if key == "global.columns":
                    place, width = _places(value), len(value.split())
                    if not {"ID", "FORM", "HEAD"} <= {*place, *([] if heads else ["HEAD"])}:
                        raise error(f"expected the columns ID, FORM and HEAD, got {value!r}", line)
                elif key and value:
                    comments[key] = value
                continue
            row = text.split("\t")
            width = width or max(10, len(row))
            if len(row) != width:
                hint = "" if len(row) > 1 else "; is this a CoNLL-U file?"
                count = "ten" if width == 10 else width
                raise error(
                    f"expected {count} columns with tabs between them, got {len(row)}{hint}", line
                )
            number = row[place["ID"]].strip()
            if number == str(len(words) + 1):
                words.append(row)
                lines.append(line)
            elif not _SKIPPED.fullmatch(number):
                hint = "; is a blank line missing above?" if number == "1" else ""
                raise error(
                    f"expected the integer id {len(words) + 1}, or one such as 3-4 or 8.1, got "
                    f"{number!r}{hint}",
                    line,
                )
        first = block[0][0]
        if not words:
            raise error("expected a word in every sentence, got an empty sentence", first)
        yield Sentence(
            words=[row[place["FORM"]] for row in words],
            heads=[
                head_of(row[place["HEAD"]], line, error) for row, line in zip(words, lines) if heads
            ],
            columns={name: _values(words, place.get(name.upper())) for name in CONLLU_COLUMNS[1:]},
            lines=lines,
            line=first,
            comments=comments,
        )


def _places(names: str) -> dict[str, int]:
    """Return the index of each column by its name."""
    return {name: at for at, name in enumerate(names.split())}


def _values(rows: list[list[str]], at: int | None) -> list[str | None]:
    """Return the names of a column that may be missing."""
    return [None if at is None or row[at] == "_" else row[at] for row in rows]


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
            has a control character (such as a tab or line end), a comment has a line end, or the
            numbers of comments and trees differ.

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
                f"expected names without control characters in column {column!r}, got {name!r}"
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
    "Dependency trees as CoNLL-U, CoNLL-U Plus or CoNLL-X, a word per line.",
    partial(stream_sentences, conllu_sentences, CONLLU_COLUMNS),
    lambda examples, path: write_conllu(examples.forest, path),
    suffixes=(".conllu", ".conll", ".conllup", ".cupt"),
    first_line=r"# ?\w.* = |1(-\d+)?\t([^\t]+\t){8}",
)

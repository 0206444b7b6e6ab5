"""Dependency forests as CoNLL-U."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Optional

import numpy as np
from conllu import Metadata, Token, TokenList

from dgltrees._files import PathLike, replacing
from dgltrees.errors import TreeError
from dgltrees.formats.conllu import CONLLU_COLUMNS
from dgltrees.trees.dependencies.projective import check_roots
from dgltrees.trees.forest import Forest

__all__ = ["conllu_blocks", "write_conllu"]

_NO_COLUMN = re.compile(r"[\t\n\r]| {2}|^\s|\s$|^$")


def write_conllu(
    forest: Forest,
    path: PathLike,
    *,
    comments: Optional[Sequence[Mapping[str, object]]] = None,
) -> None:
    """Write a dependency forest as CoNLL-U; ``read_conllu`` reads it again.

    Arguments:
        forest, comments: see :func:`conllu_blocks`.
        path: the file; it is replaced at the end, or stays as it was.

    Raises:
        TreeError: see :func:`conllu_blocks`.
    """
    with replacing(path) as file:
        file.writelines(conllu_blocks(forest, comments=comments))


def conllu_blocks(
    forest: Forest, *, comments: Optional[Sequence[Mapping[str, object]]] = None
) -> Iterator[str]:
    """The lines of each tree of a dependency forest as CoNLL-U, with a blank one at the end.

    The columns ``word``, ``upos``, ``xpos`` and ``deprel`` are written as far as the forest has
    them; every other field is ``_``.

    Arguments:
        forest: dependency trees, node 0 ROOT.
        comments: what to write above each tree, ``# key = value``.

    Raises:
        TreeError: node 0 of a tree is not its root or is alone, a word is missing, a name or
            comment cannot stand in the file, or there are comments for another number of trees.
    """
    _check(forest, comments)
    names = [_names(forest, name) for name in CONLLU_COLUMNS]
    parent = forest.parent.tolist()
    for tree, about in zip(range(len(forest)), comments or repeat({})):
        first, stop = forest.offsets[tree : tree + 2].tolist()
        tokens = [
            _token(node - first, parent[node], *(column[node] for column in names))
            for node in range(first + 1, stop)
        ]
        metadata = Metadata({key: str(value) for key, value in about.items()})
        yield TokenList(tokens, metadata).serialize()


def _token(number: int, head: int, word: str, upos: str, xpos: str, deprel: str) -> Token:
    return Token(
        id=number,
        form=word,
        lemma=None,
        upos=upos,
        xpos=xpos,
        feats=None,
        head=head,
        deprel=deprel,
        deps=None,
        misc=None,
    )


def _names(forest: Forest, column: str) -> list[str]:
    """A column as text, ``_`` where it has no name."""
    if column not in forest.columns:
        return ["_"] * forest.num_nodes
    if column not in forest.vocabs:
        raise TreeError(f"expected a vocabulary {column!r}, got {list(forest.vocabs)}")
    ids = forest.columns[column]
    for name in forest.vocabs[column].decode(np.unique(ids[ids >= 0])):
        if _NO_COLUMN.search(name):
            raise TreeError(
                f"expected names without tabs, line ends, double or outer spaces in column "
                f"{column!r}, got {name!r}"
            )
    names = forest.vocabs[column].names
    return [names[i] if i >= 0 else "_" for i in ids.tolist()]


def _check(forest: Forest, comments: Optional[Sequence[Mapping[str, object]]]) -> None:
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
    if comments is None:
        return
    if len(comments) != len(forest):
        raise TreeError(f"expected comments for each of {len(forest)} trees, got {len(comments)}")
    for tree, about in enumerate(comments):
        for text in (f"{key} = {value}" for key, value in about.items()):
            if "\n" in text or "\r" in text:
                raise TreeError(f"expected comments of one line, got {text!r}", tree=tree)

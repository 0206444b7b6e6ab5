"""Pairs of propositional sentences as sequences of tokens, each with its operation.

The pairs are those of :mod:`dgltrees.formats.logic`; a bracket is a token that splits or merges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dgltrees._files import PathLike
from dgltrees.formats.lines import line_chunks
from dgltrees.formats.logic import LOGIC_GRAMMAR, LOGIC_WORDS, parse_logic
from dgltrees.trees.builders.scan import Brackets
from dgltrees.trees.builders.sentences import chains
from dgltrees.trees.forest import Forest
from dgltrees.trees.kinds import OPERATIONS, Operation
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.vocabulary import Vocabulary

LOGIC_TOKENS = (*LOGIC_WORDS, "(", ")")
_OPEN, _CLOSE = len(LOGIC_WORDS), len(LOGIC_WORDS) + 1
_OPERATION = np.full(len(LOGIC_TOKENS), Operation.RECUR, np.int32)
_OPERATION[[_OPEN, _CLOSE]] = Operation.SPLIT, Operation.MERGE


def stream_logic_sequences(
    path: PathLike, trees: int = 10_000, *, labeled: bool = True
) -> Iterator[LabeledTrees]:
    """The pairs of a file, each sentence as a chain of its tokens, brackets included.

    Node columns: ``word``, the token's row of :data:`LOGIC_TOKENS`, and ``op``, the token's
    :class:`~dgltrees.trees.kinds.Operation`: SPLIT for an opening bracket, MERGE for a
    closing one, RECUR for all others. Example columns, arguments and errors: see
    :func:`~dgltrees.formats.logic.stream_logic`.
    """
    for data, line in line_chunks(path, trees):
        items, is_relation = LOGIC_GRAMMAR.items(data, path, line, labeled=labeled)
        yield replace(parse_logic(items, is_relation), forest=_sequences(data, items))


def _sequences(data: bytes, items: Brackets) -> Forest:
    """The tokens of all sentences of ``data``; `parse_logic` has checked its ``items``."""
    field = LOGIC_GRAMMAR.fields_of(items, labeled=False)
    relation = field == 0
    ids = [LOGIC_WORDS.get(name, -1) for name in items.names]  # -1 for relations
    word = np.array([*ids, _OPEN])[items.name]  # the name of a bracket is -1
    closing = np.flatnonzero(np.frombuffer(data, np.uint8) == ord(")"))
    start = np.concatenate([items.start[~relation], closing])
    order = np.argsort(start, kind="stable")
    tokens = np.append(word[~relation], np.full(len(closing), _CLOSE))[order].astype(np.int32)
    first = np.searchsorted(start[order], items.start[field > 0])
    return chains(
        np.diff(np.append(first, len(tokens))),
        {"word": tokens, "op": _OPERATION[tokens]},
        {"word": Vocabulary(LOGIC_TOKENS, frozen=True), "op": OPERATIONS},
    )

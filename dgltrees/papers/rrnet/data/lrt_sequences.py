"""Pairs of propositional sentences as sequences of tokens, each with its operation.

The pairs are those of :mod:`dgltrees.formats.lrt`; a bracket is a token that splits or merges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dgltrees._files import PathLike
from dgltrees.formats.lines import line_chunks
from dgltrees.formats.lrt import LRT_GRAMMAR, LRT_WORDS, parse_lrt
from dgltrees.trees.builders.scan import Brackets
from dgltrees.trees.builders.sentences import chains
from dgltrees.trees.forest import Forest
from dgltrees.trees.kinds import OPERATIONS, Operation
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import Bools
from dgltrees.trees.vocabulary import Vocabulary

LRT_TOKENS = (*LRT_WORDS, "(", ")")
_OPEN, _CLOSE = len(LRT_WORDS), len(LRT_WORDS) + 1
_OPERATION = np.full(len(LRT_TOKENS), Operation.RECUR, np.int32)
_OPERATION[[_OPEN, _CLOSE]] = Operation.SPLIT, Operation.MERGE


def stream_lrt_sequences(
    path: PathLike, trees: int = 10_000, *, labeled: bool = True
) -> Iterator[LabeledTrees]:
    """Yield the pairs of a file, each sentence as a chain of its tokens, including brackets.

    Node columns: ``word``, the token's row of :data:`LRT_TOKENS`, and ``op``, the token's
    :class:`~dgltrees.trees.kinds.Operation`: SPLIT for an opening bracket, MERGE for a
    closing one, RECUR for all others. Example columns, arguments and errors are those of
    :func:`~dgltrees.formats.lrt.stream_lrt`.
    """
    for data, line in line_chunks(path, trees):
        items, is_relation = LRT_GRAMMAR.items(data, path, line, labeled=labeled)
        examples = parse_lrt(items, is_relation, labeled=labeled)
        yield replace(examples, forest=_sequences(data, items, is_relation))


def _sequences(data: bytes, items: Brackets, is_relation: Bools) -> Forest:
    """Return the tokens of all sentences of ``data``, whose ``items`` have been checked."""
    ids = [LRT_WORDS.get(name, -1) for name in items.names]  # -1 for relations
    word = np.array([*ids, _OPEN])[items.name]  # the name of a bracket is -1
    closing = np.flatnonzero(np.frombuffer(data, np.uint8) == ord(")"))
    start = np.concatenate([items.start[~is_relation], closing])
    order = np.argsort(start, kind="stable")
    tokens = np.append(word[~is_relation], np.full(len(closing), _CLOSE))[order].astype(np.int32)
    begins = (items.depth == 0) & ~is_relation
    first = np.searchsorted(start[order], items.start[begins])
    return chains(
        np.diff(np.append(first, len(tokens))),
        {"word": tokens, "op": _OPERATION[tokens]},
        {"word": Vocabulary(LRT_TOKENS, frozen=True), "op": OPERATIONS},
    )

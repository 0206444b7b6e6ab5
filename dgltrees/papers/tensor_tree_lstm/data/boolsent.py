"""BoolSent: Boolean expressions with the value of every subexpression.

The data set of Castellana and Bacciu, "Generalising Recursive Neural Models by Tensor
Decomposition" (IJCNN 2020).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgltrees._files import PathLike
from dgltrees.formats.brackets import Grammar, at_brackets
from dgltrees.formats.format import Format
from dgltrees.papers.tensor_tree_lstm.data.listops import find_operators
from dgltrees.trees.builders.brackets import assemble
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.vocabulary import Vocabulary

BOOLSENT_OPERATORS = ("AND", "OR", "XOR", "IMPL")
_GRAMMAR = Grammar("(value_OPERATOR ...)")
_BITS = {"0": 0, "1": 1}
_HEADS = {  # an operator with its value, and without
    f"{bit}_{name}": 3 * i + value
    for i, name in enumerate(BOOLSENT_OPERATORS)
    for bit, value in _BITS.items()
}
_BARE_HEADS = {name: 3 * i + 2 for i, name in enumerate(BOOLSENT_OPERATORS)}


def stream_boolsent(
    path: PathLike, trees: int = 10_000, *, labeled: bool = True
) -> Iterator[LabeledTrees]:
    """Yield the expressions of a BoolSent file, ``trees`` lines at a time.

    A line is one expression, ``(1_AND 1 (1_OR 0 1 ) )``. The value of each subexpression is before
    its operator.

    Node columns: ``op``, the operator's row of :data:`BOOLSENT_OPERATORS` or -1 at a leaf;
    ``value``, the bit of a leaf or -1 at an operator; ``target``, the value of the subexpression,
    at a leaf its bit. Example column: ``target``, the root's value.
    """
    heads, what = (_HEADS, " with its value") if labeled else ({**_HEADS, **_BARE_HEADS}, "")
    for items, _ in _GRAMMAR.lines(path, trees):
        is_head = find_operators(items, "an operator with its value")
        value = items.look_up(~is_head & ~items.is_open, _BITS, "a bit")
        head = at_brackets(items, is_head, items.look_up(is_head, heads, "an operator" + what))
        of_operator = np.where(head % 3 == 2, -1, head % 3)
        forest = assemble(
            ~is_head,
            items.parent,
            items.place - 1,
            {
                "op": np.where(items.is_open, head // 3, -1).astype(np.int32),
                "value": value,
                "target": np.where(items.is_open, of_operator, value).astype(np.int64),
            },
            {"op": Vocabulary(BOOLSENT_OPERATORS, frozen=True)},
        )
        yield LabeledTrees(
            forest,
            {"target": forest.columns["target"][forest.roots]},
            targets=Vocabulary(_BITS, frozen=True),
        )


BOOLSENT = Format(
    "Boolean expressions, one per line: (1_AND 1 (1_OR 0 1 ) ).",
    stream_boolsent,
    first_line=r"\([01]_[A-Z]|[01]\s*$",
)

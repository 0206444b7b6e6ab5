"""Pairs of propositional sentences, as trees, and the relation between them.

Bowman, Potts & Manning, "Recursive Neural Networks Can Learn Logical Semantics", CVSC 2015.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgltrees._files import PathLike
from dgltrees.formats.brackets import (
    Grammar,
    at_brackets,
    check_nodes,
    choose,
    labels_of_lines,
    write_lines,
)
from dgltrees.formats.format import Format
from dgltrees.trees.builders.brackets import assemble, items_in, render
from dgltrees.trees.builders.scan import Brackets
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import Bools
from dgltrees.trees.vocabulary import Vocabulary

LRT_OPERATORS = ("and", "not", "or")
"""The operators of the sentences of the logic data set."""
LRT_RELATIONS = ("#", "<", ">", "v", "|", "=", "^")
"""The relations between two sentences, in the order of their classes."""
LRT_VARIABLES = tuple("abcdef")
"""The variables of the sentences."""
LRT_WORDS = {word: i for i, word in enumerate(LRT_VARIABLES + LRT_OPERATORS)}
LRT_GRAMMAR = Grammar("relation TAB sentence TAB sentence", 3, label=0)
_NOT = LRT_WORDS["not"]


def stream_lrt(
    path: PathLike, trees: int = 10_000, *, labeled: bool = True
) -> Iterator[LabeledTrees]:
    """Read the pairs of a file of logical relations, ``trees`` lines at a time.

    A line is ``relation TAB sentence TAB sentence``; a sentence is a variable, ``( not S )``,
    ``( S ( and S ) )`` or ``( S ( or S ) )``. Each of the last two is one node with two children.

    Node columns: ``op``, the operator's row of :data:`LRT_OPERATORS` or -1 at a variable;
    ``value``, the variable's row of :data:`LRT_VARIABLES` or -1 at an operator. Example columns:
    ``target``, the relation's row of :data:`LRT_RELATIONS`; ``operators``, the larger of the two
    sentences' numbers of operators. Examples have arity 2.
    """
    for items, is_relation in LRT_GRAMMAR.lines(path, trees, labeled=labeled):
        yield parse_lrt(items, is_relation, labeled=labeled)


def parse_lrt(items: Brackets, is_relation: Bools, *, labeled: bool) -> LabeledTrees:
    """Parse the pairs of some lines, see :func:`stream_lrt`."""
    is_open, up, place = items.is_open, items.parent, items.place
    relations = {name: i for i, name in enumerate(LRT_RELATIONS)}
    relation = items.look_up(is_relation, relations, "a relation", known=labeled)
    target = labels_of_lines(items, is_relation, relation)
    word = items.look_up(~is_open & ~is_relation, LRT_WORDS, "a variable or an operator")
    is_op = word >= len(LRT_VARIABLES)
    items.refuse(
        is_op & ((up < 0) | (place != 0)),
        lambda i: f"expected {items.text(i)} at the beginning of a bracket, got it elsewhere",
    )
    count = items_in(items)
    items.refuse(
        is_open & (count != 2),
        lambda i: f"expected '( not S )' or '( S ( or S ) )', got a bracket of {count[i]} parts",
    )
    head = at_brackets(items, is_op, word)  # the operator at the beginning of a bracket
    is_not = head == _NOT
    is_tail = (head >= 0) & ~is_not  # the inner bracket ( or S )
    is_pair = is_open & (head < 0)  # the outer bracket ( S ( or S ) )
    inside_pair = (up >= 0) & is_pair[up]
    items.refuse(
        is_tail != (inside_pair & (place == 1)),
        lambda i: "expected '( S ( or S ) )': 'and' or 'or' begins the second bracket of a pair",
    )
    op = np.where(is_not, _NOT, at_brackets(items, is_tail, head))
    parent = np.where((up >= 0) & is_tail[up], up[up], up)
    node = ~is_relation & ~is_op & ~is_tail
    forest = assemble(
        node,
        parent,
        parent != up,  # the sentence in the inner bracket is the second child
        {
            "op": (np.where(op < 0, -1, op - len(LRT_VARIABLES))).astype(np.int32),
            "value": np.where(is_op, -1, word).astype(np.int32),
        },
        {
            "op": Vocabulary(LRT_OPERATORS, frozen=True),
            "value": Vocabulary(LRT_VARIABLES, frozen=True),
        },
    )
    operators = np.add.reduceat(forest.columns["op"] >= 0, forest.offsets[:-1], dtype=np.int64)
    return LabeledTrees(
        forest,
        {"target": target, "operators": operators.reshape(-1, 2).max(1)},
        arity=2,
        targets=Vocabulary(LRT_RELATIONS, frozen=True),
    )


def write_lrt(examples: LabeledTrees, path: PathLike) -> None:
    """Write pairs as a file that :func:`stream_lrt` can read.

    Arguments:
        examples: pairs with the columns of :func:`stream_lrt`.
        path: the file; it is replaced when the new one is complete.

    Raises:
        TreeError: the number of a node's children does not fit its operator, or a leaf has no
            variable; the error names tree and node.
    """
    forest = examples.forest
    op, value, names = forest.columns["op"], forest.columns["value"], forest.vocabs["op"].names
    is_not = op == names.index("not")
    arity = np.where(op < 0, 0, 2 - is_not)
    up = forest.global_parent
    is_second = forest.pos == 1
    check_nodes(
        forest,
        (forest.degree != arity)
        | ((up >= 0) & (forest.pos >= arity[up]))
        | ((op < 0) & (value < 0)),
        "expected two children below 'and' and 'or', one below 'not' and a variable at a leaf",
    )
    inner_bracket = choose([f"( {name} " for name in names], op[up])
    lead = np.where(is_second, inner_bracket, "")  # a root is no second child
    variables = choose([f"{name} " for name in LRT_VARIABLES], value)
    opening = np.where(op < 0, variables, choose(["( ", "( not "], is_not))
    closing = choose(["", ") "], op >= 0) + choose(["", ") "], is_second)
    write_lines(examples, path, render(forest, lead + opening, closing))


LRT = Format(
    "Logical relations, a line per pair: relation TAB sentence TAB sentence.",
    stream_lrt,
    write_lrt,
    first_line=r"[#<>v|=^]\t.*\t",
)

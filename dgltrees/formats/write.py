"""Examples back to the formats they are read from."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike, replacing
from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.builders.render import render
from dgltrees.trees.examples import Examples
from dgltrees.trees.forest import Forest

__all__ = ["write_listops", "write_logic"]


def write_listops(
    examples: Examples, path: PathLike, *, form: Literal["binary", "nary"] = "binary"
) -> None:
    """Write ListOps examples as ``value TAB expression`` lines; ``read_listops`` reads them again.

    Arguments:
        examples: with the columns the reader makes.
        path: the file; it is replaced at the end, or stays as it was.
        form: ``binary`` is the official ``( ( ( [SM 6 ) 5 ) ] )``, ``nary`` is ``[SM 6 5 ]``.

    Raises:
        TreeError: with tree and node: a node with children but no operator, a leaf but no digit.
        ConfigError: an unknown form.
    """
    if form not in ("binary", "nary"):
        raise ConfigError(f"form: expected 'binary' or 'nary', got {form!r}")
    forest, binary = examples.forest, form == "binary"
    inner, is_root = forest.degree > 0, forest.parent < 0
    op, value = forest.columns["op"], forest.columns["value"]
    _refuse(
        forest,
        np.where(inner, op < 0, (op >= 0) | (value < 0)),
        "expected an operator at a node with children and a digit at a leaf",
    )
    heads = _choose([f"[{name} " for name in forest.vocabs["op"].names], op)
    if binary:  # one round bracket an argument, and one for the closing square one
        heads = (
            _choose(["( " * (n + 1) for n in range(forest.degree.max() + 1)], forest.degree) + heads
        )
    digits = _choose([f"{digit} " for digit in range(10)], value)
    end = _choose(["", "] ) " if binary else "] "], inner)
    pair = _choose(["", ") "], binary & ~is_root)
    _write(examples, path, render(forest, np.where(inner, heads, digits), end + pair))


def write_logic(examples: Examples, path: PathLike) -> None:
    """Write logic pairs as ``relation TAB sentence TAB sentence``; ``read_logic`` reads them again.

    Arguments:
        examples: pairs with the columns the reader makes.
        path: the file; it is replaced at the end, or stays as it was.

    Raises:
        TreeError: with tree and node: a node whose children do not fit its operator, a leaf but no
            variable.
    """
    forest = examples.forest
    op, value, names = forest.columns["op"], forest.columns["value"], forest.vocabs["op"].names
    is_not = op == names.index("not")
    arity = np.where(op < 0, 0, 2 - is_not)
    up = forest.global_parent
    is_second = forest.pos == 1
    _refuse(
        forest,
        (forest.degree != arity)
        | ((up >= 0) & (forest.pos >= arity[up]))
        | ((op < 0) & (value < 0)),
        "expected two children below 'and' and 'or', one below 'not' and a variable at a leaf",
    )
    above = _choose([f"( {name} " for name in names], op[up])
    lead = np.where(is_second, above, "")  # a root is no second child
    variables = _choose([f"{name} " for name in "abcdef"], value)
    own = np.where(op < 0, variables, _choose(["( ", "( not "], is_not))
    end = _choose(["", ") "], op >= 0) + _choose(["", ") "], is_second)
    _write(examples, path, render(forest, lead + own, end))


def _choose(texts: list[str], rows: NDArray[np.generic]) -> NDArray[np.object_]:
    """``texts[row]`` for each row; an object array, whose sums join the texts row by row."""
    return np.array(texts, object)[rows.astype(np.int64)]


def _refuse(forest: Forest, broken: NDArray[np.bool_], rule: str) -> None:
    if broken.any():
        node = int(np.argmax(broken))
        tree = int(forest.tree_of_node[node])
        raise TreeError(f"{rule}, got another", tree=tree, node=node - int(forest.offsets[tree]))


def _write(examples: Examples, path: PathLike, trees: list[str]) -> None:
    names = examples.targets.decode(examples.columns["target"])
    sides = [trees[side :: examples.arity] for side in range(examples.arity)]
    with replacing(path) as file:
        for fields in zip(names, *sides):
            file.write("\t".join(text.rstrip() for text in fields) + "\n")

"""Forests from bracketed text, ``(S (NP the cat) sat)``, and back."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.scan import Brackets, scan
from dgltrees.trees.builders.walk import check_text
from dgltrees.trees.forest import Forest
from dgltrees.trees.order import preorder
from dgltrees.trees.segments import Bools, Ints, starts
from dgltrees.trees.vocabulary import Vocabulary, freeze_new, vocabs_for


def assemble(
    is_node: Bools,
    parent: Ints,
    pos: Ints,
    columns: Mapping[str, NDArray[Any]],
    vocabs: Mapping[str, Vocabulary],
) -> Forest:
    """Build a forest from those items of a string that are nodes."""
    index = starts(is_node)
    up = parent[is_node]
    is_root = up < 0
    offsets = np.append(np.flatnonzero(is_root), len(up))
    root = np.repeat(offsets[:-1], np.diff(offsets))
    return Forest(
        np.where(is_root, -1, index[up] - root).astype(np.int32),
        np.where(is_root, 0, pos[is_node]).astype(np.int32),
        offsets,
        {name: column[is_node] for name, column in columns.items()},
        dict(vocabs),
    )


def items_in(brackets: Brackets) -> Ints:
    """Count the items in each bracket, ``(M,)``; 0 at atoms."""
    up = brackets.parent
    return np.bincount(up[up >= 0], minlength=len(up))


def find_heads(brackets: Brackets, what: str) -> Bools:
    """Find the heads of brackets: atoms that are the first item of their bracket."""
    heads: Bools = ~brackets.is_open & (brackets.parent >= 0) & (brackets.place == 0)
    headless = brackets.is_open.copy()
    headless[brackets.parent[heads]] = False
    brackets.refuse(headless, lambda _: f"missing {what} at the beginning of a bracket")
    return heads


def render(forest: Forest, enter: ArrayLike, leave: ArrayLike) -> list[str]:
    """Write each tree as a string, with children in the order of their positions."""
    # A walk that enters and leaves every node writes 2 N strings. The string of entering node v has
    # the index 2 * rank(v) - depth(v), where the rank is its place in preorder: before it all nodes
    # of lower rank were entered and all of these but its ancestors left. The string of leaving v
    # comes 2 * size(v) - 1 later, where the size is that of its subtree.
    ranks, sizes = preorder(forest)
    entered = 2 * ranks - forest.depth
    pieces = np.empty(2 * forest.num_nodes, object)
    pieces[entered] = enter
    pieces[entered + 2 * sizes - 1] = leave
    cuts = (2 * forest.offsets).tolist()
    return ["".join(pieces[a:b]) for a, b in itertools.pairwise(cuts)]


def from_brackets(
    text: str | bytes,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    file: PathLike | None = None,
) -> Forest:
    """Build a forest from bracketed text; a tree may span several lines.

    A bracket has a label first, then its children: words, which are leaves, or brackets. ``(a)``
    and ``a`` are the same leaf. The node column is ``label``.

    Arguments:
        text: the trees; bytes are UTF-8. ``read`` takes the paths of files.
        vocabs: ``{"label": vocabulary}`` to use.
        file: the file of the text, for the errors.

    Returns:
        the forest, with nodes in preorder.

    Raises:
        TreeError: there is no tree, or the path of a file in place of its text; a bracket is not
            balanced or has no label; or a label is not in a frozen vocabulary. The error names file
            and line.

    Example:
        >>> forest = from_brackets("(S (NP the cat) sat)")
        >>> forest
        Forest(1 tree, 5 nodes, columns: label (5 names))
        >>> to_brackets(forest)
        '(S (NP the cat) sat)'
    """
    labels = vocabs_for(vocabs, "label")
    check_text(text, "trees in brackets", file=file)
    items = scan(text.encode() if isinstance(text, str) else text, by_line=False, file=file)
    if not len(items.name):
        raise TreeError("expected at least one tree, got empty text", file=file)
    is_head = find_heads(items, "a label")
    label = items.encode(~items.is_open, labels["label"])
    label[items.parent[is_head]] = label[is_head]
    freeze_new(labels, vocabs)
    return assemble(~is_head, items.parent, items.place - 1, {"label": label}, labels)


def to_brackets(forest: Forest, tree: int = 0, *, column: str = "label", none: str = "_") -> str:
    """Write a tree as bracketed text for :func:`from_brackets`; missing children are left out.

    Arguments:
        forest: the trees.
        tree: the index of the tree.
        column: the node column to write: names if it has a vocabulary, otherwise numbers.
        none: the label of nodes whose id is -1.

    Returns:
        the text, in one line.

    Raises:
        TreeError: a name is empty or contains white space or brackets.
    """
    chosen = forest.tree(tree)
    vocab = chosen.vocabs.get(column)
    values = chosen.columns[column].tolist()
    if vocab is None:
        names = list(map(str, values))
    else:
        names = [none if value < 0 else vocab.names[value] for value in values]
    for node, name in enumerate(names):
        if not name or any(c in "()" or c.isspace() for c in name):
            raise TreeError(
                f"expected a name without white space and brackets, got {name!r}; "
                "replace them before writing",
                tree=tree,
                node=node,
            )
    has_children = chosen.degree > 0
    spaces = np.where(chosen.parent < 0, "", " ").tolist()
    opening = np.where(has_children, "(", "").tolist()
    enter = [space + bracket + name for space, bracket, name in zip(spaces, opening, names)]
    return render(chosen, enter, np.where(has_children, ")", "").tolist())[0]

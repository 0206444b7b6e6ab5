"""Forests of bracketed text, ``(S (NP the cat) sat)``, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.assemble import assemble, find_heads
from dgltrees.trees.builders.render import render
from dgltrees.trees.builders.scan import scan
from dgltrees.trees.builders.vocabs import vocabs_for
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["from_brackets", "to_brackets"]


def from_brackets(
    text: str | bytes,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    file: PathLike | None = None,
) -> Forest:
    """A forest of the bracketed trees in a text; a tree may span several lines.

    A bracket has a label first, then its children: words, which are leaves, or brackets. ``(a)``
    and ``a`` are the same leaf.

    Node column: ``label``.

    Arguments:
        text: the trees; bytes are UTF-8.
        vocabs: ``{"label": vocabulary}`` to use.
        file: the file of the text, for the errors.

    Raises:
        TreeError: with file and line: there is no tree, a bracket is not balanced or has no label,
            or a label is not in a frozen vocabulary.
    """
    labels = vocabs_for(vocabs, "label")
    items = scan(text.encode() if isinstance(text, str) else text, by_line=False, file=file)
    if not len(items.name):
        raise TreeError("expected at least one tree, got an empty text", file=file)
    is_head = find_heads(items, "a label")
    label = items.encode(~items.is_open, labels["label"])
    label[items.parent[is_head]] = label[is_head]
    return assemble(~is_head, items.parent, items.place - 1, {"label": label}, labels)


def to_brackets(forest: Forest, tree: int = 0, *, column: str = "label", none: str = "_") -> str:
    """One tree as bracketed text for :func:`from_brackets`. Missing children are not written.

    Arguments:
        forest: the trees.
        tree: the index of the tree.
        column: the node column to write: names if it has a vocabulary, else numbers.
        none: the label of nodes whose id is -1.

    Raises:
        TreeError: with tree and node: a name is empty or has white space or brackets.
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

"""Forests of the syntax trees of tree-sitter, of any programming language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dgltrees._files import PathLike
from dgltrees.trees.builders.vocabs import vocabs_for
from dgltrees.trees.builders.walk import NodeLists, walk
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    import tree_sitter

__all__ = ["from_tree_sitter"]


class _Entry(NamedTuple):
    """A node and its field in the parent, if it has one."""

    field: str | None
    node: tree_sitter.Node


def from_tree_sitter(
    *trees: tree_sitter.Tree | tree_sitter.Node,
    named_only: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
    max_children: int | None = None,
    file: PathLike | None = None,
) -> Forest:
    """A forest with one tree per syntax tree of tree-sitter, nodes in preorder.

    Node columns: ``label``, the type of the node, ``ERROR`` where the text does not parse;
    ``field``, the field of the parent that holds it, else -1; ``value``, the text of a named node
    that is a leaf, else -1; and where it is in the source: ``line``, from 1, ``column``, in bytes
    from 0, and the bytes ``start`` to ``end``.

    Arguments:
        trees: what ``Parser.parse`` returns for the bytes of a source, or nodes.
        named_only: leave out the anonymous nodes, such as brackets, commas, keywords and operators.
        vocabs: vocabularies of ``label``, ``field`` and ``value`` to use.
        max_children: the largest number of children of a node; None for any.
        file: the file of the source, for the errors.

    Raises:
        TreeError: with tree and node: a name is not in a frozen vocabulary, or a node has too many
            children.
    """
    from tree_sitter import Tree

    vocabularies = vocabs_for(vocabs, "label", "field", "value")

    def children_of(entry: _Entry) -> list[_Entry]:
        cursor, children = entry.node.walk(), []
        more = cursor.goto_first_child()
        while more:
            if cursor.node is not None and (cursor.node.is_named or not named_only):
                children.append(_Entry(cursor.field_name, cursor.node))
            more = cursor.goto_next_sibling()
        return children

    roots = [_Entry(None, tree.root_node if isinstance(tree, Tree) else tree) for tree in trees]
    lists = walk(roots, children_of, lists=NodeLists(file=file))
    nodes = [entry.node for entry in lists.objects]
    names: dict[str, list[str | None]] = {
        "label": [node.type for node in nodes],
        "field": [entry.field for entry in lists.objects],
        "value": [_value(node, named_only) for node in nodes],
    }
    columns = {
        "line": np.array([node.start_point[0] + 1 for node in nodes], np.int64),
        "column": np.array([node.start_point[1] for node in nodes], np.int64),
        "start": np.array([node.start_byte for node in nodes], np.int64),
        "end": np.array([node.end_byte for node in nodes], np.int64),
    }
    return lists.forest(names, vocabularies, columns=columns, max_children=max_children)


def _value(node: tree_sitter.Node, named_only: bool) -> str | None:
    below = node.named_child_count if named_only else node.child_count
    if below or not node.is_named or node.text is None:
        return None
    return node.text.decode("utf-8", "backslashreplace")

"""Forests of the syntax trees of tree-sitter, of any programming language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dgltrees._files import PathLike
from dgltrees.trees.builders.walk import Member, forest_of_nodes
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    import tree_sitter

__all__ = ["from_tree_sitter"]


def from_tree_sitter(
    *trees: tree_sitter.Tree | tree_sitter.Node,
    named_only: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
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
        file: the file of the source, for the errors.

    Raises:
        TreeError: with tree and node: a name is not in a frozen vocabulary.
    """
    from tree_sitter import Tree

    def children_of(entry: Member) -> list[Member]:
        cursor, children = entry.node.walk(), []
        more = cursor.goto_first_child()
        while more:
            if cursor.node is not None and (cursor.node.is_named or not named_only):
                children.append(Member(cursor.field_name, cursor.node))
            more = cursor.goto_next_sibling()
        return children

    def value_of(entry: Member) -> str | None:
        node: tree_sitter.Node = entry.node
        below = node.named_child_count if named_only else node.child_count
        if below or not node.is_named or node.text is None:
            return None
        return node.text.decode("utf-8", "backslashreplace")

    return forest_of_nodes(
        [Member(None, tree.root_node if isinstance(tree, Tree) else tree) for tree in trees],
        children_of,
        {"label": lambda e: e.node.type, "field": lambda e: e.field, "value": value_of},
        vocabs,
        numbers={
            "line": lambda e: e.node.start_point[0] + 1,
            "column": lambda e: e.node.start_point[1],
            "start": lambda e: e.node.start_byte,
            "end": lambda e: e.node.end_byte,
        },
        file=file,
    )

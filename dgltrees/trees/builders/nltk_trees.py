"""NLTK's trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from dgltrees.errors import TreeError
from dgltrees.trees.builders.objects import walk
from dgltrees.trees.builders.vocabs import own_vocabs
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    import nltk

__all__ = ["from_nltk"]


def from_nltk(
    *trees: nltk.Tree,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    max_children: Optional[int] = None,
) -> Forest:
    """A forest of ``nltk.Tree`` objects, nodes in preorder, as the ``.mrg`` reader makes it.

    A tree over one word, ``(NNP Vinken)``, is one leaf; a word beside others is a leaf without a
    label; an outermost tree with an empty label and one tree in it is dropped.

    Node columns: ``label``, the tree's label or -1, and ``word``, the word of a leaf or -1.

    Arguments:
        trees: one object a tree; it is not changed.
        vocabs: ``{"label": vocabulary, "word": vocabulary}`` to use, or either.
        max_children: the number of children a node may have; None for any.

    Raises:
        TreeError: with tree and node: an object is neither ``nltk.Tree`` nor string, holds itself,
            has no children, a name is not in a frozen vocabulary, too many children.
    """
    from nltk import Tree

    def is_tag(node: Any) -> bool:
        return isinstance(node, Tree) and len(node) == 1 and isinstance(node[0], str)

    def expand(node: Any) -> Sequence[Any]:
        if isinstance(node, str) or is_tag(node):
            return ()
        if not isinstance(node, Tree):
            raise TreeError(
                f"expected nltk.Tree or a string, got an object of type {type(node).__name__}"
            )
        if not node:
            raise TreeError(f"expected children below {str(node.label())!r}, got none")
        return list(node)

    def bare(root: Any) -> Any:
        wrapped = isinstance(root, Tree) and not root.label() and len(root) == 1
        return root[0] if wrapped and isinstance(root[0], Tree) else root

    known = own_vocabs(vocabs, "label", "word")
    lists, nodes = walk(map(bare, trees), expand)
    labels = [str(node.label()) if isinstance(node, Tree) else None for node in nodes]
    words = [node if isinstance(node, str) else node[0] if is_tag(node) else None for node in nodes]
    return lists.forest({"label": labels, "word": words}, known, max_children=max_children)

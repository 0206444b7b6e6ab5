"""Forests from trees of NLTK, and back."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dgltrees.errors import TreeError
from dgltrees.trees.builders.objects import records
from dgltrees.trees.builders.walk import check_text, forest_of_nodes
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    import nltk

_TEXT = re.compile(r"\S*[()].*|[^\n]*\w\.[A-Za-z]\w*", re.DOTALL)
"""Brackets as text, or the path of a file, where a string is a word."""


def from_nltk(*trees: nltk.Tree, vocabs: Mapping[str, Vocabulary] | None = None) -> Forest:
    """Build a forest from ``nltk.Tree`` objects: one tree each, nodes in preorder.

    As in the format ``mrg``, a tree over a single word, ``(NNP Vinken)``, is one leaf, a word with
    siblings is a leaf without a label, and an outermost tree with an empty label and a single child
    is left out. Node columns: ``label``, the label of a tree that is not empty, and ``word``, the
    word of a leaf; -1 otherwise.

    Arguments:
        trees: the objects.
        vocabs: vocabularies of ``label`` and ``word`` to use.

    Returns:
        the forest.

    Raises:
        TreeError: an object is neither an ``nltk.Tree`` nor a string, contains itself, or has no
            children; or a name is not in a frozen vocabulary.

    Example:
        >>> import nltk
        >>> from_nltk(nltk.Tree.fromstring("(S (NNP Ann) (VBZ sleeps))"))
        Forest(1 tree, 3 nodes, columns: label (3 names), word (2 names))
    """
    from nltk import Tree

    def is_tag(node: Any) -> bool:
        return isinstance(node, Tree) and len(node) == 1 and isinstance(node[0], str)

    def children_of(node: Any) -> Sequence[Any]:
        if isinstance(node, str) or is_tag(node):
            return ()
        if not isinstance(node, Tree):
            raise TreeError(
                f"expected nltk.Tree or a string, got an object of type {type(node).__name__}"
            )
        if not node:
            raise TreeError(f"expected children below {str(node.label())!r}, got none")
        return list(node)

    def unwrap(number: int, root: Any) -> Any:
        if isinstance(root, str):
            check_text(root, "nltk.Tree, which nltk.Tree.fromstring makes", _TEXT, tree=number)
        is_wrapper = isinstance(root, Tree) and not root.label() and len(root) == 1
        return root[0] if is_wrapper and isinstance(root[0], Tree) else root

    def word_of(node: Any) -> str | None:
        return node if isinstance(node, str) else node[0] if is_tag(node) else None

    def label_of(node: Any) -> str | None:
        return str(node.label()) or None if isinstance(node, Tree) else None

    names = {"label": label_of, "word": word_of}
    return forest_of_nodes(
        itertools.starmap(unwrap, enumerate(trees)), children_of, names, vocabs, share=False
    )


def to_nltk(forest: Forest, tree: int = 0) -> nltk.Tree | str:
    """Convert a tree to an ``nltk.Tree``, the inverse of :func:`from_nltk`.

    A leaf with a label and a word becomes a tree over its word, one without a label becomes its
    word, and one without a word becomes a tree without children. Other columns than ``label`` and
    ``word`` are dropped.

    Arguments:
        forest: the trees, with a column ``label``, ``word``, or both.
        tree: the index of the tree.

    Returns:
        the tree; a string for a single word.

    Raises:
        TreeError: the forest has neither column, an inner node has a word, or a child is missing
            before another.
    """
    from nltk import Tree

    chosen = forest[tree]
    rows = records(chosen)
    if not {"label", "word"} & set(chosen.vocabs):
        raise TreeError(
            f"expected a column 'label' or 'word' of names, got {list(chosen.columns)}", tree=tree
        )
    below: list[list[Any]] = [[] for _ in rows]
    deepest_first = np.lexsort((chosen.pos, -chosen.depth)).tolist()
    parent, pos = chosen.parent.tolist(), chosen.pos.tolist()
    root: Any = None
    for node in deepest_first:
        label, word = rows[node].get("label"), rows[node].get("word")
        if word is not None and below[node]:
            raise TreeError(f"expected words at leaves, got {word!r}", tree=tree, node=node)
        if word is not None and label is None:
            root = word
        else:
            root = Tree(label or "", below[node] if word is None else [word])
        if parent[node] >= 0:
            if pos[node] != len(below[parent[node]]):
                message = "expected no missing child, got one"
                raise TreeError(message, tree=tree, node=parent[node])
            below[parent[node]].append(root)
    return root

"""Conversion of linked objects to the arrays of a forest, without recursion.

A builder of objects declares two things: the children of an object, and its columns. All builders
share the traversal of :func:`walk`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.columns_of import shown
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import locate
from dgltrees.trees.vocabulary import (
    Vocabulary,
    check_vocabs,
    encode_names,
    freeze_new,
    vocabs_for,
)

_VALUES = (str, bytes, int, float, complex, tuple, frozenset)
"""Types whose equal values Python may store as one object."""
_BUILDERS = {
    "from_dgl": ("dgl",),
    "from_networkx": ("networkx",),
    "from_nltk": ("nltk",),
    "from_parses": ("spacy", "stanza"),
    "from_pyg": ("torch_geometric",),
    "from_python": ("ast", "_ast"),
    "from_table": ("pandas", "pyarrow"),
    "from_tree_sitter": ("tree_sitter",),
    "from_xml": ("lxml", "xml"),
}
"""The modules whose objects a function converts."""
_PATH = re.compile(r"[^\n]*\w\.[A-Za-z]\w*")
"""A name with a suffix, which no text of trees is."""


class Member(NamedTuple):
    """An object and its field or key in the parent, None if it has none."""

    field: str | None
    node: Any


@dataclass
class NodeLists:
    """The arrays of a forest as lists, to which nodes are appended in preorder.

    Attributes:
        parent, pos: of each node, see :class:`~dgltrees.trees.forest.Forest`.
        depth: the number of edges between each node and its root.
        offsets: of the trees; the number of nodes is appended when a tree is complete.
        objects: the object of each node.
        file: the file of the trees, for the errors.
    """

    parent: list[int] = field(default_factory=list)
    pos: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=lambda: [0])
    objects: list[Any] = field(default_factory=list)
    file: PathLike | None = None

    def error(self, message: str, row: int) -> TreeError:
        """Make an error that names the tree and the node of ``row``."""
        tree, node = locate(self.offsets, row)
        return TreeError(message, file=self.file, tree=tree, node=node)

    def check_any(self) -> None:
        """Raise TreeError if there is no tree."""
        if len(self.offsets) < 2:
            raise TreeError("expected at least one tree, got none", file=self.file)

    def walked(
        self, columns: Mapping[str, NDArray[Any]], vocabs: Mapping[str, Vocabulary]
    ) -> Forest:
        """Convert the lists to a forest; its structure is not checked."""
        return Forest.of_preorder(self.parent, self.pos, self.offsets, self.depth, columns, vocabs)

    def named(
        self,
        names: Mapping[str, Sequence[str | None]],
        vocabs: Mapping[str, Vocabulary] | None,
        numbers: Mapping[str, NDArray[Any]] | None = None,
    ) -> Forest:
        """Convert the lists to a forest with columns of names and of numbers."""
        vocabularies = vocabs_for(vocabs, *names)
        self.check_any()
        ids = {
            key: encode_names(each, vocabularies[key], self.error) for key, each in names.items()
        }
        freeze_new(vocabularies, vocabs)
        return self.walked({**ids, **(numbers or {})}, vocabularies)


def forest_of_nodes(
    roots: Iterable[Any],
    children_of: Callable[[Any], Iterable[Any]],
    names: Mapping[str, Callable[[Any], str | None]],
    vocabs: Mapping[str, Vocabulary] | None,
    *,
    numbers: Mapping[str, Callable[[Any], int]] | None = None,
    file: PathLike | None = None,
    **options: Any,
) -> Forest:
    """Build a forest by visiting objects."""
    check_vocabs(vocabs or {}, names)  # before any tree is read
    lists = walk(roots, children_of, lists=NodeLists(file=file), **options)
    columns = {key: list(map(name_of, lists.objects)) for key, name_of in names.items()}
    others = {
        key: np.fromiter(map(number_of, lists.objects), np.int64, len(lists.objects))
        for key, number_of in (numbers or {}).items()
    }
    return lists.named(columns, vocabs, others)


def walk(
    roots: Iterable[Any],
    children_of: Callable[[Any], Iterable[Any]],
    *,
    share: Literal[False] | None = None,
    identity: Callable[[Any], int] = id,
    lists: NodeLists | None = None,
) -> NodeLists:
    """Visit trees of objects in preorder."""
    if share not in (None, False):
        raise ConfigError(
            "expected share=False, which writes a repeated object out at each place, or no "
            f"argument, got share={share!r}"
        )
    lists = NodeLists() if lists is None else lists
    objects, file = lists.objects, lists.file
    add_parent, add_pos, add_object = lists.parent.append, lists.pos.append, objects.append
    add_depth = lists.depth.append
    for tree, root in enumerate(roots):
        if root is None:
            raise TreeError("expected an object as root, got None", file=file, tree=tree)
        count = 0
        first: dict[int, int] = {}  # the node of each object, by identity
        open_ids = {-1}  # of the objects whose children are being visited
        stack = [(-1, -1, enumerate((root,)))]  # such an object's node, id and further children
        while stack:
            up, up_id, siblings = stack[-1]
            for place, child in siblings:
                if child is None:
                    continue
                node, child_id, count = count, identity(child), count + 1
                add_parent(up)
                add_pos(place)
                add_depth(len(stack) - 1)
                add_object(child)
                try:
                    if first.setdefault(child_id, node) != node:
                        _check_repeated(child, first[child_id], child_id in open_ids, share)
                    below = children_of(child)
                except TreeError as error:
                    raise TreeError(
                        error.message, file=file, tree=tree, node=node
                    ) from error.__cause__
                if below:
                    open_ids.add(child_id)
                    stack.append((node, child_id, enumerate(below)))
                    break
            else:
                stack.pop()
                open_ids.remove(up_id)
        lists.offsets.append(len(objects))
    return lists


def listed_graphs(graphs: Sequence[Any], attribute: str, kind: str) -> list[Any]:
    """Flatten lists of graphs of another library, and check that each has an attribute."""
    listed = [g for each in graphs for g in (each if isinstance(each, (list, tuple)) else [each])]
    for number, graph in enumerate(listed):
        if not hasattr(graph, attribute):
            raise TreeError(f"expected {kind}, got {type(graph).__name__}", tree=number)
    return listed


def check_text(text: object, what: str, path: re.Pattern[str] = _PATH, **place: Any) -> None:
    """Raise TreeError if a value is no text, or the path of a file in place of its text."""
    if not isinstance(text, (str, bytes)):
        raise TreeError(f"expected {what}, got {shown(text)}", **place)
    if isinstance(text, str) and path.fullmatch(text.strip()):
        raise TreeError(f"expected {what}, got {text!r}; dgltrees.read reads a file", **place)


def cure_for(value: Any) -> str:
    """Return how to make trees of a value that is none, for the errors."""
    module = type(value).__module__.partition(".")[0]
    builder = next((name for name, modules in _BUILDERS.items() if module in modules), None)
    if builder:
        return f"dgltrees.trees.builders.{builder} makes a Forest"
    return "Forest.from_objects makes a forest of objects"


def _check_repeated(value: Any, first: int, is_open: bool, share: Literal[False] | None) -> None:
    """Raise TreeError if an object that is the node ``first`` must not be a node again."""
    if is_open:
        raise TreeError("expected a tree, got an object that contains itself (a cycle)")
    if share is None and not isinstance(value, _VALUES):
        raise TreeError(
            f"expected each object once in a tree, got the {type(value).__name__} of node "
            f"{first} again; share=False writes it out at each place"
        )

"""From linked objects to the arrays of a forest, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.values import typed_columns
from dgltrees.trees.builders.vocabs import encode_names
from dgltrees.trees.check import check_width
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import locate
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["NodeLists", "walk"]

_VALUES = (str, bytes, int, float, complex, tuple, frozenset)
"""Types of objects that Python may store once for several equal values."""


@dataclass
class NodeLists:
    """The arrays of a forest as lists, to which nodes and trees are appended.

    Attributes:
        parent, pos: of each node; see :class:`~dgltrees.trees.forest.Forest`.
        offsets: of the trees; the number of nodes is appended when a tree is complete.
        depth, objects: the depth and the object of each node, where :func:`walk` appends them.
        file: the file of the trees, for the errors.
    """

    parent: list[int] = field(default_factory=list)
    pos: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=lambda: [0])
    depth: list[int] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    file: PathLike | None = None

    def error(self, message: str, row: int) -> TreeError:
        """An error that names the tree and the node of ``row``."""
        tree, node = locate(self.offsets, row)
        return TreeError(message, file=self.file, tree=tree, node=node)

    def check_any(self) -> None:
        """Check that there is a tree.

        Raises:
            TreeError: there is none.
        """
        if len(self.offsets) < 2:
            raise TreeError("expected at least one tree, got none", file=self.file)

    def forest(
        self,
        names: Mapping[str, Sequence[str | None]],
        vocabs: Mapping[str, Vocabulary],
        *,
        columns: Mapping[str, NDArray[Any]] | None = None,
        max_children: int | None = None,
    ) -> Forest:
        """The forest of these lists, checked unless :func:`walk` has made them.

        Arguments:
            names: columns of names, each ``(N,)``; None is no name.
            vocabs: their vocabularies.
            columns: other columns, each ``(N, ...)``.
            max_children: see :meth:`Forest.build <dgltrees.trees.forest.Forest.build>`.

        Raises:
            TreeError: with tree and node: there is no tree, a name is not in a frozen vocabulary,
                or what :meth:`Forest.build <dgltrees.trees.forest.Forest.build>` raises.
        """
        self.check_any()
        ids = {key: encode_names(column, vocabs[key], self.error) for key, column in names.items()}
        used = {key: vocabs[key] for key in names}
        return self._build({**ids, **(columns or {})}, used, max_children)

    def forest_of_values(
        self,
        values: Mapping[str, Sequence[Any]],
        *,
        vocabs: Mapping[str, Vocabulary] | None = None,
        kinds: Mapping[str, str] | None = None,
        max_children: int | None = None,
    ) -> Forest:
        """The forest of these lists with columns whose kinds their values tell.

        Arguments:
            values, vocabs, kinds: see
                :func:`~dgltrees.trees.builders.values.typed_columns`.
            max_children: see :meth:`Forest.build <dgltrees.trees.forest.Forest.build>`.

        Raises:
            TreeError: with tree and node: there is no tree, or what ``typed_columns`` and
                :meth:`Forest.build <dgltrees.trees.forest.Forest.build>` raise.
            ConfigError: what ``typed_columns`` raises.
        """
        self.check_any()
        columns, vocabularies = typed_columns(values, self.error, vocabs, kinds)
        return self._build(columns, vocabularies, max_children)

    def _build(
        self,
        columns: Mapping[str, NDArray[Any]],
        vocabs: Mapping[str, Vocabulary],
        max_children: int | None,
    ) -> Forest:
        if self.depth:  # walk goes through trees, in preorder
            if max_children is not None:
                check_width(np.array(self.pos), self.offsets, max_children, self.file, None)
            return self.walked(columns, vocabs)
        return Forest.build(
            self.parent,
            pos=self.pos,
            offsets=self.offsets,
            columns=columns,
            vocabs=vocabs,
            max_children=max_children,
            file=self.file,
        )

    def walked(
        self, columns: Mapping[str, NDArray[Any]], vocabs: Mapping[str, Vocabulary]
    ) -> Forest:
        """The forest that :func:`walk` has made of these lists, and nothing is left to check.

        Arguments:
            columns, vocabs: see :class:`~dgltrees.trees.forest.Forest`.
        """
        return Forest.of_preorder(self.parent, self.pos, self.offsets, self.depth, columns, vocabs)


def walk(
    roots: Iterable[Any],
    children_of: Callable[[Any], Iterable[Any]],
    *,
    repeat_shared: bool = False,
    identity: Callable[[Any], int] = id,
    lists: NodeLists | None = None,
) -> NodeLists:
    """Visit trees of objects in preorder.

    Arguments:
        roots: the root object of each tree.
        children_of: returns the children of an object by position, None where one is missing. It
            may raise :class:`TreeError`, to which tree and node are added.
        repeat_shared: an object at several places of a tree is a node at each; otherwise that is
            an error, but for immutable values such as strings and tuples.
        identity: a number for each object that no other object has.
        lists: where to append the nodes; new lists by default.

    Returns:
        ``lists``, with the object of each node in ``lists.objects``.

    Raises:
        TreeError: with tree and node: a root is None, an object contains itself or is at several
            places, or what ``children_of`` raises.
    """
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
                if first.setdefault(child_id, node) != node:
                    if child_id in open_ids:
                        raise TreeError(
                            "expected a tree, got an object that contains itself (a cycle)",
                            file=file,
                            tree=tree,
                            node=node,
                        )
                    if not (repeat_shared or isinstance(child, _VALUES)):
                        raise TreeError(
                            "expected an object at one place of the tree, got the "
                            f"{_type(child)} of node {first[child_id]} again; copy it, or make it "
                            "a node at each place with repeat_shared=True",
                            file=file,
                            tree=tree,
                            node=node,
                        )
                try:
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


def _type(value: Any) -> str:
    return type(value).__name__

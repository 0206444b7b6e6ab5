"""Forests of linked objects, without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.vocabs import encode_names
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import locate
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["NodeLists", "walk"]

_LEAVE = -2


@dataclass
class NodeLists:
    """The arrays of a forest as lists, to which nodes and trees are appended.

    Attributes:
        parent, pos: of each node; see :class:`~dgltrees.trees.forest.Forest`.
        offsets: of the trees; the number of nodes is appended when a tree is complete.
    """

    parent: list[int] = field(default_factory=list)
    pos: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=lambda: [0])

    def forest(
        self,
        names: Mapping[str, Sequence[Optional[str]]],
        vocabs: Mapping[str, Vocabulary],
        *,
        columns: Optional[Mapping[str, NDArray[Any]]] = None,
        max_children: Optional[int] = None,
        file: Optional[PathLike] = None,
    ) -> Forest:
        """The forest of these lists, checked.

        Arguments:
            names: columns of names, each ``(N,)``; None is no name.
            vocabs: their vocabularies.
            columns: other columns, each ``(N,)``.
            max_children, file: see :meth:`Forest.build <dgltrees.trees.forest.Forest.build>`.

        Raises:
            TreeError: with tree and node: there is no tree, a name is not in a frozen vocabulary,
                or what :meth:`Forest.build <dgltrees.trees.forest.Forest.build>` raises.
        """
        if len(self.offsets) < 2:
            raise TreeError("expected at least one tree, got none", file=file)

        def error(message: str, row: int) -> TreeError:
            tree, node = locate(self.offsets, row)
            return TreeError(message, file=file, tree=tree, node=node)

        ids = {key: encode_names(column, vocabs[key], error) for key, column in names.items()}
        return Forest.build(
            self.parent,
            pos=self.pos,
            offsets=self.offsets,
            columns={**ids, **(columns or {})},
            vocabs={key: vocabs[key] for key in names},
            max_children=max_children,
            file=file,
        )


def walk(
    roots: Iterable[Any],
    children_of: Callable[[Any], Sequence[Any]],
    *,
    file: Optional[PathLike] = None,
) -> tuple[NodeLists, list[Any]]:
    """Visit trees of objects in preorder.

    Arguments:
        roots: the root object of each tree.
        children_of: returns the children of an object by position, None where one is missing. It
            may raise :class:`TreeError`, to which tree and node are added.
        file: the file of the objects, for the errors.

    Returns:
        the parents, positions and offsets of the nodes; and the object of each node.

    Raises:
        TreeError: with tree and node: an object contains itself, or what ``children_of`` raises.
    """
    lists = NodeLists()
    nodes: list[Any] = []
    for tree, root in enumerate(roots):
        base = len(nodes)
        stack: list[tuple[Any, int, int]] = [(root, -1, 0)]  # object, parent and position
        path: set[int] = set()  # the ancestors of the object, by id
        while stack:
            node, up, place = stack.pop()
            if up == _LEAVE:
                path.discard(place)
                continue
            index = len(nodes) - base
            try:
                children = children_of(node)
            except TreeError as error:
                raise TreeError(str(error), file=file, tree=tree, node=index) from None
            nodes.append(node)
            lists.parent.append(up)
            lists.pos.append(place)
            if children:
                if id(node) in path:
                    raise TreeError(
                        "expected a tree, got an object that contains itself (a cycle)",
                        file=file,
                        tree=tree,
                        node=index,
                    )
                path.add(id(node))
                stack.append((None, _LEAVE, id(node)))  # below the children: when all are done
                stack.extend(
                    (children[i], index, i)
                    for i in range(len(children) - 1, -1, -1)
                    if children[i] is not None
                )
        lists.offsets.append(len(nodes))
    return lists, nodes

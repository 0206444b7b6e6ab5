"""From linked objects to parent arrays, without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import locate
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["NodeLists", "walk"]

_LEAVE = -2


@dataclass
class NodeLists:
    """Trees as growing lists: ``parent`` and ``pos`` of each node, ``offsets`` of the trees."""

    parent: list[int]
    pos: list[int]
    offsets: list[int]

    def forest(
        self,
        names: Mapping[str, Sequence[Optional[str]]],
        vocabs: Mapping[str, Vocabulary],
        *,
        columns: Optional[Mapping[str, NDArray[Any]]] = None,
        max_children: Optional[int] = None,
        file: Optional[PathLike] = None,
    ) -> Forest:
        """The checked forest, with an id column for each of ``names``; None has the id -1.

        Raises:
            TreeError: there is no tree, a name is not in a frozen vocabulary, or
                :meth:`Forest.build` finds a rule broken; with tree and node.
        """
        if len(self.offsets) < 2:
            raise TreeError("expected at least one tree, got none", file=file)
        ids = {key: self._encode(names[key], vocabs[key], file) for key in names}
        return Forest.build(
            self.parent,
            pos=self.pos,
            offsets=self.offsets,
            columns={**ids, **(columns or {})},
            vocabs={key: vocabs[key] for key in names},
            max_children=max_children,
            file=file,
        )

    def _encode(
        self, names: Sequence[Optional[str]], vocab: Vocabulary, file: Optional[PathLike]
    ) -> NDArray[np.int32]:
        there = [i for i, name in enumerate(names) if name is not None]
        ids = np.full(len(names), -1, np.int32)
        try:
            ids[there] = vocab.encode([name for name in names if name is not None])
        except TreeError as error:
            node = next(i for i in there if names[i] not in vocab)
            tree, place = locate(self.offsets, node)
            raise TreeError(str(error), file=file, tree=tree, node=place) from None
        return ids


def walk(
    roots: Iterable[Any],
    expand: Callable[[Any], Sequence[Any]],
    *,
    file: Optional[PathLike] = None,
) -> tuple[NodeLists, list[Any]]:
    """Walk trees of objects in preorder.

    Arguments:
        roots: the root object of each tree.
        expand: the children of an object, by position; None where one is missing. It may raise
            :class:`TreeError`, whose message then gets tree and node.
        file: for the errors.

    Returns:
        The trees, and the object of each node.

    Raises:
        TreeError: an object holds itself, or what ``expand`` raises.
    """
    lists = NodeLists([], [], [0])
    nodes: list[Any] = []
    for tree, root in enumerate(roots):
        base = len(nodes)
        stack: list[tuple[Any, int, int]] = [(root, -1, 0)]
        path: set[int] = set()  # the objects above the present one, by id
        while stack:
            node, up, place = stack.pop()
            if up == _LEAVE:
                path.discard(place)
                continue
            index = len(nodes) - base
            try:
                children = expand(node)
            except TreeError as error:
                raise TreeError(str(error), file=file, tree=tree, node=index) from None
            nodes.append(node)
            lists.parent.append(up)
            lists.pos.append(place)
            if children:
                if id(node) in path:
                    raise TreeError(
                        "expected a tree, got an object that holds itself (a cycle)",
                        file=file,
                        tree=tree,
                        node=index,
                    )
                path.add(id(node))
                stack.append((None, _LEAVE, id(node)))
                stack.extend(
                    (children[i], index, i)
                    for i in range(len(children) - 1, -1, -1)
                    if children[i] is not None
                )
        lists.offsets.append(len(nodes))
    return lists, nodes

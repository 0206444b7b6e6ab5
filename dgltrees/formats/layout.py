"""How trees stand in people's own files: under which keys, in which columns."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """Where a file of one's own has its trees.

    Every format reads some of the fields, see :attr:`dgltrees.formats.Format.layout`.
    """

    children: str = "children"
    """Key of the list of children in a node's object."""
    tree: str | list[str] | None = None
    """Path from a record to the root's object, with dots between keys, such as ``Plan`` or
    ``json.Plan``; by default the record itself is the root, or in a table what its column ``tree``
    or ``json`` holds. Two paths where a record holds a pair of trees."""
    tree_id: str | None = None
    """Column that tells the trees of a node table apart; by default ``tree`` or ``tree_id``."""
    node_id: str | None = None
    """Column of the ids of nodes; by default ``node``, ``node_id`` or ``id``. Beside ``depth`` it
    is read only if it is named, and rows are then sorted by it within their tree."""
    parent: str | None = None
    """Column with the id of each node's parent, empty at a root; by default ``parent`` or
    ``parent_id``. In Arrow files the column of lists of parents."""
    depth: str | None = None
    """Column with the depth of each node, whose rows are in preorder; by default ``depth``, if
    there is no column of parents."""
    names: tuple[str, ...] = ()
    """Columns that hold names even where they look like numbers, or hold both."""
    attributes: bool = False
    """Attributes of the elements of XML are nodes too: children ``@name`` with their value."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Each path of ``tree``; there is none where the record itself is the root."""
        return (self.tree,) if isinstance(self.tree, str) else tuple(self.tree or ())

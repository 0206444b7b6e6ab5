"""The arguments of message, reduce and update functions: DGL's interface on plain tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from dataclasses import dataclass

from torch import Tensor

from dgltrees.errors import ConfigError

Groups = list[tuple[int, int]]
"""Runs of equal values that partition the rows of a batch of nodes: ``(value, count)``."""


@dataclass(frozen=True)
class IndexedRows:
    """A node field in which many nodes have the same row, such as the vectors of words.

    Some cells have a fast implementation that transforms each distinct row once; all others
    receive the field as one tensor, :meth:`dense`.

    Attributes:
        rows: ``(V, ...)`` the distinct rows.
        index: ``(N,)`` int64, the row of each node.
    """

    rows: Tensor
    index: Tensor

    def dense(self) -> Tensor:
        """The field of all nodes, ``(N, ...)``."""
        return self.rows.index_select(0, self.index)


class FieldError(ConfigError, KeyError):
    """A function reads a field of nodes or edges that is not there."""

    __str__ = ConfigError.__str__  # that of KeyError is in quotes


class Fields(MutableMapping[str, Tensor]):
    """Named tensors that are fetched when they are first read; writing changes only this view.

    Arguments:
        names: the names of the fields that ``fetch`` can return.
        fetch: returns a field by its name.
        overlay: tensors by name, which take precedence over fields of the same name.
        groups: the runs of rows of equal groups, if they are known on the host.
    """

    def __init__(
        self,
        names: Collection[str],
        fetch: Callable[[str], Tensor],
        overlay: dict[str, Tensor] | None = None,
        groups: Groups | None = None,
    ) -> None:
        self._names, self._fetch, self.groups = names, fetch, groups
        self._tensors: dict[str, Tensor] = {} if overlay is None else dict(overlay)

    def __getitem__(self, name: str) -> Tensor:
        tensor = self._tensors.get(name)
        if tensor is None:
            if name not in self._names:
                raise FieldError(f"no field {name!r} here; there are {sorted(self)}")
            tensor = self._tensors[name] = self._fetch(name)
        return tensor

    def __setitem__(self, name: str, tensor: Tensor) -> None:
        self._tensors[name] = tensor

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise FieldError(f"no field {name!r} here; there are {sorted(self)}")
        self._tensors.pop(name, None)
        self._names = {other for other in self._names if other != name}

    def __contains__(self, name: object) -> bool:
        return name in self._tensors or name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(self._names), **self._tensors})

    def __len__(self) -> int:
        return len({*self._names, *self._tensors})


class Mailbox(dict[str, Tensor]):
    """The messages of nodes by their names."""

    __slots__ = ()

    def __missing__(self, name: str) -> Tensor:
        there = f"there are {sorted(self)}" if self else "there are none"
        raise FieldError(f"no message {name!r} here; {there}")


class Edges:
    """A batch of edges, with the interface of ``dgl.udf.EdgeBatch``.

    Attributes:
        src: the source nodes' fields, each ``(E, ...)``.
        dst: the destination nodes' fields from before the traversal, each ``(E, ...)``.
        data: fields of the edges.
        slotted: whether the traversal puts the messages into slots; if not, a cell with slots
            adds their positions to the messages.
    """

    __slots__ = ("_ends", "data", "dst", "slotted", "src")
    canonical_etype = ("_N", "_E", "_N")

    def __init__(
        self,
        src: Mapping[str, Tensor],
        dst: Mapping[str, Tensor],
        data: Mapping[str, Tensor],
        ends: tuple[Tensor, Tensor, Tensor],
        slotted: bool = False,
    ) -> None:
        self.src, self.dst, self.data, self._ends = src, dst, data, ends
        self.slotted = slotted

    def edges(self) -> tuple[Tensor, Tensor, Tensor]:
        """The source nodes, the destination nodes and the ids of the edges, each ``(E,)``."""
        return self._ends

    def batch_size(self) -> int:
        """The number of edges."""
        return len(self._ends[0])

    __len__ = batch_size


class Nodes:
    """A batch of nodes, with the interface of ``dgl.udf.NodeBatch``, plus groups and slots.

    Attributes:
        data: fields of the nodes, each ``(n, ...)``; in an update function they
            include the results of the reduce function.
        mailbox: messages, each ``(n, degree, ...)``, or ``(n, slots, ...)`` with zeros where a
            child is missing; empty in an update function.
        groups: with ``group_by``, the runs of equal values, on the host; else None.
        mask: with ``slots``, ``(n, slots)`` bool, where there is a child; else None.
    """

    __slots__ = ("_ids", "data", "groups", "mailbox", "mask")
    ntype = "_N"

    def __init__(
        self,
        ids: Tensor,
        data: Mapping[str, Tensor],
        mailbox: Mapping[str, Tensor],
        groups: Groups | None = None,
        mask: Tensor | None = None,
    ) -> None:
        self._ids, self.data, self.mailbox = ids, data, mailbox
        self.groups, self.mask = groups, mask

    @property
    def msgs(self) -> Mapping[str, Tensor]:
        """DGL's other name for :attr:`mailbox`."""
        return self.mailbox

    def nodes(self) -> Tensor:
        """The ids of the nodes, ``(n,)``."""
        return self._ids

    def batch_size(self) -> int:
        """The number of nodes."""
        return len(self._ids)

    __len__ = batch_size

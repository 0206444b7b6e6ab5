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

    Compiled cells transform each distinct row once. All others receive the field as one tensor,
    :meth:`dense`.

    Attributes:
        rows: ``(V, ...)`` the distinct rows.
        index: ``(N,)`` int64, the row of each node.

    Example:
        >>> import torch
        >>> from dgltrees.traversal import IndexedRows
        >>> x = IndexedRows(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.tensor([1, 1, 0]))
        >>> x.dense()
        tensor([[2., 3.],
                [2., 3.],
                [0., 1.]])
    """

    rows: Tensor
    index: Tensor

    def dense(self) -> Tensor:
        """Return the field of all nodes, ``(N, ...)``."""
        return self.rows.index_select(0, self.index)


class FieldError(ConfigError, KeyError):
    """The error of a function that reads a missing field of nodes or edges."""

    __str__ = ConfigError.__str__  # that of KeyError is in quotes


class Fields(MutableMapping[str, Tensor]):
    """Named tensors, fetched when they are first read; writing changes only this view.

    Arguments:
        names: the names of the fields that ``fetch`` can return.
        fetch: returns a field by its name.
        overlay: tensors by name, which take precedence over fields of the same name.
        groups: the runs of rows of the same group, if they are known on the host.
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
                raise FieldError(f"missing field {name!r}; the fields are {sorted(self)}")
            tensor = self._tensors[name] = self._fetch(name)
        return tensor

    def __setitem__(self, name: str, tensor: Tensor) -> None:
        self._tensors[name] = tensor

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise FieldError(f"missing field {name!r}; the fields are {sorted(self)}")
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
        names = f"the messages are {sorted(self)}" if self else "there are no messages"
        raise FieldError(f"missing message {name!r}; {names}")


class Edges:
    """A batch of edges, with the interface of ``dgl.udf.EdgeBatch``.

    Attributes:
        src: the fields of the source nodes, each ``(E, ...)``.
        dst: the fields of the destination nodes before the traversal, each ``(E, ...)``.
        data: the fields of the edges, each ``(E, ...)``.
        slotted: whether the traversal puts the messages into slots. If not, a cell with slots
            adds their positions to the messages.
    """

    __slots__ = ("_ends", "data", "dst", "slotted", "src")

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
        """Return the source nodes, destination nodes and ids of the edges, each ``(E,)``."""
        return self._ends

    def batch_size(self) -> int:
        """Return the number of edges, E."""
        return len(self._ends[0])

    __len__ = batch_size


class Nodes:
    """A batch of nodes, with the interface of ``dgl.udf.NodeBatch``, plus groups and slots.

    Attributes:
        data: the fields of the nodes, each ``(n, ...)``. In an update function they include the
            results of the reduce function.
        mailbox: the messages, each ``(n, degree, ...)``, or ``(n, slots, ...)`` with zeros for
            missing children; empty in an update function.
        groups: with ``group_by``, the runs of equal values as ``(value, count)``; else None.
        mask: with ``slots``, ``(n, slots)`` bool, True where there is a child; else None.
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
        """Return :attr:`mailbox`; DGL has both names."""
        return self.mailbox

    def nodes(self) -> Tensor:
        """Return the ids of the nodes, ``(n,)``."""
        return self._ids

    def batch_size(self) -> int:
        """Return the number of nodes, n."""
        return len(self._ids)

    __len__ = batch_size

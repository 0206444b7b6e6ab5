"""What a node shows to its cell: a vector for each id of a node column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Optional

import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError, TreeError
from dgltrees.traversal.order import at_node
from dgltrees.traversal.views import IndexedRows
from dgltrees.trees.batch import TreeBatch

__all__ = ["Concat", "GivenVectors", "NodeInput", "OneHot", "Thermometer", "WordEmbedding"]


class NodeInput(nn.Module, ABC):
    """Looks up a row of a table for each node's id; a node whose id is -1 gets zeros.

    Arguments:
        column: the node column of ids, 0 to ``rows - 1`` or -1.
        rows: number of ids.
        size: m, the size of a vector.

    Raises:
        ConfigError: a size is not positive.
    """

    def __init__(self, column: str, rows: int, size: int) -> None:
        super().__init__()
        if rows < 1 or size < 1:
            raise ConfigError(
                f"expected at least 1 id and a vector of size 1 for column {column!r}, got {rows} "
                f"and {size}"
            )
        self.column, self.rows, self.size = column, rows, size

    @abstractmethod
    def look_up(self, ids: Tensor) -> Tensor:
        """``(N, m)`` vectors of ids from -1 to ``rows - 1``."""

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(N, m)`` vectors of all nodes.

        Raises:
            TreeError: the batch has no such column, or an id is out of range.
        """
        return self.look_up(self._ids(batch).long())

    def indexed(self, batch: TreeBatch) -> IndexedRows:
        """The vectors of the ids that there are, and which of them each node has.

        Raises:
            TreeError: the batch has no such column, or an id is out of range.
        """
        ids = self._ids(batch)
        if self.rows < len(ids):  # all that there can be
            every = torch.arange(-1, self.rows, device=ids.device)
            return IndexedRows(self.look_up(every), ids.long() + 1)
        some, index = torch.unique(batch.on_host(ids).long(), return_inverse=True)
        moved = (t.to(ids.device, non_blocking=True) for t in (some, index))
        return IndexedRows(self.look_up(next(moved)), next(moved))

    def _ids(self, batch: TreeBatch) -> Tensor:
        if self.column not in batch.ndata:
            raise TreeError(
                f"expected a node column {self.column!r}, got only {sorted(batch.ndata)}"
            )
        ids = batch.ndata[self.column]
        self._check(batch, ids)
        return ids

    def _check(self, batch: TreeBatch, ids: Tensor) -> None:
        """Raise TreeError at a node whose id is out of range; one that was moved is not fetched."""
        here = batch.on_host(ids).long()
        wrong = (here < -1) | (here >= self.rows)
        if wrong.any():
            node = int(wrong.byte().argmax())
            raise at_node(
                batch,
                node,
                f"expected ids of column {self.column!r} to be -1 to {self.rows - 1}, got "
                f"{int(here[node])}; make the input for as many ids as the vocabulary has",
            )

    def extra_repr(self) -> str:
        """The column and the sizes, for printing."""
        return f"{self.column!r}, {self.rows} ids, m={self.size}"


class _Fixed(NodeInput):
    """A table without parameters."""

    rows_of_ids: Tensor

    def __init__(self, column: str, table: Tensor) -> None:
        super().__init__(column, *table.shape)
        zero = table.new_zeros(1, table.shape[1])
        self.register_buffer("rows_of_ids", torch.cat([zero, table]), persistent=False)

    def look_up(self, ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids + 1, self.rows_of_ids)


class OneHot(_Fixed):
    """Id k is the vector with a one at place k.

    Arguments:
        column: the node column of ids.
        size: number of ids, and of entries.
    """

    def __init__(self, column: str, size: int) -> None:
        super().__init__(column, torch.eye(size))


class Thermometer(_Fixed):
    """Id k is the vector whose first k + 1 entries are one: digits, in section V.C of the paper.

    Arguments:
        column: the node column of ids.
        size: number of ids, and of entries.
    """

    def __init__(self, column: str, size: int) -> None:
        super().__init__(column, torch.ones(size, size).tril())


class WordEmbedding(NodeInput):
    """A learned vector for each id.

    Arguments:
        column: the node column of ids.
        rows: number of ids.
        size: m, the size of a vector.
        vectors: ``(rows, m)`` what the vectors are at first; U(-0.05, 0.05), if not given.
        frozen: keep them as they are at first.
    """

    def __init__(
        self,
        column: str,
        rows: int,
        size: int,
        *,
        vectors: Optional[Tensor] = None,
        frozen: bool = False,
    ) -> None:
        super().__init__(column, rows, size)
        if vectors is None:
            vectors = torch.empty(rows, size).uniform_(-0.05, 0.05)
        if vectors.shape != (rows, size):
            raise ConfigError(
                f"expected vectors of shape {(rows, size)}, got {tuple(vectors.shape)}"
            )
        self.weight = nn.Parameter(vectors.clone(), requires_grad=not frozen)

    def look_up(self, ids: Tensor) -> Tensor:
        """``(N, m)`` vectors of ids, zero where the id is -1."""
        vectors = nn.functional.embedding(ids.clamp(min=0), self.weight)
        return vectors.masked_fill((ids < 0).unsqueeze(1), 0.0)


class GivenVectors(nn.Module):
    """Vectors that the nodes have already.

    Arguments:
        column: the node column ``(N, size)``.
        size: m, the size of a vector.
    """

    def __init__(self, column: str, size: int) -> None:
        super().__init__()
        self.column, self.size = column, size

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(N, m)`` vectors of all nodes.

        Raises:
            TreeError: the batch has no such column, or one of another size.
        """
        found = batch.ndata.get(self.column)
        if found is None or found.shape[1:] != (self.size,):
            got = f"only {sorted(batch.ndata)}" if found is None else str(tuple(found.shape))
            raise TreeError(
                f"expected a node column {self.column!r} of shape (N, {self.size}), got {got}"
            )
        return found

    def extra_repr(self) -> str:
        """The column and the size, for printing."""
        return f"{self.column!r}, m={self.size}"


class Concat(nn.Module):
    """Several inputs side by side.

    Arguments:
        inputs: the inputs; their sizes add up.
    """

    def __init__(self, inputs: Sequence[NodeInput]) -> None:
        super().__init__()
        self.inputs = nn.ModuleList(inputs)
        self.size = sum(each.size for each in inputs)

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(N, m)`` vectors of all nodes."""
        return torch.cat([each(batch) for each in self.inputs], 1)

"""Input modules: from node columns to the input vectors of nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError, TreeError
from dgltrees.settings import Count
from dgltrees.traversal.order import node_error
from dgltrees.traversal.views import IndexedRows
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.vocabulary import Vocabulary


class Input(nn.Module, ABC):
    """Base class of modules that map a batch to the ``(N, m)`` input vectors of its nodes.

    Attributes:
        size: m, the size of a vector.
        ids: the node column of the ids that are looked up; None if the vectors do not depend on
            ids.
    """

    size: int
    ids: str | None = None

    @property
    def table(self) -> nn.Parameter | None:
        """The parameter with the vectors of all ids, ``(rows, m)``, or None."""
        return None

    @abstractmethod
    def forward(self, batch: TreeBatch) -> Tensor:
        """Return the vectors of all nodes, ``(N, m)``."""

    def indexed(self, batch: TreeBatch) -> Tensor | IndexedRows:
        """Return the vectors of :meth:`forward`, computed only once for nodes with equal ids."""
        vectors: Tensor = self(batch)
        return vectors


def node_column(batch: TreeBatch, name: str) -> Tensor:
    """Return a column of a batch, ``(N, ...)``; raise TreeError if there is none."""
    if name not in batch.ndata:
        raise TreeError(f"expected a node column {name!r}, got only {sorted(batch.ndata)}")
    return batch.ndata[name]


class NodeInput(Input):
    """A lookup table: the vector of a node is the row of its id, or zeros if its id is -1.

    Arguments:
        column: the node column of ids, 0 to ``rows - 1`` or -1.
        rows: number of ids.
        size: m, the size of a vector.
    """

    def __init__(self, column: str, rows: Count | Vocabulary, size: Count) -> None:
        super().__init__()
        self.vocab = rows if isinstance(rows, Vocabulary) else None
        self.column, self.size = column, size
        self.rows = len(rows) if isinstance(rows, Vocabulary) else rows
        self.ids = column

    @abstractmethod
    def look_up(self, ids: Tensor) -> Tensor:
        """Return the vectors of ids from -1 to ``rows - 1``, ``(N, m)``."""

    def forward(self, batch: TreeBatch) -> Tensor:
        """Return the vectors of all nodes, ``(N, m)``.

        Raises:
            TreeError: the batch has no such column, or an id is out of range.
        """
        return self.look_up(self._ids(batch).long())

    def indexed(self, batch: TreeBatch) -> IndexedRows:
        """Return the vectors of the distinct ids of the batch, and the row of each node.

        Raises:
            TreeError: the batch has no such column, or an id is out of range.
        """
        ids = self._ids(batch)
        if self.rows < len(ids):
            all_ids = torch.arange(-1, self.rows, device=ids.device)
            return IndexedRows(self.look_up(all_ids), ids.long() + 1)
        unique, index = torch.unique(batch.on_host(ids).long(), return_inverse=True)
        moved = (t.to(ids.device, non_blocking=True) for t in (unique, index))
        return IndexedRows(self.look_up(next(moved)), next(moved))

    def _ids(self, batch: TreeBatch) -> Tensor:
        ids = node_column(batch, self.column)
        known, own = batch.vocabs.get(self.column), self.vocab
        if known is not None and own is not None and known is not own and known != own:
            raise TreeError(
                f"expected column {self.column!r} with the vocabulary of this embedding, of "
                f"{len(own)} names, got another one, of {len(known)}; read the trees with "
                "read(path, like=data)"
            )
        host_ids = batch.on_host(ids).long()  # not copied from a device
        wrong = (host_ids < -1) | (host_ids >= self.rows)
        if wrong.any():
            node = int(wrong.byte().argmax())
            raise node_error(
                batch,
                node,
                f"expected ids of column {self.column!r} to be -1 to {self.rows - 1}, got "
                f"{int(host_ids[node])}; give the input as many rows as the vocabulary has names",
            )
        return ids

    def extra_repr(self) -> str:
        """Return the column and the sizes, for ``repr``."""
        return f"{self.column!r}, {self.rows} ids, m={self.size}"


class _Fixed(NodeInput):
    rows_of_ids: Tensor

    def __init__(self, column: str, table: Tensor) -> None:
        super().__init__(column, *table.shape)
        zero = table.new_zeros(1, table.shape[1])
        self.register_buffer("rows_of_ids", torch.cat([zero, table]), persistent=False)

    def look_up(self, ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids + 1, self.rows_of_ids)


class OneHot(_Fixed):
    """One-hot vectors: entry k of the vector of id k is one, the others are zero.

    Arguments:
        column: the node column of ids.
        size: number of ids, and of entries.
    """

    def __init__(self, column: str, size: Count) -> None:
        super().__init__(column, torch.eye(size))


class Thermometer(_Fixed):
    """Thermometer codes: the first k + 1 entries of the vector of id k are one, the others zero.

    Castellana and Bacciu, section V.C, use this code for digits.

    Arguments:
        column: the node column of ids.
        size: number of ids, and of entries.
    """

    def __init__(self, column: str, size: Count) -> None:
        super().__init__(column, torch.ones(size, size).tril())


class WordEmbedding(NodeInput):
    """A learned vector for each id.

    Arguments:
        column: the node column of ids.
        rows: number of ids; or their vocabulary, and batches of another one are an error.
        size: m, the size of a vector.
        vectors: ``(rows, m)`` the initial vectors; by default they are drawn from U(-0.05, 0.05).
        frozen: do not train the vectors.

    Example:
        >>> from dgltrees.trees.builders import from_nested
        >>> batch = from_nested(("+", "1", "2"), "3", form="head").batch()
        >>> WordEmbedding("label", rows=4, size=8)(batch).shape
        torch.Size([4, 8])
    """

    def __init__(
        self,
        column: str,
        rows: Count | Vocabulary,
        size: Count,
        *,
        vectors: Tensor | None = None,
        frozen: bool = False,
    ) -> None:
        super().__init__(column, rows, size)
        if vectors is None:
            vectors = torch.empty(self.rows, size).uniform_(-0.05, 0.05)
        if vectors.shape != (self.rows, size):
            raise ConfigError(
                f"expected vectors of shape {(self.rows, size)}, got {tuple(vectors.shape)}"
            )
        self.weight = nn.Parameter(vectors.clone(), requires_grad=not frozen)

    @property
    def table(self) -> nn.Parameter:
        """The vectors of all ids, ``(rows, m)``."""
        return self.weight

    def look_up(self, ids: Tensor) -> Tensor:
        """Return the vectors of ids, ``(N, m)``, zero where the id is -1."""
        vectors = nn.functional.embedding(ids.clamp(min=0), self.weight)
        return vectors.masked_fill((ids < 0).unsqueeze(1), 0.0)


class GivenVectors(Input):
    """Input vectors that are stored in a node column.

    Arguments:
        column: the node column ``(N, size)``.
        size: m, the size of a vector.
    """

    def __init__(self, column: str, size: Count) -> None:
        super().__init__()
        self.column, self.size = column, size

    def forward(self, batch: TreeBatch) -> Tensor:
        """Return the vectors of all nodes, ``(N, m)``.

        Raises:
            TreeError: the batch has no such column, or it has the wrong size.
        """
        vectors = batch.ndata.get(self.column)
        if vectors is None or vectors.shape[1:] != (self.size,):
            got = f"only {sorted(batch.ndata)}" if vectors is None else str(tuple(vectors.shape))
            raise TreeError(
                f"expected a node column {self.column!r} of shape (N, {self.size}), got {got}"
            )
        return vectors

    def extra_repr(self) -> str:
        """Return the column and the size, for ``repr``."""
        return f"{self.column!r}, m={self.size}"


class Concat(Input):
    """The concatenation of several inputs.

    Arguments:
        inputs: the inputs; the size is the sum of their sizes.
    """

    def __init__(self, inputs: Sequence[Input]) -> None:
        super().__init__()
        self.inputs = nn.ModuleList(inputs)
        self.size = sum(each.size for each in inputs)

    def forward(self, batch: TreeBatch) -> Tensor:
        """Return the vectors of all nodes, ``(N, m)``."""
        return torch.cat([each(batch) for each in self.inputs], 1)

"""Input vectors of nodes with several columns: the sum of one encoder per column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.models.inputs import Input
from dgltrees.models.siblings import SiblingPositions
from dgltrees.settings import Count, Fraction
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.columns import Column
from dgltrees.trees.schema import NUMBERS, Schema
from dgltrees.trees.segments import blocks


class NameVectors(nn.Module):
    """Learned vectors of the categories of a column, or the mean over the words of a text column.

    The vector of a missing value is zero: the others and the bias are learned relative to it. That
    of the unknown category (``<unk>``) begins at zero, and is learned from rare categories.

    Arguments:
        rows: number of categories or words.
        size: m, the size of a vector.
        unknown: the id of ``<unk>``; None if there is none.

    Shapes:
        Ids ``(N,)``, or ``(N, words)`` for texts, -1 if missing, to ``(N, m)``.
    """

    def __init__(self, rows: int, size: int, unknown: int | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(rows, size) * size**-0.5)
        if unknown is not None:
            with torch.no_grad():
                self.weight[unknown] = 0.0

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors of ids, ``(N, m)``."""
        ids = ids.long()
        is_name = ids >= 0
        vectors = nn.functional.embedding(ids.clamp(min=0), self.weight)
        vectors = vectors * is_name.unsqueeze(-1)
        if ids.dim() == 1:
            return vectors
        return vectors.sum(1) / is_name.sum(1, keepdim=True).clamp(min=1)


class NumberVectors(nn.Module):
    r"""A linear map of standardised numbers and of indicators of missing numbers.

    .. math:: z_k = (f_k(x_k) - \mu_k) / \sigma_k, \quad x = W [z; missing] + b

    where f is the logarithm of 1 + x / u for columns of kind ``log``. The unit u is 1, or the 5 %
    quantile of the positive numbers if 95 % of them are below 1, where log(1 + x) is nearly x.
    Unit, mean and deviation are taken over the nodes of the training trees (:meth:`standardise`); a
    missing number is replaced by the mean. The weights of the indicators are initially 0, so that
    an indicator which is never set in training has no effect.

    Arguments:
        logs: ``(K,)`` whether each number is of kind ``log``.
        size: m, the size of a vector.

    Shapes:
        ``(N, K)``, NaN for a missing number, to ``(N, m)``.
    """

    mean: Tensor
    deviation: Tensor
    unit: Tensor
    logs: Tensor

    def __init__(self, logs: Sequence[bool], size: int) -> None:
        super().__init__()
        count, self.any_log = len(logs), any(logs)
        self.register_buffer("logs", torch.tensor(logs, dtype=torch.bool))
        self.register_buffer("mean", torch.zeros(count, dtype=torch.float64))
        self.register_buffer("deviation", torch.ones(count, dtype=torch.float64))
        self.register_buffer("unit", torch.ones(count, dtype=torch.float64))
        self.linear = nn.Linear(2 * count, size)
        with torch.no_grad():
            self.linear.weight[:, count:] = 0.0

    def standardise(self, values: NDArray[np.float64]) -> None:
        """Store unit, mean and deviation of the ``(N, K)`` numbers of the training trees."""
        for k in torch.nonzero(self.logs).flatten().tolist():
            positive = values[values[:, k] > 0, k]
            is_small = len(positive) > 0 and np.quantile(positive, 0.95) < 1
            self.unit[k] = np.quantile(positive, 0.05) if is_small else 1.0

        def parts() -> Iterator[Tensor]:  # there may be more than fit into memory
            for block in blocks(len(values)):
                yield self._logarithms(torch.from_numpy(np.array(values[block])))

        none = torch.zeros(len(self.mean), dtype=torch.float64)
        count = sum(((~part.isnan()).sum(0) for part in parts()), none).clamp(min=1)
        mean = sum((part.nan_to_num(0.0).sum(0) for part in parts()), none) / count
        squares = sum(((part - mean).nan_to_num(0.0).square().sum(0) for part in parts()), none)
        deviation = (squares / count).sqrt()
        self.mean.copy_(mean)
        self.deviation.copy_(torch.where(deviation > 1e-12 * mean.abs(), deviation, 1.0))

    def forward(self, values: Tensor) -> Tensor:
        """Return the vectors of rows of numbers, ``(N, m)``."""
        vectors: Tensor = self.linear(self._features(values))
        return vectors

    def parts(self, values: Tensor) -> Tensor:
        """Return the contribution of each number to the linear map, without bias, ``(N, K, m)``."""
        features = self._features(values).view(len(values), 2, -1, 1)
        weight = self.linear.weight.T.reshape(2, -1, len(self.linear.bias))  # (2, K, m)
        parts: Tensor = (features * weight).sum(1)
        return parts

    def _features(self, values: Tensor) -> Tensor:
        """Return standardised numbers and indicators of missing ones, ``(N, 2 K)``."""
        numbers = self._logarithms(values.double())
        z = (numbers - self.mean.double()) / self.deviation.double()
        features = torch.cat([z.nan_to_num(0.0), z.isnan()], 1)
        return features.to(self.linear.weight.dtype)

    def _logarithms(self, values: Tensor) -> Tensor:
        if not self.any_log:
            return values
        device = values.device
        logarithms = torch.log1p(values.clamp(min=0) / self.unit.to(device))
        return torch.where(self.logs.to(device), logarithms, values)


class ColumnsInput(Input):
    """The input vectors of nodes: the sum of one encoder per column, plus a bias.

    Arguments:
        schema: the columns, and the vocabularies of categorical and text columns.
        size: m, the size of a vector.
        dropout: probability of dropout on the vectors.
        sibling_positions: add the position of each node among its siblings, see
            :class:`SiblingPositions`.

    Shapes:
        ``(N, m)`` from the node columns of :meth:`Schema.read <dgltrees.trees.schema.Schema.read>`.
    """

    def __init__(
        self,
        schema: Schema,
        size: Count,
        *,
        dropout: Fraction = 0.0,
        sibling_positions: bool = False,
    ) -> None:
        super().__init__()
        self.size, self.dropout = size, nn.Dropout(dropout)
        columns = [each for each in schema.inputs if not each.numeric]
        self.named = [each.name for each in columns]
        self.names = nn.ModuleList(_of_names(each, schema, size) for each in columns)
        logs = [c.kind == "log" for c in schema.numbers for _ in range(c.size)]
        self.numbers = NumberVectors(logs, size) if logs else None
        self.sibling_positions = SiblingPositions(size) if sibling_positions else None
        self.numeric = [each.name for each in schema.numbers]
        self.sizes = [each.size for each in schema.numbers]
        self.bias = nn.Parameter(torch.zeros(size))

    def standardise(self, numbers: NDArray[np.float64]) -> None:
        """Store mean and deviation of the ``(N, K)`` numbers of the training trees."""
        if self.numbers is not None:
            self.numbers.standardise(numbers)

    @property
    def columns(self) -> list[str]:
        """The node columns that the input uses."""
        return [*self.named, *([] if self.numbers is None else [NUMBERS])]

    def parts(self, batch: TreeBatch) -> dict[str, Tensor]:
        """Return the contribution of each column, ``(N, m)`` by name, without bias and positions.

        Raises:
            TreeError: the batch lacks a column.
        """
        parts = self._names(batch)
        if self.numbers is not None:
            each = torch.split(self.numbers.parts(batch.ndata[NUMBERS]), self.sizes, 1)
            parts.update(zip(self.numeric, (part.sum(1) for part in each)))
        return parts

    def forward(self, batch: TreeBatch) -> Tensor:
        """Return the vectors of all nodes, ``(N, m)``.

        Raises:
            TreeError: the batch lacks a column of the schema.
        """
        total = sum(self._names(batch).values(), start=self.bias)
        if self.numbers is not None:
            total = total + self.numbers(batch.ndata[NUMBERS])
        if self.sibling_positions is not None:
            total = total + self.sibling_positions(batch)
        vectors: Tensor = self.dropout(total) if self.training else total
        return vectors

    def _names(self, batch: TreeBatch) -> dict[str, Tensor]:
        absent = [name for name in self.columns if name not in batch.ndata]
        if absent:
            raise TreeError(
                f"expected the node columns {sorted(absent)}, got only {sorted(batch.ndata)}; "
                "encode the trees with the schema of the run"
            )
        return {name: encode(batch.ndata[name]) for name, encode in zip(self.named, self.names)}

    def extra_repr(self) -> str:
        """Return the columns and the size, for ``repr``."""
        return f"{self.named}, m={self.size}"


def _of_names(column: Column, schema: Schema, size: int) -> nn.Module:
    """Return the encoder of a category or text column; pretrained vectors are mapped."""
    if not column.named:
        return nn.Linear(column.size, size, bias=False)
    vocab = schema[column.name]
    unknown = None if vocab.unknown is None else vocab.names.index(vocab.unknown)
    return NameVectors(len(vocab), size, unknown)

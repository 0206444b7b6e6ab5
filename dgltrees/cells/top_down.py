"""The LSTMs of the top-down TreeLSTM, one for each edge type, and one over left dependents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell
from dgltrees.cells.grouped import grouped, host_values, to_device
from dgltrees.cells.initial import uniform
from dgltrees.cells.lstm_state import lstm
from dgltrees.errors import TreeError
from dgltrees.settings import Count, Fraction, NonNegativeInt
from dgltrees.traversal.functions import integer_field
from dgltrees.traversal.views import Groups, Nodes
from dgltrees.trees.kinds import EDGE_TYPES, EdgeType
from dgltrees.trees.segments import inverse

INITIAL = 0.01
"""The value of all entries of h and c before the first step, in every layer; not learned."""


class _SourceLSTM(BaseCell):
    """A deep LSTM that makes a step from a node's source to the node; K sets of parameters."""

    state_fields = ("h", "c")
    downward = True
    steps_at_roots: ClassVar[bool]
    """Whether a node without a source makes a step from the initial state; otherwise it has it."""

    def __init__(
        self, input_size: int, hidden_size: int, layers: int, types: int, dropout: float = 0.0
    ) -> None:
        super().__init__(input_size, hidden_size, dropout=dropout)
        self.layers, self.types = layers, types
        K, m, d = types, input_size, hidden_size
        sizes = [m, *[d] * (layers - 1)]
        self.W = _parameters([(K, size, 4 * d) for size in sizes])  # gates i, f, o, u
        self.U = _parameters([(K, d, 4 * d)] * layers)
        self.b_x = _parameters([(K, 4 * d)] * layers)
        self.b_h = _parameters([(K, 4 * d)] * layers)

    def bias(self, layer: int) -> Tensor:
        """Return the sum of both biases of a layer, ``(K, 4 d)``."""
        both: Tensor = self.b_x[layer] + self.b_h[layer]
        return both

    def step(self, nodes: Nodes, h: Tensor, c: Tensor) -> dict[str, Tensor]:
        """Compute one step of all layers from the states of the sources, each ``(n, L, d)``."""
        new_h, new_c = self._typed(nodes.data["wx"], h, c, nodes.groups)
        return {"h": new_h, "c": new_c}

    def advance(self, ndata: Mapping[str, Tensor], h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Compute one step of n nodes from the states of their sources, to generate trees.

        Arguments:
            ndata: the input fields of the n nodes.
            h, c: ``(n, L, d)`` the states of their sources.

        Returns:
            the new h and c, each ``(n, L, d)``.
        """
        wx, types = self.prepare(ndata)["wx"], self.types_of_nodes(ndata)
        if types is None:
            return self._typed(wx, h, c, None)
        order = np.argsort(types, kind="stable")
        counts = np.bincount(types)
        index, back = to_device(order, h.device), to_device(inverse(order), h.device)
        groups = [(int(kind), int(counts[kind])) for kind in np.flatnonzero(counts)]
        wx, h, c = (row.index_select(0, index) for row in (wx, h, c))
        new_h, new_c = self._typed(wx, h, c, groups)
        return new_h.index_select(0, back), new_c.index_select(0, back)

    def _typed(
        self, wx: Tensor, h: Tensor, c: Tensor, groups: Groups | None
    ) -> tuple[Tensor, Tensor]:
        """Compute the new h and c of rows that are sorted by type."""
        biases = [self.bias(layer) for layer in range(1, self.layers)]
        stacked = (*self.U, *list(self.W)[1:], *biases)
        groups = groups if self.types > 1 else None
        new_h, new_c = grouped(self._step, (wx, h, c), stacked, groups)
        return new_h, new_c

    def _step(self, a: Tensor, h: Tensor, c: Tensor, *stacked: Tensor) -> tuple[Tensor, ...]:
        """Compute new h and c by (4) and (5) from ``(K, n, 4 d)`` and two ``(K, n, L, d)``."""
        U, W = stacked[: self.layers], stacked[self.layers : 2 * self.layers - 1]
        b = stacked[2 * self.layers - 1 :]
        new: list[tuple[Tensor, Tensor]] = []
        for layer in range(self.layers):
            if layer:  # the output of the layer below in the same step
                a = self.dropout(new[-1][0]) @ W[layer - 1] + b[layer - 1].unsqueeze(1)
            new.append(lstm(a + h[:, :, layer] @ U[layer], c[:, :, layer]))
        states, memories = zip(*new)
        return torch.stack(states, 2), torch.stack(memories, 2)

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Collect the state h and the memory c of the source, each ``(n, L, d)``.

        Raises:
            TreeError: a node has several sources.
        """
        h, c = nodes.mailbox["h"], nodes.mailbox["c"]  # (n, 1, L, d)
        if h.shape[1] != 1:
            raise TreeError(
                f"expected one edge into a node, from its source, got {h.shape[1]}; reverse the "
                "edges: batch.reversed()",
                node=int(nodes.nodes()[0]),
            )
        return {"h_source": h[:, 0], "c_source": c[:, 0]}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the new h and c, each ``(n, L, d)``."""
        if "h_source" in nodes.data:
            return self.step(nodes, nodes.data["h_source"], nodes.data["c_source"])
        shape = len(nodes), self.layers, self.hidden_size
        first = nodes.data["wx"].new_full(shape, INITIAL)
        return self.step(nodes, first, first) if self.steps_at_roots else {"h": first, "c": first}

    def types_of_nodes(self, ndata: Mapping[str, Tensor]) -> NDArray[np.int64] | None:
        """Return the set of parameters of each node, ``(N,)``, or None if there is one set."""
        return None

    def extra_repr(self) -> str:
        """Return the sizes, for ``repr``."""
        return f"m={self.input_size}, d={self.hidden_size}, layers={self.layers}"


class TopDownLSTM(_SourceLSTM):
    r"""The top-down TreeLSTM: an LSTM per edge type (GEN-L, GEN-R, GEN-NX-L and GEN-NX-R).

    Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016), equations
    (2), (4) and (5). The four LSTMs share their hidden states. At node t with source t' and edge
    type z, in layer l,

    .. math::

        (i, f, o, u)_t &= (\sigma, \sigma, \sigma, \tanh)
            (W^{z,l}_x \hat h^{l-1}_t + b^{z,l}_x + W^{z,l}_h \hat h^l_{t'} + b^{z,l}_h) \\
        \hat c^l_t &= f_t \odot \hat c^l_{t'} + i_t \odot u_t \\
        \hat h^l_t &= o_t \odot \tanh(\hat c^l_t)

    where

    - :math:`\hat h^0_t = x_t`, the vector of the *source's* word;
    - with ``left_size``, it is :math:`r_t = [x_t; q_K]` for RIGHT edges, equation (7), where q is
      the state of the LD LSTM (:class:`LeftDependentLSTM`) after the last left dependent of t';
    - a node without a source (ROOT) makes no step; its h and c are 0.01 in every layer.

    The edges of the graph lead from a source to its dependent (``batch.reversed()``).

    Arguments:
        input_size: s, the size of the node field ``x``.
        hidden_size: d, the size of a state.
        layers: L, the number of layers of each LSTM.
        left_size: the size of q, the state of the LD LSTM; 0 for the TreeLSTM without LD.
        shared: use one LSTM for all four edge types.
        dropout: probability of dropout between the layers.

    Shapes:
        ``x`` (N, s); ``etype`` (N,), the type of the edge into each node
        (:class:`~dgltrees.trees.kinds.EdgeType`; any value for nodes without an incoming edge); and
        with ``left_size`` ``left`` (N, left_size), which has an effect only for RIGHT edges, in;
        ``h`` and ``c``, each (N, L, d), out. The top layer is ``h[:, -1]``.

    Example:
        >>> import torch
        >>> from dgltrees import Forest
        >>> from dgltrees.cells import TopDownLSTM
        >>> cell = TopDownLSTM(input_size=2, hidden_size=3, layers=2)
        >>> etype = torch.tensor([0, 0, 1])  # LEFT is 0, RIGHT is 1
        >>> cell(Forest.build([-1, 0, 0]), torch.ones(3, 2), etype=etype)["h"].shape
        torch.Size([3, 2, 3])
    """

    steps_at_roots = False

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        *,
        layers: Count = 1,
        left_size: NonNegativeInt = 0,
        shared: bool = False,
        dropout: Fraction = 0.0,
    ) -> None:
        types = 1 if shared else len(EDGE_TYPES)
        super().__init__(input_size, hidden_size, layers, types, dropout)
        self.left_size = left_size
        self.group_by = None if shared and not left_size else "etype"
        self.input_fields = ("x", "etype", "left") if left_size else ("x", "etype")
        if left_size:
            self.W_left = nn.Parameter(torch.empty(left_size, 4 * hidden_size))
        uniform(self)

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Compute ``W x + b`` of the first layer, for all nodes.

        Raises:
            TreeError: a field is missing or has the wrong shape or dtype.
        """
        x = self.check(ndata)
        wx = by_type(x, self.W[0], self.bias(0), self.types_of_nodes(ndata))
        if self.left_size:
            left = self._left(ndata)
            right = to_device(np.flatnonzero(self._types(ndata) == EdgeType.RIGHT), left.device)
            product = left.index_select(0, right) @ self.W_left
            wx = wx.index_add(0, right, product.to(wx.dtype))
        return {"wx": wx}

    def _types(self, ndata: Mapping[str, Tensor]) -> NDArray[np.int64]:
        integer_field(ndata, "etype", "the type of the edge into each node")
        types = host_values(ndata, "etype")
        wrong = (types < 0) | (types >= len(EDGE_TYPES))
        if wrong.any():
            node = int(wrong.argmax())
            raise TreeError(
                f"expected the type of the edge into this node to be 0 to {len(EDGE_TYPES) - 1} "
                f"({', '.join(EDGE_TYPES.names)}), got {types[node]}",
                node=node,
            )
        return types

    def _left(self, ndata: Mapping[str, Tensor]) -> Tensor:
        left = ndata.get("left")
        if left is None or left.dim() != 2 or left.shape[1] != self.left_size:
            got = sorted(ndata) if left is None else tuple(left.shape)
            raise TreeError(
                f"expected a node field 'left' of shape (N, {self.left_size}), the state of the LD "
                f"LSTM, got {got}"
            )
        return left

    def types_of_nodes(self, ndata: Mapping[str, Tensor]) -> NDArray[np.int64] | None:
        """Return the type of the edge into each node, ``(N,)``; None if all types share an LSTM."""
        return None if self.types == 1 else self._types(ndata)


class LeftDependentLSTM(_SourceLSTM):
    r"""The LD LSTM over the left dependents of a node, from the farthest to the nearest.

    Zhang, Lu and Lapata (2016), equation (6):

    .. math:: q_k = \mathrm{LSTM}^{LD}(m_k, q_{k-1})

    where :math:`m_k` is the vector of the word of the k-th left dependent, and every entry of
    :math:`q_0` is 0.01. The edges of the graph lead from each left dependent to the next nearer
    one.

    Arguments:
        input_size: s, the size of the node field ``x``.
        hidden_size: d, the size of a state.
        layers: L, the number of layers; the authors' code has one.

    Shapes:
        ``x`` (N, s) in; ``h`` and ``c``, each (N, L, d), out.

    Example:
        >>> import torch
        >>> from dgltrees import Forest
        >>> from dgltrees.cells import LeftDependentLSTM
        >>> cell = LeftDependentLSTM(input_size=2, hidden_size=3)
        >>> chain = Forest.build([-1, 0, 1])  # node 0 is the farthest dependent
        >>> cell(chain, torch.ones(3, 2))["h"].shape
        torch.Size([3, 1, 3])
    """

    steps_at_roots = True

    def __init__(self, input_size: Count, hidden_size: Count, *, layers: Count = 1) -> None:
        super().__init__(input_size, hidden_size, layers, 1)
        uniform(self)

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Compute ``W x + b`` of the first layer, for all nodes."""
        return {"wx": by_type(self.check(ndata), self.W[0], self.bias(0), None)}


def by_type(x: Tensor, W: Tensor, b: Tensor, types: NDArray[np.int64] | None) -> Tensor:
    """Multiply each row with the matrix of its type, in one product per type."""
    if types is None:
        return torch.addmm(b[0], x, W[0])
    order = np.argsort(types, kind="stable")
    counts = np.bincount(types, minlength=len(W))
    parts = x.index_select(0, to_device(order, x.device)).split_with_sizes(counts.tolist())
    products = [torch.addmm(*each) for each in zip(b.unbind(0), parts, W.unbind(0))]
    return torch.cat(products).index_select(0, to_device(inverse(order), x.device))


def _parameters(shapes: list[tuple[int, ...]]) -> nn.ParameterList:
    return nn.ParameterList(nn.Parameter(torch.empty(shape)) for shape in shapes)

"""The cell of a recurrent-recursive network, with the operations split, recur and merge."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell
from dgltrees.cells.grouped import host_values
from dgltrees.cells.lstm_state import lstm
from dgltrees.cells.top_down import by_type
from dgltrees.errors import TreeError
from dgltrees.settings import Count, checked
from dgltrees.traversal.functions import integer_field, is_traced
from dgltrees.traversal.views import Edges, Groups, Nodes
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.kinds import Flow, Operation

Merge = Literal["one_layer", "two_layers"]
"""The MLP of a merge; see :class:`RRNetCell`."""

Memory = Literal["running", "restored"]
"""The memory with which a merge continues; see :class:`RRNetCell`."""

MergeInit = Literal["uniform", "average"]
"""The initial weights of a merge; see :class:`RRNetCell`."""

PUSH = 3
"""The index of the LSTM unit F1. The indices of F2, the recurrent cell and F4 are 0, 1 and 2."""


class Step(NamedTuple):
    """The state and memory after a step, and those that splits push; each ``(n, d)``."""

    h: Tensor
    c: Tensor
    down: Tensor
    down_c: Tensor


@checked
class RRNetCell(BaseCell):
    r"""The cell of RRNet, which splits, recurs and merges along a sequence of operations.

    Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
    Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 2. With the input x and the
    state h of the previous step,

    .. math::

        \text{split:}\quad & h_{down} = F_1(h, x), \quad h' = F_2(h, x) \\
        \text{recur:}\quad & h' = \mathrm{LSTM}(h, x) \\
        \text{merge:}\quad & h_m = \mathrm{MLP}(h, h_{down}), \quad h' = F_4(x, h_m)

    where

    - F1, F2, the recurrent cell and F4 are LSTM units,
      :math:`(i, f, o, u) = (\sigma, \sigma, \sigma, \tanh)(W x + U h + b)`;
    - a split pushes :math:`h_{down}` on a stack and its merge pops it; in the graph this is a
      RETURN edge from the split to the merge;
    - split and recur pass the memory c to the next step.

    The paper does not give the MLP and the memory of a merge. Its sentences allow several readings.
    The defaults are those with the best results on expressions that agree with all sentences. On
    logical relations running is best, and with restored nearly nothing is learned.

    ============  ===========  ==================================================================
    argument      value        reading
    ============  ===========  ==================================================================
    ``merge``     one_layer    :math:`h_m = \tanh(V_1 [h; h_{down}] + b_1)`: "a new hidden state
                               h_m = MLP(h, h_down)"
    ..            two_layers   :math:`h_m = V_2 \tanh(V_1 [h; h_{down}] + b_1) + b_2`: the same
                               sentence. F4 multiplies h_m by U, so V_2 and b_2 add no functions;
                               initially they shrink the state of a subtree
    ``memory``    restored     that of F1: a merge "returns control to its parent node", and the
                               state of an LSTM unit is h and c
    ..            running      that of the last step in the subtree: only h_down "is pushed into a
                               stack"
    ============  ===========  ==================================================================

    Arguments:
        input_size: m, the size of the node field ``x``.
        hidden_size: d, the size of a state.
        merge: the MLP of a merge; see the table.
        memory: the memory with which a merge continues; see the table.
        merge_init: initial V_1: ``"average"`` is 0.5 [I; I] plus a uniform draw times 0.2, so that
            a merge initially is near the average of both states; ``"uniform"`` is the draw alone.
        layer_norm: layer normalisation of the pre-activations of every gate, and of the memory
            from which h is computed (Ba et al., 2016), which the paper names as future work.

    Shapes:
        ``x`` (N, m) and ``op`` (N,) in; ``h``, ``c``, ``down`` and, unless the memory is running,
        ``down_c`` out, each (N, d). They are 0 where nothing is pushed. Optional inputs,
        each (N, d): ``h`` and ``c`` are the initial state at START (default: 0); ``down`` and
        ``down_c`` are pushed by an OPEN of an earlier window (default: 0); ``mask`` is a dropout
        mask that multiplies the state h of the previous step.

    Raises:
        ConfigError: an argument is none of its choices.

    Example:
        >>> import torch
        >>> from dgltrees.cells import RRNetCell
        >>> from dgltrees.trees import TreeBatch
        >>> from dgltrees.trees.kinds import Flow, Operation
        >>> ops = [Operation.START, Operation.SPLIT, Operation.RECUR, Operation.MERGE]
        >>> batch = TreeBatch(
        ...     torch.tensor([0, 1, 2, 1]),  # NEXT edges from step to step,
        ...     torch.tensor([1, 2, 3, 3]),  # and a RETURN edge from the split to the merge
        ...     torch.tensor([4]),
        ...     edata={"pos": torch.tensor([Flow.NEXT] * 3 + [Flow.RETURN])},
        ... )
        >>> cell = RRNetCell(input_size=2, hidden_size=3)
        >>> cell(batch, torch.ones(4, 2), op=torch.tensor(ops))["h"].shape
        torch.Size([4, 3])
    """

    input_fields = ("x", "op", "h", "c", "down", "down_c", "mask")
    group_by = "op"
    slots = len(Flow)

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        *,
        merge: Merge = "one_layer",
        memory: Memory = "restored",
        merge_init: MergeInit = "average",
        layer_norm: bool = False,
    ) -> None:
        super().__init__(input_size, hidden_size)
        m, d = input_size, hidden_size
        self.merge, self.memory, self.merge_init = merge, memory, merge_init
        self.pushes_memory = memory != "running"
        self.W = nn.Parameter(torch.empty(4, m, 4 * d))  # F2, recur, F4, F1; gates i, f, o, u
        self.U = nn.Parameter(torch.empty(4, d, 4 * d))
        self.b = nn.Parameter(torch.empty(4, 4 * d))
        self.V_1 = nn.Parameter(torch.empty(2 * d, d))
        self.b_1 = nn.Parameter(torch.empty(d))
        if merge == "two_layers":
            self.V_2 = nn.Parameter(torch.empty(d, d))
            self.b_2 = nn.Parameter(torch.empty(d))
        self.layer_norm = layer_norm
        if layer_norm:
            self.gain = nn.Parameter(torch.empty(4, 5, d))  # the four gates and the memory
            self.shift = nn.Parameter(torch.empty(4, 5, d))
        self.reset_parameters()

    @property
    def state_fields(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the node fields of a state: h, c, down, and down_c if splits push the memory."""
        return ("h", "c", "down", "down_c") if self.pushes_memory else ("h", "c", "down")

    def reset_parameters(self) -> None:
        """Initialise parameters from U(-1 / sqrt(d), 1 / sqrt(d)), like ``torch.nn.LSTM``.

        Gains of layer normalisation begin at one, and shifts at zero. With
        ``merge_init="average"``, V_1 is then moved to the average; see :class:`RRNetCell`.
        """
        bound = 1.0 / math.sqrt(self.hidden_size)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name not in ("gain", "shift"):
                    parameter.uniform_(-bound, bound)
            if self.layer_norm:
                self.gain.fill_(1.0)
                self.shift.zero_()
            if self.merge_init == "average":
                half = 0.5 * torch.eye(self.hidden_size)
                self.V_1.mul_(0.2).add_(torch.cat([half, half]).to(self.V_1))

    def check(self, ndata: Mapping[str, Tensor]) -> Tensor:
        """Check the inputs of all nodes and return ``x``, ``(N, m)``.

        Raises:
            TreeError: a field is missing or has the wrong shape or dtype.
        """
        x = super().check(ndata)
        expected = len(x), self.hidden_size
        for name in ("h", "c", "down", "down_c", "mask"):
            field = ndata.get(name)
            if field is not None and tuple(field.shape) != expected:
                raise TreeError(
                    f"expected the node field {name!r} to have the shape {expected}, the rows of "
                    f"'x' and the cell's hidden_size, got {tuple(field.shape)}"
                )
        return x

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Compute ``W x + b`` of the unit of each step, and of F1 at START and OPEN.

        Raises:
            TreeError: a field is missing or has the wrong shape or dtype.
        """
        x, operations = self.check(ndata), operations_in(ndata)
        no_step = np.isin(operations, (Operation.START, Operation.OPEN))
        units = np.where(no_step, PUSH, operations - 1)
        return {"wx": by_type(x, self.W, self.b, units)}

    def message(self, edges: Edges) -> dict[str, Tensor]:
        """Send the state along NEXT edges, and the pushed state along RETURN edges.

        Raises:
            TreeError: on the CPU, a RETURN edge leaves a node that pushes nothing.
        """
        returns = edges.data["pos"] == Flow.RETURN
        if _looks(returns):
            _check_pushes(returns, edges.src["op"])
        returns = returns.unsqueeze(1)
        h = torch.where(returns, edges.src["down"], edges.src["h"])
        c = edges.src["c"]
        if self.pushes_memory:
            c = torch.where(returns, edges.src["down_c"], c)
        return {"h": h, "c": c}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Collect the state of the previous step and, at merges, the state on top of the stack.

        Raises:
            TreeError: on the CPU, the edges into a node do not match its operation.
        """
        mask = self.child_mask(nodes)
        if _looks(mask):
            _check_steps(mask, nodes.data["op"], nodes.nodes())
        h, c = nodes.mailbox["h"], nodes.mailbox["c"]  # (n, 2, d)
        return {"h_last": h[:, 0], "c_last": c[:, 0], "h_top": h[:, 1], "c_top": c[:, 1]}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the new state; at START and OPEN it is the initial state.

        Raises:
            TreeError: a step has no incoming edge.
        """
        data = nodes.data
        if "h_last" not in data:
            return self._initial(nodes)
        last = Step(data["h_last"], data["c_last"], data["h_top"], data["c_top"])
        mask = data.get("mask")
        groups = cast(Groups, nodes.groups)
        step = self.step(data["x"], data["wx"], last, groups, mask)
        return {name: getattr(step, name) for name in self.state_fields}

    def _initial(self, nodes: Nodes) -> dict[str, Tensor]:
        """Return the state of START and OPEN: the input fields, or zeros."""
        data = nodes.data
        if _looks(data["op"]):
            _check_steps(data["op"].new_zeros(len(nodes), 2).bool(), data["op"], nodes.nodes())
        zero = data["wx"].new_zeros(len(nodes), self.hidden_size)
        state = {name: data.get(name, zero) for name in self.state_fields}
        pushes = (data["op"] == Operation.OPEN).unsqueeze(1)
        down = (name for name in self.state_fields if name.startswith("down"))
        return {**state, **{name: torch.where(pushes, state[name], zero) for name in down}}

    def step(
        self, x: Tensor, wx: Tensor, last: Step, groups: Groups, mask: Tensor | None = None
    ) -> Step:
        """Compute one step of n rows, where rows of the same operation are adjacent.

        Arguments:
            x: ``(n, m)``, the inputs.
            wx: ``(n, 4 d)``, the field that :meth:`prepare` returns.
            last: the state of the previous step, and the top of the stack, which merges read.
            groups: the operation and the number of rows of each run; each operation at most once.
            mask: ``(n, d)`` the dropout mask of h.

        Returns:
            the new state, and the pushed states, 0 for operations other than SPLIT.

        Raises:
            TreeError: a row is not SPLIT, RECUR or MERGE.
        """
        h, c = last.h if mask is None else last.h * mask, last.c
        ops, counts = [op for op, _ in groups], [count for _, count in groups]
        hs, cs, xs, tops, top_cs, wxs = (
            list(each.split_with_sizes(counts)) for each in (h, c, x, last.down, last.down_c, wx)
        )
        for i, op in enumerate(ops):
            if op == Operation.MERGE:
                hs[i] = self.merged(hs[i], tops[i])
                if self.memory == "restored":
                    cs[i] = top_cs[i]
            elif op not in (Operation.SPLIT, Operation.RECUR):
                raise TreeError(
                    f"expected a step, got {Operation(op).name}, which has no incoming edges"
                )
        new = self._units(wxs, hs, cs, [op - 1 for op in ops])
        if Operation.SPLIT not in ops:
            zero = torch.zeros_like(c)
            return Step(*new, zero, zero)
        i = ops.index(Operation.SPLIT)
        pushed = torch.addmm(self.b[PUSH], xs[i], self.W[PUSH])
        down = self._units([pushed], hs[i : i + 1], cs[i : i + 1], [PUSH])
        before, after = sum(counts[:i]), sum(counts[i + 1 :])
        return Step(*new, *(_padded(each, before, after) for each in down))

    def merged(self, h: Tensor, top: Tensor) -> Tensor:
        """Merge the state h after a subtree and the popped state ``top`` into h_m, ``(n, d)``."""
        inner = torch.tanh(torch.addmm(self.b_1, torch.cat([h, top], 1), self.V_1))
        return inner if self.merge == "one_layer" else torch.addmm(self.b_2, inner, self.V_2)

    def _units(
        self, wxs: list[Tensor], hs: list[Tensor], cs: list[Tensor], units: list[int]
    ) -> tuple[Tensor, Tensor]:
        """Compute the states and memories of LSTM units, one unit for each run of rows."""
        U, counts = self.U.unbind(), [len(h) for h in hs]
        a = torch.cat([torch.addmm(wx, h, U[unit]) for wx, h, unit in zip(wxs, hs, units)])
        c = torch.cat(cs)
        if not self.layer_norm:
            return lstm(a, c)
        i, f, o, u = self._normal(a.view(len(a), 4, -1), slice(4), units, counts).unbind(1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(u)
        return torch.sigmoid(o) * torch.tanh(self._normal(c, 4, units, counts)), c

    def _normal(
        self, each: Tensor, index: int | slice, units: list[int], counts: list[int]
    ) -> Tensor:
        """Normalise gates or memories with the gain and shift of each run's unit."""
        runs = F.layer_norm(each, (self.hidden_size,)).split_with_sizes(counts)
        gain, shift = self.gain[:, index].unbind(), self.shift[:, index].unbind()
        return torch.cat([torch.addcmul(shift[u], run, gain[u]) for u, run in zip(units, runs)])

    def check_graph(self, batch: TreeBatch, ndata: Mapping[str, Tensor]) -> None:
        """Check that the edges into each node match its operation.

        Raises:
            TreeError: they do not.
        """
        op, src, dst = ndata["op"], batch.src, batch.dst
        returns = batch.edata["pos"] == Flow.RETURN
        _check_pushes(returns, op[src])
        mask = torch.zeros(batch.num_nodes, 2, dtype=torch.bool)
        mask[dst, returns.long()] = True
        _check_steps(mask, op, torch.arange(batch.num_nodes))


def _padded(rows: Tensor, before: int, after: int) -> Tensor:
    """Add this many rows of zeros before and after some rows."""
    return F.pad(rows, (0, 0, before, after)) if before or after else rows


def operations_in(ndata: Mapping[str, Tensor]) -> NDArray[np.int64]:
    """Return the field ``op`` on the host, ``(N,)`` int64; TreeError if it is missing or wrong."""
    cure = "; build the graph with operation_graph"
    integer_field(ndata, "op", "the operation of each step", cure)
    operations = host_values(ndata, "op")
    wrong = (operations < 0) | (operations >= len(Operation))
    if wrong.any():
        names = ", ".join(f"{each.name} {each.value}" for each in Operation)
        node = int(wrong.argmax())
        raise TreeError(
            f"expected operations ({names}) in the node field 'op', got {operations[node]}",
            node=node,
        )
    return operations


def _looks(field: Tensor) -> bool:
    """Return whether values are checked here; on CUDA this would synchronise every level."""
    return field.device.type == "cpu" and not is_traced()


def _check_pushes(returns: Tensor, op: Tensor) -> None:
    """Raise TreeError if a RETURN edge leaves an operation that pushes no state."""
    wrong = returns & (op != Operation.SPLIT) & (op != Operation.OPEN)
    if wrong.any():
        raise TreeError(
            "expected RETURN edges only from SPLIT or OPEN, got one from "
            f"{Operation(int(op[wrong][0])).name}; build the graph with operation_graph"
        )


def _check_steps(mask: Tensor, op: Tensor, nodes: Tensor) -> None:
    """Raise TreeError if the edges into a node do not match its operation."""
    is_step = (op != Operation.START) & (op != Operation.OPEN)
    wrong = mask[:, Flow.NEXT] != is_step
    wrong |= mask[:, Flow.RETURN] != (op == Operation.MERGE)
    if wrong.any():
        at = int(wrong.nonzero()[0])
        raise TreeError(
            "expected one NEXT edge into every step, also one RETURN edge into a MERGE, and no "
            f"edge into START and OPEN, got others into this {Operation(int(op[at])).name}; build "
            "the graph with operation_graph",
            node=int(nodes[at]),
        )

"""Cells as slow recursions straight from the equations: node by node, one vector at a time."""

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dgltrees import Forest
from dgltrees.cells import Aggregator, BaseCell, RRNetCell, Score
from dgltrees.cells.base import GateNorm
from dgltrees.trees.kinds import Operation
from tests.cells.rrnet_reference import read


def score_of(s: Score, h: Tensor, q: Tensor) -> Tensor:
    """Equation (11) of Munkhdalai and Yu, or the line below it, or what their code has."""
    if s.kind == "mlp":
        return s.w @ torch.relu(s.W_1.T @ h + s.W_2.T @ q)
    return (q if s.kind == "dot" else s.W_2.T @ q + s.b) @ h


def bar(v: Tensor) -> Tensor:
    """``[v; 1]``"""
    return torch.cat([v, v.new_ones(1)])


def contract(T: Tensor, vectors: list[Tensor]) -> Tensor:
    """Equation (4): one mode after the other."""
    for v in vectors:
        T = torch.tensordot(v, T, dims=1)
    return T


def symmetric_tensor(entries: Tensor, indices: int, length: int) -> Tensor:
    """``(M, ...)`` entries by multiset, ordered by largest index first, to the whole tensor."""
    multisets = sorted(combinations_with_replacement(range(indices), length), key=lambda m: m[::-1])
    number = {m: i for i, m in enumerate(multisets)}
    places = [number[tuple(sorted(index))] for index in np.ndindex(*[indices] * length)]
    return entries[places].reshape(*[indices] * length, *entries.shape[1:])


Parameters = dict[str, Tensor]
"""Of one operator, by name."""


def maps(f: Aggregator, k: int, h: list[Tensor], x: Tensor | None) -> Tensor:
    """All gates' maps at one node, ``(G, c)``."""
    p = {name: getattr(f, name)[k] for name in f.stacked if hasattr(f, name)}
    w = None
    if f.label == "mode":
        w = F.linear(x, f.w.weight, f.w.bias).view(f.G, f.r) if f.r else x
    a = MAPS[type(f).__name__](f, p, h, w)
    return a + (x @ f.W).view(f.G, f.c) if f.label == "add" else a


def of_sum(f: Aggregator, p: Parameters, h: list[Tensor], _: Tensor | None) -> Tensor:
    """Equation (5): one matrix for each position."""
    U = p["U"].view(f.L, f.c, f.G, f.c)
    return sum(torch.tensordot(h[j], U[j], dims=1) for j in range(f.L)) + p["b"].view(f.G, f.c)


def of_shared_sum(f: Aggregator, p: Parameters, h: list[Tensor], _: Tensor | None) -> Tensor:
    """One matrix for all positions."""
    U = p["U"].view(f.c, f.G, f.c)
    return sum(torch.tensordot(h[j], U, dims=1) for j in range(f.L)) + p["b"].view(f.G, f.c)


def of_tensor(f: Aggregator, p: Parameters, h: list[Tensor], x: Tensor | None) -> Tensor:
    """Equation (4), with the label x as first mode if it is one."""
    mode, c, G = x is not None, f.c, f.G
    T = p["T"].view(*[f.m + 1] * mode, *[c + 1] * f.L, G, c)
    vectors = [bar(v) for v in h]
    return contract(T, [bar(x), *vectors] if mode else vectors)


def of_hosvd(f: Aggregator, p: Parameters, h: list[Tensor], w: Tensor | None) -> Tensor:
    """Each child reduced to r, then a core of that size, gate by gate; w is the reduced label."""
    mode, symmetric, r, a = w is not None, p["U"].dim() == 2, f.r, []
    for g in range(f.G):
        vectors = [bar(w[g])] if mode else []
        for j in range(f.L):
            U, b_U = (p["U"], p["b_U"]) if symmetric else (p["U"][j], p["b_U"][j])
            vectors.append(bar(h[j] @ U.view(f.c, f.G, r)[:, g] + b_U.view(f.G, r)[g]))
        if symmetric:
            S = p["core"][g].view(r + 1 if mode else 1, -1, r)
            core = torch.stack([symmetric_tensor(s, r + 1, f.L) for s in S])
            core = core if mode else core[0]
        else:
            core = p["core"][g].view(*[r + 1] * (f.L + mode), r)
        a.append(contract(core, vectors) @ p["Q"][g] + p["b"][g, 0])
    return torch.stack(a)


def of_canonical(f: Aggregator, p: Parameters, h: list[Tensor], w: Tensor | None) -> Tensor:
    """The product of the children's factors, and of the label's."""
    product = torch.ones(f.G, f.r, dtype=h[0].dtype) if w is None else w
    for j in range(f.L):
        product = product * (h[j] @ p["U"][j] + p["b_U"][j][0]).view(f.G, f.r)
    return torch.stack([product[g] @ p["Q"][g] + p["b"][g, 0] for g in range(f.G)])


def of_tensor_train(f: Aggregator, p: Parameters, h: list[Tensor], w: Tensor | None) -> Tensor:
    """A row times a matrix for each child; it begins with the label or the first child."""
    r, a = f.r, []
    for g in range(f.G):
        first, *rest = h if w is None else [None, *h]
        row = w[g] if first is None else (first @ p["U"][0] + p["b_U"][0, 0]).view(f.G, r)[g]
        for j, child in enumerate(rest):
            row = row @ (child @ p["A"][j] + p["b_A"][j][0]).view(f.G, r, r)[g]
        a.append(row @ p["Q"][g] + p["b"][g, 0])
    return torch.stack(a)


MAPS: dict[str, Callable[[Aggregator, Parameters, list[Tensor], Tensor | None], Tensor]] = {
    "Sum": of_sum,
    "SharedSum": of_shared_sum,
    "Full": of_tensor,
    "HOSVD": of_hosvd,
    "SymmetricHOSVD": of_hosvd,
    "Canonical": of_canonical,
    "TensorTrain": of_tensor_train,
}
"""The maps of aggregators by class: of the parameters, the states of the children and the label."""


def normal(norm: torch.nn.Module, a: Tensor) -> Tensor:
    """Layer normalisation of ``(G, c)``, gate by gate."""
    if not isinstance(norm, GateNorm):
        return a
    mean = a.mean(-1, keepdim=True)
    deviation = (a.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return (a - mean) / deviation * norm.gain + norm.bias


def given_query(x: Tensor) -> Tensor:
    """``(..., 2)`` the query that the tests give a node whose input is ``x``."""
    return 1 - x[..., :2].flip(-1)


def operations_of(forest: Forest) -> Tensor:
    """``(N,)`` each tree as a sequence of operations, in the order of its nodes, by positions."""
    operations: list[int] = []
    for begin, end in zip(forest.offsets, forest.offsets[1:]):
        operations.append(Operation.START)
        open_splits = 0
        for pos in forest.pos[begin + 1 : end] % 3:
            operation = (Operation.SPLIT, Operation.RECUR, Operation.MERGE)[pos - 2]
            if operation == Operation.MERGE and not open_splits:
                operation = Operation.SPLIT
            open_splits += (operation == Operation.SPLIT) - (operation == Operation.MERGE)
            operations.append(operation)
    return torch.tensor(operations)


def given_states(x: Tensor, size: int) -> dict[str, Tensor]:
    """What the tests give START, and the mask of all steps, each ``(N, size)``."""
    h = torch.cat([x, -x], 1)[:, :size]
    return {"h": h, "c": h.flip(1) / 2, "mask": 1 - h / 2}


class Recursion:
    """The state of every node of a forest, children before parents.

    Dropout stands where the cells' docstrings say.
    """

    def __init__(self, cell: BaseCell, forest: Forest, x: Tensor, op: Tensor) -> None:
        self.cell, self.x, self.op = cell, x, op
        self.state: dict[int, tuple[Tensor, ...]] = {}
        self.children: dict[int, list[tuple[int, int]]] = {v: [] for v in range(forest.num_nodes)}
        for v, parent in enumerate(forest.global_parent):
            if parent >= 0:
                self.children[int(parent)].append((int(forest.pos[v]), v))
        self.source, self.etype = forest.global_parent, forest.pos
        if isinstance(cell, RRNetCell):
            for nodes in map(slice, forest.offsets, forest.offsets[1:]):
                operations = operations_of(forest)[nodes].tolist()
                fields = {"x": x[nodes], **given_states(x[nodes], cell.hidden_size)}
                rows = zip(*read(cell, operations, fields).values())
                self.state.update(enumerate(rows, len(self.state)))
            return
        node = getattr(self, type(cell).__name__)
        for v in np.argsort(forest.depth if cell.downward else -forest.depth, kind="stable"):
            self.state[int(v)] = node(int(v))

    def h(self) -> Tensor:
        return torch.stack([self.state[v][0] for v in range(len(self.state))])

    def slots(self, v: int, field: int) -> list[Tensor]:
        """What stands at positions 0 to L - 1; an absent child is zero."""
        zero = self.x.new_zeros(self.cell.hidden_size)
        found = {pos: self.state[child][field] for pos, child in self.children[v]}
        return [found.get(j, zero) for j in range(self.cell.max_children)]

    def a(self, v: int, f: Aggregator, h: list[Tensor], part: slice) -> Tensor:
        """Pre-activations of a node's gates ``(G, c)``; ``part`` of the leaf set's."""
        if self.cell.operators and not self.children[v]:
            leaf = self.cell.leaf
            return (leaf.weight @ self.x[v] + leaf.bias).view(-1, self.cell.hidden_size)[part]
        if self.cell.operators:
            return maps(f, int(self.op[v]), h, None)
        return maps(f, 0, h, self.x[v])

    def gate(self, v: int, norm: torch.nn.Module, j: int, h_j: Tensor) -> Tensor:
        """The gate of child j that sees it alone."""
        gate = self.cell.child_gate
        k = int(self.op[v]) if self.cell.operators else 0
        position = 0 if gate.U.shape[1] == 1 else j
        a = h_j @ gate.U[k, position] + gate.b[k, position, 0]
        if gate.W is not None:
            a = a + self.x[v] @ gate.W
        return torch.sigmoid(normal(norm, a[None])[0])

    def TreeRNN(self, v: int) -> tuple[Tensor, ...]:  # noqa: N802
        cell = self.cell
        h = [cell.dropout(h_j) for h_j in self.slots(v, 0)]
        a = self.a(v, cell.f, h, slice(0, 1))
        return (cell.activation(normal(cell.norm, a)[0]),)

    def TreeLSTM(self, v: int) -> tuple[Tensor, ...]:  # noqa: N802
        cell = self.cell
        h, c = self.slots(v, 0), self.slots(v, 1)
        i, o, u = normal(cell.norm, self.a(v, cell.f, h, slice(0, 3)))
        memory = torch.sigmoid(i) * cell.dropout(cell.activation(u))
        for j, _ in self.children[v]:
            memory = memory + self.gate(v, cell.norm_f, j, h[j]) * c[j]
        return torch.sigmoid(o) * torch.tanh(normal(cell.norm_c, memory[None])[0]), memory

    def TreeGRU(self, v: int) -> tuple[Tensor, ...]:  # noqa: N802
        cell = self.cell
        h = self.slots(v, 0)
        there = [j for j, _ in self.children[v]]
        reset = list(h)
        for j in there:
            reset[j] = self.gate(v, cell.norm_r, j, h[j]) * h[j]
        z = self.a(v, cell.f_z, h, slice(0, 1))
        u = self.a(v, cell.f_u, reset, slice(1, 2))
        z, u = normal(cell.norm, torch.cat([z, u]))
        z = torch.sigmoid(z)
        new = z * cell.dropout(cell.activation(u))
        if there:
            new = new + (1 - z) * sum(h[j] for j in there) / len(there)
        return (new,)

    def ChildSumTreeLSTM(self, v: int) -> tuple[Tensor, ...]:  # noqa: N802
        cell, c = self.cell, self.cell.hidden_size
        wx = (self.x[v] @ cell.W + cell.b).view(4, c)
        total = self.x.new_zeros(c)
        memory = self.x.new_zeros(c)
        for _, child in self.children[v]:
            h_j, c_j = self.state[child]
            total = total + h_j
            f = normal(cell.norm_f, (wx[3] + h_j @ cell.U_f)[None])[0]
            memory = memory + torch.sigmoid(f) * c_j
        i, o, u = normal(cell.norm, wx[:3] + (total @ cell.U).view(3, c))
        memory = memory + torch.sigmoid(i) * cell.dropout(torch.tanh(u))
        return torch.sigmoid(o) * torch.tanh(normal(cell.norm_c, memory[None])[0]), memory

    def NaryTreeLSTM(self, v: int) -> tuple[Tensor, ...]:  # noqa: N802
        cell, c, L = self.cell, self.cell.hidden_size, self.cell.max_children
        wx = (self.x[v] @ cell.W + cell.b).view(4, c)
        h, memories = self.slots(v, 0), self.slots(v, 1)
        U = cell.U.view(L, c, 3 + L, c)  # from child l to gates i, o, u, f_1 .. f_L
        uh = sum(torch.tensordot(h[j], U[j], dims=1) for j in range(L))
        i, o, u = normal(cell.norm, wx[:3] + uh[:3])
        memory = torch.sigmoid(i) * cell.dropout(torch.tanh(u))
        for j in range(L):
            f = normal(cell.norm_f, (wx[3] + uh[3 + j])[None])[0]
            memory = memory + torch.sigmoid(f) * memories[j]
        return torch.sigmoid(o) * torch.tanh(normal(cell.norm_c, memory[None])[0]), memory

    def NTILSTM(self, v: int) -> tuple[Tensor, ...]:  # noqa: N802
        cell, size, L = self.cell, self.cell.hidden_size, self.cell.max_children
        if not self.children[v]:
            return cell.leaf.weight @ self.x[v] + cell.leaf.bias, self.x.new_zeros(size)
        h, c = [cell.dropout(h_j) for h_j in self.slots(v, 0)], self.slots(v, 1)
        U, P = cell.U.view(L, size, 3 + L, size), cell.P.view(L, size, 1 + L, size)
        a = cell.b.view(3 + L, size) + sum(torch.tensordot(h[j], U[j], dims=1) for j in range(L))
        peeped = sum(torch.tensordot(c[j], P[j], dims=1) for j in range(L))
        i, *f = torch.sigmoid(normal(cell.norm_if, a[: 1 + L] + peeped))
        memory = i * torch.tanh(normal(cell.norm_u, a[-1:])[0]) + sum(f[j] * c[j] for j in range(L))
        o = torch.sigmoid(normal(cell.norm_o, (a[-2] + memory @ cell.V)[None])[0])
        return o * torch.tanh(normal(cell.norm_c, memory[None])[0]), memory

    def ChainerNTILSTM(self, v: int) -> tuple[Tensor, ...]:  # noqa: N802
        cell, size = self.cell, self.cell.hidden_size
        memory, out = self.x.new_zeros(size), self.x.new_zeros(size)
        if not self.children[v]:
            return cell.leaf.weight @ self.x[v] + cell.leaf.bias, memory
        for j, child in self.children[v]:
            h_j, c_j = self.state[child]
            a, i, f, o = (cell.dropout(h_j) @ cell.U[j] + cell.b[j, 0]).view(4, size)
            memory = memory + torch.tanh(a) * torch.sigmoid(i) + torch.sigmoid(f) * c_j
            out = out + o
        return torch.sigmoid(out) * torch.tanh(memory), memory

    def NTIAttention(self, v: int) -> tuple[Tensor, ...]:  # noqa: N802
        cell, s = self.cell, self.cell.score
        if not self.children[v]:
            return (cell.leaf.weight @ self.x[v] + cell.leaf.bias,)
        S = [cell.dropout(self.state[child][0]) for _, child in self.children[v]]
        q = given_query(self.x[v]) if cell.q is None else cell.q
        alpha = torch.softmax(torch.stack([score_of(s, h_j, q) for h_j in S]), 0)
        z = sum(alpha_j * h_j for alpha_j, h_j in zip(alpha, S))
        return (torch.relu(normal(cell.norm, (cell.W.T @ z)[None])[0]),)

    def lstm(self, k: int, below: Tensor, source: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """A step of all layers of the k-th LSTM: equations (4) and (5) of Zhang et al."""
        cell, d = self.cell, self.cell.hidden_size
        h, c = [], []
        for layer in range(cell.layers):
            W_h, b_h = cell.U[layer][k], cell.b_h[layer][k]
            if layer:
                below = below @ cell.W[layer][k] + cell.b_x[layer][k]
            i, f, o, u = (below + source[0][layer] @ W_h + b_h).view(4, d)
            c.append(torch.sigmoid(f) * source[1][layer] + torch.sigmoid(i) * torch.tanh(u))
            h.append(torch.sigmoid(o) * torch.tanh(c[-1]))
            below = cell.dropout(h[-1])
        return torch.stack(h), torch.stack(c)

    def initial(self) -> tuple[Tensor, ...]:
        """0.01 in every layer."""
        start = self.x.new_full((self.cell.layers, self.cell.hidden_size), 0.01)
        return start, start

    def TopDownLSTM(self, v: int) -> tuple[Tensor, ...]:  # noqa: N802
        cell, etype = self.cell, int(self.etype[v])
        if self.source[v] < 0:
            return self.initial()
        k = 0 if len(cell.W[0]) == 1 else etype
        wx = self.x[v] @ cell.W[0][k] + cell.b_x[0][k]
        if cell.left_size and etype == 1:  # RIGHT: what the tests give every node as q
            wx = wx + (self.x[v][: cell.left_size].flip(0) + 1) @ cell.W_left
        return self.lstm(k, wx, self.state[int(self.source[v])])

    def LeftDependentLSTM(self, v: int) -> tuple[Tensor, ...]:  # noqa: N802
        source = self.source[v]
        before = self.initial() if source < 0 else self.state[int(source)]
        return self.lstm(0, self.x[v] @ self.cell.W[0][0] + self.cell.b_x[0][0], before)

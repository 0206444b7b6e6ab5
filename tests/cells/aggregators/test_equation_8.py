"""Equation (8): the weighted sum written as a full tensor, alone and inside a cell."""

import numpy as np
import torch
from torch.testing import assert_close

from dgltrees.cells import TreeLSTM
from dgltrees.cells.aggregators import Full, Sum
from dgltrees.traversal import run_cell
from tests.worlds import random_forest

L, C, G, M = 3, 2, 3, 4


def write_as_tensor(one: Sum, other: Full) -> None:
    """T+(i, j_1, .., j_L, k), case by case; indices from 0, so m is the last of x̄, c of h̄."""
    W, U, b = one.W.view(M, G, C), one.U.view(L, C, G, C), one.b.view(G, C)
    T = other.T.data.zero_().view(M + 1, *[C + 1] * L, G, C)
    for i, *j in np.ndindex(M + 1, *[C + 1] * L):
        there = [at for at in range(L) if j[at] < C]
        if i < M and not there:
            T[(i, *j)] = W[i]
        elif i == M and len(there) == 1:
            T[(i, *j)] = U[there[0], j[there[0]]]
        elif i == M and not there:
            T[(i, *j)] = b


def test_aggregators() -> None:
    torch.manual_seed(0)
    one, other = Sum(L, C, G, label_size=M).double(), Full(L, C, G, label_size=M).double()
    with torch.no_grad():
        one.b.normal_()
        write_as_tensor(one, other)
    h, x = torch.randn(7, L, C).double(), torch.randn(7, M).double()
    assert_close(other(h, None, x), one(h, None, x))


def test_cells() -> None:
    torch.manual_seed(0)
    one = TreeLSTM(M, C, L, "sum").double()
    other = TreeLSTM(M, C, L, "full").double()
    with torch.no_grad():
        one.f.b.normal_()
        write_as_tensor(one.f, other.f)
        other.child_gate.load_state_dict(one.child_gate.state_dict())
    forest = random_forest(np.random.default_rng(0), 4, 12, L)
    ndata = {"x": torch.randn(forest.num_nodes, M).double()}
    assert_close(run_cell(other, forest.batch(), ndata), run_cell(one, forest.batch(), ndata))


def test_a_one_hot_label_selects_the_operator_of_a_cell() -> None:
    """One tensor with the operator as label equals the label-dependent cell made of its slices."""
    K = 3
    torch.manual_seed(0)
    one = TreeLSTM(K + M, C, L, "full", label="mode").double()
    many = TreeLSTM(M, C, L, "full", operators=K).double()
    with torch.no_grad():
        for p in one.parameters():
            p.uniform_(-0.5, 0.5)
        T = one.f.T.view(K + M + 1, (C + 1) ** L, 3 * C)
        many.f.T.copy_(T[:K] + T[-1])
        many.leaf.weight.copy_(T[K:-1, -1].T)
        many.leaf.bias.copy_(T[-1, -1])
        many.child_gate.U.copy_(one.child_gate.U.expand(K, -1, -1, -1))
        many.child_gate.b.copy_(one.child_gate.b + one.child_gate.W[:K, None, None])
    forest = random_forest(np.random.default_rng(0), 4, 12, L)
    inner = torch.from_numpy(forest.degree > 0)
    op = torch.where(inner, torch.randint(K, (forest.num_nodes,)), -1)
    x = torch.randn(forest.num_nodes, M).double() * ~inner[:, None]
    codes = torch.nn.functional.one_hot(op + 1, K + 1)[:, 1:].double()
    assert_close(
        run_cell(one, forest.batch(), {"x": torch.cat([codes, x], 1)}),
        run_cell(many, forest.batch(), {"x": x, "op": op}),
    )

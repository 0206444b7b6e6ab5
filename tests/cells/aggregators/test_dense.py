"""Every aggregator is affine in each child, and equals the dense tensor that it factorises."""

import string
from typing import Any

import pytest
import tensorly
import torch
from torch import Tensor
from torch.testing import assert_close

from dgltrees.cells import AGGREGATORS, Aggregator
from dgltrees.cells.aggregators import (
    HOSVD,
    Canonical,
    Full,
    SharedSum,
    Sum,
    SymmetricHOSVD,
    TensorTrain,
)
from dgltrees.cells.initial import uniform
from dgltrees.settings import options_of
from tests.cells.reference import symmetric_tensor

L, C, G, K, R, M = 3, 4, 2, 3, 2, 5


@pytest.fixture(autouse=True)
def _torch_backend() -> None:
    tensorly.set_backend("pytorch")


def make(name: str, label: str | None = None, **options: Any) -> Aggregator:
    """An aggregator, of a rank and with a way for labels if it has some."""
    asked = {"rank": R, **({"label": label} if label else {}), **options}
    accepted = options_of(AGGREGATORS[name])
    torch.manual_seed(0)
    f = AGGREGATORS[name](L, C, G, **{k: v for k, v in asked.items() if k in accepted}).double()
    uniform(f, 1.0)
    return f


def affine(W: Tensor, b: Tensor) -> Tensor:
    """Of u = W' h + b the matrix from h̄ to ū, ``(c + 1, r + 1)``: W is (c, r)."""
    corner = torch.cat([torch.zeros(len(W)), torch.ones(1)]).to(W)
    return torch.cat([torch.cat([W, b[None]]), corner[:, None]], 1)


def whole(W: Tensor, b: Tensor) -> Tensor:
    """The matrix from h̄ to u, ``(c + 1, r)``."""
    return torch.cat([W, b[None]])


def sum_as_tensor(U: Tensor, b: Tensor, W: Tensor | None = None) -> Tensor:
    """Equation (8): U ``(L, c, c)``, W ``(m, c)``, to ``(m + 1, c + 1, .., c + 1, c)``."""
    m = 0 if W is None else len(W)
    T = b.new_zeros(m + 1, *[C + 1] * L, C)
    last = [C] * L
    for i in range(m):
        T[(i, *last)] = W[i]
    for position in range(L):
        for j in range(C):
            index = list(last)
            index[position] = j
            T[(m, *index)] = U[position, j]
    T[(m, *last)] = b
    return T if W is not None else T[0]


def dense(f: Aggregator, k: int, g: int) -> Tensor:
    """The tensor of one type and gate, ``([m + 1,] c + 1, .., c + 1, c)``."""
    mode = f.label == "mode"
    gate = slice(g * R, (g + 1) * R)
    label = []
    if mode and f.r:
        label = [(f.w.weight[gate].T, f.w.bias[gate])]
    if isinstance(f, Sum):
        positions = L if f.ordered else 1
        U = f.U[k].view(positions, C, G, C)[:, :, g].expand(L, C, C)
        W = f.W.view(M, G, C)[:, g] if f.label else None
        return sum_as_tensor(U, f.b[k].view(G, C)[g], W)
    if isinstance(f, Full):
        return f.T[k].view(*[M + 1] * mode, *[C + 1] * L, G, C)[..., g, :]
    if isinstance(f, (HOSVD, SymmetricHOSVD)):
        if isinstance(f, HOSVD):
            modes = [(f.U[k, j][:, gate], f.b_U[k, j, 0, gate]) for j in range(L)]
            core = f.core[k, g].view(*[R + 1] * (L + mode), R)
        else:
            modes = [(f.U[k][:, gate], f.b_U[k, 0, gate])] * L
            S = f.core[k, g].view(R + 1 if mode else 1, -1, R)
            core = torch.stack([symmetric_tensor(s, R + 1, L) for s in S])
            core = core if mode else core[0]
        matrices = [*(affine(*each) for each in label + modes), f.Q[k, g].T]
        T = tensorly.tucker_to_tensor((core, matrices))
    elif isinstance(f, Canonical):
        modes = [(f.U[k, j][:, gate], f.b_U[k, j, 0, gate]) for j in range(L)]
        matrices = [*(whole(*each) for each in label + modes), f.Q[k, g].T]
        T = tensorly.cp_to_tensor((None, matrices))
    else:
        assert isinstance(f, TensorTrain)
        squares = slice(g * R * R, (g + 1) * R * R)
        cores = [whole(f.A[k, j][:, squares], f.b_A[k, j, 0, squares]) for j in range(f.A.shape[1])]
        cores = [core.view(C + 1, R, R).transpose(0, 1) for core in cores]
        if mode:
            first = whole(*label[0])[None]
        else:
            first = whole(f.U[k, 0][:, gate], f.b_U[k, 0, 0, gate])[None]
        T = tensorly.tt_to_tensor([first, *cores, f.Q[k, g][:, :, None]])
    corner = torch.zeros_like(T)
    corner[(-1,) * (T.dim() - 1)] = f.b[k, g, 0]
    return T + corner


def bar(v: Tensor) -> Tensor:
    return torch.cat([v, v.new_ones(len(v), 1)], 1)


def einsum(T: Tensor, vectors: list[Tensor]) -> Tensor:
    """Equation (4), for rows of vectors."""
    modes = string.ascii_lowercase[: len(vectors)]
    rows = ",".join(f"z{i}" for i in modes)
    return torch.einsum(f"{modes}y,{rows}->zy", T, *vectors)


LABELS = [
    (name, label)
    for name, cls in AGGREGATORS.items()
    for label in (None, "mode" if "label" in options_of(cls) else "add")
]
DENSE = (*(Sum, SharedSum, Full, HOSVD, SymmetricHOSVD), *(Canonical, TensorTrain))
"""The aggregators of which :func:`dense` has the tensor; the others have their values alone."""


def children_and_labels(label: str | None) -> tuple[Tensor, Tensor | None]:
    """States of six nodes' children, some absent, and labels."""
    h, x = torch.randn(6, L, C).double(), torch.randn(6, M).double()
    h[1, 2] = 0.0
    h[2] = 0.0
    return h, x if label else None


@pytest.mark.parametrize(("name", "label"), LABELS)
def test_is_affine_in_every_child_and_the_label(name: str, label: str | None) -> None:
    """It equals an einsum with its values where each argument is zero or a unit vector."""
    f = make(name, label_size=M if label else 0, label=label)
    h, x = children_and_labels(label)
    sizes = [M] * (x is not None) + [C] * L
    index = torch.cartesian_prod(*(torch.arange(size + 1) for size in sizes))
    units = [torch.eye(size + 1, size).double()[i] for size, i in zip(sizes, index.T)]
    T = f(torch.stack(units[-L:], 1), None, units[0] if label else None)
    T = T.view(*(size + 1 for size in sizes), G, C)
    for mode, size in enumerate(sizes):  # from values to slopes; the last entry is the constant
        slopes, constant = T.split([size, 1], mode)
        T = torch.cat([slopes - constant, constant], mode)
    vectors = [bar(v) for v in (*([] if x is None else [x]), *h.unbind(1))]
    expected = torch.stack([einsum(T[..., g, :], vectors) for g in range(G)], 1)
    assert_close(f(h, None, x), expected)


@pytest.mark.parametrize(
    ("name", "label"), [(name, label) for name, label in LABELS if AGGREGATORS[name] in DENSE]
)
def test_equals_the_dense_tensor(name: str, label: str | None) -> None:
    f = make(name, label_size=M if label else 0, label=label)
    h, x = children_and_labels(label)
    vectors = [bar(v) for v in (*([] if x is None else [x]), *h.unbind(1))]
    expected = torch.stack([einsum(dense(f, 0, g), vectors) for g in range(G)], 1)
    assert_close(f(h, None, x), expected)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_types_equal_one_type_each(name: str) -> None:
    f = make(name, types=K)
    h = torch.randn(6, L, C).double()
    runs = [(0, 3), (2, 2), (1, 1)]
    rows = []
    for (k, count), part in zip(runs, h.split([count for _, count in runs])):
        (a,) = f._formula(part[None], *(p[k : k + 1] for p in f.parameters_by_type()))
        assert len(a[0]) == count
        rows.append(a[0])
    assert_close(f(h, runs), torch.cat(rows))


@pytest.mark.parametrize(("name", "label"), [each for each in LABELS if each[1]])
@pytest.mark.parametrize("nodes", [2, 20])
def test_leaves_are_nodes_whose_children_are_zero(name: str, label: str, nodes: int) -> None:
    f = make(name, label_size=M, label=label)
    x = torch.randn(nodes, M).double()
    zeros = torch.zeros(nodes, L, C).double()
    assert_close(f.leaves(f.embed(x)), f(zeros, None, x))


SLICED = ["full", "hosvd", "canonical", "tensor_train", "symmetric_hosvd"]


@pytest.mark.parametrize("name", SLICED)
def test_a_one_hot_label_selects_a_slice(name: str) -> None:
    """Section V.A: an operator as one-hot label equals parameters of its own for each operator."""
    one = make(name, label_size=K, label="mode")
    many = make(name, types=K)
    codes = torch.eye(K).double()
    with torch.no_grad():
        for k in range(K):
            for target in many.stacked:
                if (
                    hasattr(one, target)
                    and getattr(one, target)[0].shape == getattr(many, target)[k].shape
                ):
                    getattr(many, target)[k] = getattr(one, target)[0]
            slice_of(one, many, k, bar(one.embed(codes[k : k + 1]).view(-1, one.r or K)))
    h = torch.randn(9, L, C).double()
    op = torch.arange(K).repeat_interleave(3)
    assert_close(many(h, [(k, 3) for k in range(K)]), one(h, None, codes[op]))


def slice_of(one: Aggregator, many: Aggregator, k: int, w: Tensor) -> None:
    """Contract the label's mode of ``one`` with w̄ ``(G, r + 1)`` and write type k of ``many``."""
    name = type(one).__name__
    if name == "Full":
        many.T[k] = torch.tensordot(w[0], one.T[0].view(K + 1, -1, G * C), dims=1)
    elif name in ("HOSVD", "SymmetricHOSVD"):
        core = one.core[0].view(G, R + 1, -1, R)
        many.core[k] = torch.einsum("ga,gabr->gbr", w, core)
    elif name == "Canonical":
        many.Q[k] = w[:, :R, None] * one.Q[0]
    else:  # r_0 A_1(h̄_1) is the first core of a tensor train
        many.U[k, 0] = torch.einsum("gr,cgrs->cgs", w[:, :R], one.A[0, 0].view(C, G, R, R)).flatten(
            1
        )
        many.b_U[k, 0, 0] = torch.einsum(
            "gr,grs->gs", w[:, :R], one.b_A[0, 0, 0].view(G, R, R)
        ).flatten()
        many.A[k], many.b_A[k] = one.A[0, 1:], one.b_A[0, 1:]

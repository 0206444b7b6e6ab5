"""Grouped application equals a plain loop over rows, however the groups fall."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from dgltrees.cells import grouped as module
from dgltrees.cells.grouped import grouped
from dgltrees.errors import ConfigError, TreeError


def affine(x: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    y = x @ W + b
    return y, y.unsqueeze(-1) * 2


@pytest.mark.parametrize("padded_rows", [0, 1024], ids=["one by one", "padded"])
@given(
    types=st.integers(1, 7),
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=7),
    seed=st.integers(0, 99),
    repeated=st.booleans(),
)
def test_equals_a_loop(
    padded_rows: int, types: int, counts: list[int], seed: int, repeated: bool
) -> None:
    torch.manual_seed(seed)
    values = torch.randint(types, (len(counts),)) if repeated else torch.randperm(types)
    groups = list(zip(values.tolist(), counts))
    x = torch.randn(sum(count for _, count in groups), 3).double().requires_grad_()
    W = torch.randn(types, 3, 2).double().requires_grad_()
    b = torch.randn(types, 1, 2).double().requires_grad_()
    kinds = [value for value, count in groups for _ in range(count)]
    expected = torch.stack([x[i] @ W[k] + b[k, 0] for i, k in enumerate(kinds)])
    before, module.PADDED_ROWS = module.PADDED_ROWS, padded_rows
    try:
        made, twice = grouped(affine, (x,), (W, b), groups)
    finally:
        module.PADDED_ROWS = before
    assert_close(made, expected)
    assert_close(twice, 2 * expected.unsqueeze(-1))
    weight = torch.randn_like(made)
    assert_close(
        torch.autograd.grad((made * weight).sum(), (x, W, b)),
        torch.autograd.grad((expected * weight).sum(), (x, W, b)),
    )


def test_several_types_need_groups() -> None:
    with pytest.raises(ConfigError, match="missing groups of rows for 4 types"):
        grouped(affine, (torch.zeros(2, 3),), (torch.zeros(4, 3, 2), torch.zeros(4, 1, 2)))


def test_a_type_out_of_range_is_refused() -> None:
    W, b = torch.zeros(4, 3, 2), torch.zeros(4, 1, 2)
    for value in (-1, 4):
        with pytest.raises(
            TreeError,
            match=f"operator from 0 to 3 at every node that has children, got {value}; only "
            "leaves may have no operator",
        ):
            grouped(affine, (torch.zeros(2, 3),), (W, b), [(value, 2)])

"""Contractions against einsum, whatever the split; symmetric products against all orders."""

from itertools import combinations_with_replacement, permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from dgltrees.cells.aggregators.modes import homogeneous, multilinear, outer
from dgltrees.cells.aggregators.symmetric_hosvd import multisets, symmetric_maps, symmetric_product
from dgltrees.errors import ConfigError


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    out=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_multilinear_equals_einsum(sizes: list[int], out: int, seed: int) -> None:
    torch.manual_seed(seed)
    factors = [torch.randn(2, 3, d).double() for d in sizes]
    T = torch.randn(2, *sizes, out).double()
    expected = torch.einsum(
        f"B{'abcde'[: len(sizes)]}y,{','.join(f'Bz{i}' for i in 'abcde'[: len(sizes)])}->Bzy",
        T,
        *factors,
    )
    assert_close(multilinear(T.flatten(1, -2), factors), expected)


def test_outer_runs_fastest_over_the_last_factor() -> None:
    a, b = torch.tensor([[[1.0, 10.0]]]), torch.tensor([[[2.0, 3.0, 5.0]]])
    assert_close(outer([a, b]), torch.tensor([[[2.0, 3.0, 5.0, 20.0, 30.0, 50.0]]]))


def test_homogeneous_adds_a_one_at_the_end() -> None:
    assert_close(homogeneous(torch.tensor([[3.0, 4.0]])), torch.tensor([[3.0, 4.0, 1.0]]))


def colexicographic(indices: int, length: int) -> list[tuple[int, ...]]:
    return sorted(combinations_with_replacement(range(indices), length), key=lambda m: m[::-1])


SIZES = [(1, 3), (3, 1), (3, 2), (2, 4), (4, 3), (3, 9), (6, 4)]


@pytest.mark.parametrize(("indices", "length"), SIZES)
def test_maps_add_one_index(indices: int, length: int) -> None:
    maps = symmetric_maps(indices, length)
    assert len(maps) == length - 1
    for j, at in enumerate(maps, start=2):
        place = {multiset: i for i, multiset in enumerate(colexicographic(indices, j))}
        assert len(place) == multisets(indices, j)
        assert at.tolist() == [
            place[tuple(sorted((*smaller, added)))]
            for smaller in colexicographic(indices, j - 1)
            for added in range(indices)
        ]


def test_maps_of_250_children() -> None:
    maps = symmetric_maps(3, 250)
    assert maps[-1][-1] == multisets(3, 250) - 1
    assert maps[-1].bincount().amin() == 1  # {0, .., 0} comes from itself alone
    assert len(maps[-1].unique()) == multisets(3, 250)


def test_maps_too_large_are_refused() -> None:
    message = r"L = 100000 needs index tables of 2 \* 2 \* \(100001 over 2\) entries"
    with pytest.raises(ConfigError, match=message):
        symmetric_maps(2, 100_000)


@pytest.mark.parametrize(("indices", "length"), SIZES[:5])
def test_symmetric_product_sums_the_orders(indices: int, length: int) -> None:
    torch.manual_seed(0)
    factors = [torch.randn(2, 3, indices).double() for _ in range(length)]
    made = symmetric_product(factors, symmetric_maps(indices, length))
    for place, multiset in enumerate(colexicographic(indices, length)):
        total = torch.zeros(2, 3).double()
        for order in set(permutations(multiset)):
            term = torch.ones(2, 3).double()
            for factor, j in zip(factors, order):
                term = term * factor[:, :, j]
            total = total + term
        assert_close(made[:, :, place], total)

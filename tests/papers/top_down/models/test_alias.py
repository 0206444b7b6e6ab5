from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dgltrees.papers.top_down.models.language_model import _CELL, AliasTable


def _shares(table: AliasTable) -> torch.Tensor:
    """The probability of each word, added up over the cells."""
    share = torch.zeros(len(table.alias), dtype=torch.float64)
    own = table.threshold.double() / _CELL
    share.index_add_(0, torch.arange(len(share)), own)
    share.index_add_(0, table.alias, 1 - own)
    return share / len(share)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=50).filter(any))
def test_the_cells_add_up_to_the_distribution(counts: list[float]) -> None:
    p = torch.tensor(counts, dtype=torch.float64) / sum(counts)
    table = AliasTable(p)
    torch.testing.assert_close(_shares(table), p, rtol=1e-9, atol=1e-12)
    assert ((table.threshold >= 0) & (table.threshold <= _CELL)).all()


def test_draws_follow_it_and_leave_out_what_has_none() -> None:
    torch.manual_seed(0)
    p = torch.tensor([0.5, 0.0, 0.3, 0.0, 0.2], dtype=torch.float64)
    found = torch.bincount(AliasTable(p).draw(100_000), minlength=5) / 100_000
    torch.testing.assert_close(found.double(), p, atol=0.006, rtol=0)
    assert found[1] == found[3] == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_another_precision_draws_the_same(dtype: torch.dtype) -> None:
    p = torch.tensor([0.7, 0.1, 0.2], dtype=torch.float64)
    draws = []
    for table in (AliasTable(p), AliasTable(p).to(dtype)):
        torch.manual_seed(1)
        draws.append(table.draw(1000))
    assert torch.equal(*draws)

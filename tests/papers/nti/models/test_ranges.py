"""Constructors refuse values that their annotations exclude."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dgltrees.papers.nti.models.attention import GlobalAttention
from dgltrees.papers.nti.models.leaves import LSTMLeaves
from dgltrees.papers.nti.models.tree_attention import TreeAttention
from tests.models.test_ranges import assert_refused
from tests.papers.nti.models.worlds import nti

REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (nti, {"trees": "right"}, "one of full, left"),
    (nti, {"pad": "none"}, "one of fixed, learned, zero"),
    (nti, {"padding": "both"}, "one of left, right"),
    (lambda **o: LSTMLeaves(4, 4, **o), {"init": "ones"}, "one of kaiming, xavier, uniform"),
    (lambda **o: GlobalAttention(4, **o), {"mask_pads": 1}, "true or false"),
    (lambda **o: TreeAttention(4, **o), {"variant": "tree"}, "one of paper, code"),
]


@pytest.mark.parametrize(("build", "options", "words"), REFUSED)
def test_values_out_of_range_are_refused(
    build: Callable[..., Any], options: dict[str, Any], words: str
) -> None:
    assert_refused(build, options, words)

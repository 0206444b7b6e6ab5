"""Constructors refuse values that their annotations exclude."""

from collections.abc import Callable
from typing import Any

import pytest

from dgltrees.papers.top_down.models.add_decisions import AddDecisions
from dgltrees.papers.top_down.models.biaffine import BiaffineParser
from dgltrees.papers.top_down.models.language_model import NCE, SequenceLM
from dgltrees.papers.top_down.models.sample_trees import Sampling
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from tests.models.test_ranges import WORDS, assert_refused

REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (lambda **o: TreeLM(5, 4, **o), {"dropout": -0.1}, "a number of at least 0 and below 1"),
    (lambda **o: TreeLM(5, 4, **o), {"dropout": 1.0}, "a number of at least 0 and below 1"),
    (lambda **o: TreeLM(5, 4, **o), {"labels": -1}, "an integer of at least 0"),
    (lambda **o: SequenceLM(5, 4, **o), {"layers": 0}, "an integer of at least 1"),
    (lambda **o: AddDecisions(4, **o), {"state": "both"}, "one of own, source"),
    (lambda **o: NCE(WORDS.weight[:, 0].detach(), **o), {"noise": 0}, "an integer of at lea"),
    (Sampling, {"temperature": -1.0}, "a number of at least 0"),
    (Sampling, {"top_k": 0}, "null, or .*|an integer of at least 1, or null"),
    (Sampling, {"top_p": 0.0}, "a number above 0 and at most 1"),
    (Sampling, {"top_p": 1.5}, "a number above 0 and at most 1"),
    (lambda **o: BiaffineParser([WORDS], 3, **o), {"arc_size": 0}, "an integer of at least 1"),
    (
        lambda **o: BiaffineParser([WORDS], 3, **o),
        {"dropout": 1.0},
        "a number of at least 0 and be",
    ),
]


@pytest.mark.parametrize(("build", "options", "words"), REFUSED)
def test_values_out_of_range_are_refused(
    build: Callable[..., Any], options: dict[str, Any], words: str
) -> None:
    assert_refused(build, options, words)

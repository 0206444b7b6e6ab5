"""Constructors refuse values that their annotations exclude."""

from collections.abc import Callable
from typing import Any

import pytest

from dgltrees.cells import make_cell
from dgltrees.errors import ConfigError
from dgltrees.models import (
    MLP,
    OneHot,
    PairHead,
    SequenceEncoder,
    TransformerEncoder,
    TreeEncoder,
    WordEmbedding,
)

WORDS = WordEmbedding("word", 5, 4)


def trees(**options: Any) -> TreeEncoder:
    cell = make_cell("child_sum", input_size=2, hidden_size=3)
    return TreeEncoder(OneHot("value", 2), cell, **options)


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (lambda **o: MLP(4, 3, **o), {"dropout": 1.0}, "a number of at least 0 and below 1"),
    (lambda **o: MLP(4, 3, **o), {"init": "zeros"}, "one of kaiming, xavier, uniform"),
    (lambda **o: PairHead(4, 3, **o), {"hidden": 0}, "an integer of at least 1"),
    (lambda **o: WordEmbedding("word", size=4, **o), {"rows": 0}, "an integer of at least 1"),
    (trees, {"compile": "no"}, "true or false"),
    (lambda **o: SequenceEncoder(WORDS, 4, **o), {"layers": 0}, "an integer of at least 1"),
    (lambda **o: TransformerEncoder(WORDS, 4, **o), {"heads": 0}, "an integer of at least 1"),
]


@pytest.mark.parametrize(
    ("build", "options", "words"),
    REFUSED,
    ids=[f"{i}-{next(iter(r[1]))}" for i, r in enumerate(REFUSED)],
)
def test_values_out_of_range_are_refused(
    build: Callable[..., Any], options: dict[str, Any], words: str
) -> None:
    assert_refused(build, options, words)


def assert_refused(build: Callable[..., Any], options: dict[str, Any], words: str) -> None:
    ((name, value),) = options.items()
    with pytest.raises(ConfigError, match=f"expected {name} to be ({words})") as caught:
        build(**options)
    assert str(caught.value).endswith(f"got {value!r}")

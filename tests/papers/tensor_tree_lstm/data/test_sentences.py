import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable

import pytest

from dgltrees.formats.synthetic.draws import stream
from dgltrees.papers.tensor_tree_lstm.data import generate_lrt as sentences

from . import brute_force


def table(models: Iterable[int]) -> int:
    return sum(1 << row for row in models)


@pytest.mark.parametrize("size", range(sentences.LARGEST + 1))
def test_size_and_truth_table(size: int) -> None:
    rng = stream("sentences", size)
    for _ in range(10):
        text, truth = sentences.draw_sentence(rng, size, "bdf")
        assert brute_force.operators(text) == size
        assert brute_force.letters(text) <= set("bdf")
        assert truth == table(brute_force.models(text))
        assert "( not ( not" not in text


def naive(rng: random.Random, level: int = 0) -> str:
    """A sentence by the grammar, drawn by recursion."""
    if level == 3 or rng.random() < 0.55:
        text = "a"
    else:
        word = "and" if rng.random() < 0.5 else "or"
        text = f"( {naive(rng, level + 1)} ( {word} {naive(rng, level + 1)} ) )"
    return f"( not {text} )" if rng.random() < 1 / 3 else text


def test_sizes_have_the_probabilities_of_the_grammar() -> None:
    assert sum(sentences.SIZE_WEIGHTS) == pytest.approx(1)
    assert len(sentences.SIZE_WEIGHTS) == sentences.LARGEST + 1 == 23
    rng = stream("naive")
    counts = Counter(brute_force.operators(naive(rng)) for _ in range(8_000))
    for size in range(sentences.LARGEST + 1):
        assert counts[size] / 8_000 == pytest.approx(sentences.SIZE_WEIGHTS[size], abs=0.02)


@pytest.mark.parametrize("size", [2, 3])
def test_shapes_have_the_probabilities_of_the_grammar(size: int) -> None:
    """Shapes are as frequent among sentences drawn with a size as among naive ones of that size."""
    rng = stream("shares", size)
    drawn = Counter(sentences.draw_sentence(rng, size, "a")[0] for _ in range(4_000))
    every = (naive(rng) for _ in itertools.count())
    ours = itertools.islice((s for s in every if brute_force.operators(s) == size), 4_000)
    expected = Counter(ours)
    assert set(drawn) == set(expected)
    for text in expected:
        assert drawn[text] / 4_000 == pytest.approx(expected[text] / 4_000, abs=0.04)


def test_the_rows_of_the_tables_are_all_assignments() -> None:
    rows = {tuple(t >> row & 1 for t in sentences.TABLES.values()) for row in range(64)}
    assert len(rows) == 64
    assert re.fullmatch("1{64}", bin(sentences.ALWAYS)[2:])

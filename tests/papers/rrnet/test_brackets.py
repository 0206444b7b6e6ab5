"""Bracket scores, by hand."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dgltrees import TreeError
from dgltrees.papers.rrnet.brackets import (
    bracket_scores,
    left_branching_spans,
    random_operations,
    random_word_operations,
    restrict_spans,
    right_branching_spans,
)
from dgltrees.papers.rrnet.graphs import (
    inferred_trees,
    match_splits,
    operation_graph,
    spans,
    word_operations,
)
from dgltrees.trees.kinds import Operation

Span = tuple[int, int, int]

# Two sequences, of 6 and 4 tokens.
TRUE: list[Span] = [(0, 0, 5), (0, 0, 2), (0, 3, 4), (0, 1, 1), (1, 0, 3), (1, 1, 3), (1, 1, 2)]


def test_brackets_are_counted_over_all_sequences() -> None:
    """Four true brackets count; of five found, two are right."""
    found = [(0, 0, 2), (0, 2, 4), (0, 0, 1), (1, 1, 3), (1, 2, 3), (1, 0, 3)]
    scores = bracket_scores(found, TRUE, [6, 4])
    assert scores == pytest.approx((2 / 5, 2 / 4, 4 / 9))
    assert bracket_scores(TRUE, found, [6, 4]) == pytest.approx((2 / 4, 2 / 5, 4 / 9))


def test_the_same_span_of_another_sequence_is_another() -> None:
    assert bracket_scores([(1, 0, 2)], [(0, 0, 2)], [6, 6]) == (0, 0, 0)


def test_whole_sequences_and_single_tokens_do_not_count() -> None:
    """(0, 2) twice counts once; a whole sequence and single tokens do not count."""
    found = [(0, 0, 2), (0, 0, 2), (0, 0, 5), (0, 3, 3), (1, 0, 3)]
    assert bracket_scores(found, TRUE, [6, 4]) == pytest.approx((1, 1 / 4, 2 / 5))
    assert bracket_scores(TRUE, TRUE, [6, 4]) == (1, 1, 1)


@pytest.mark.parametrize(("found", "true"), [([], TRUE), (TRUE, []), ([], []), ([(0, 0, 5)], TRUE)])
def test_nothing_to_divide_by_is_zero(found: list[Span], true: list[Span]) -> None:
    assert bracket_scores(found, true, [6, 4]) == (0, 0, 0)


@pytest.mark.parametrize("span", [(0, 2, 6), (0, -1, 2), (0, 3, 2), (2, 0, 1), (-1, 0, 1)])
def test_spans_outside_are_refused(span: Span) -> None:
    message = f"of 2 sequences, got tokens {span[1]} to {span[2]} of sequence {span[0]}$"
    with pytest.raises(TreeError, match=message):
        bracket_scores([*TRUE, span], TRUE, [6, 4])


def test_branching_trees() -> None:
    left, right = left_branching_spans([3, 1, 2]), right_branching_spans([3, 1, 2])
    assert left.tolist() == [[0, 0, 1], [0, 0, 2], [2, 0, 1]]
    assert right.tolist() == [[0, 0, 2], [0, 1, 2], [2, 0, 1]]
    assert left_branching_spans([]).shape == right_branching_spans([]).shape == (0, 3)


def test_branching_trees_against_true_ones() -> None:
    """Left: (0, 2) of four in the first, none of two in the second; right: (1, 3) of the latter."""
    sizes = [6, 4]
    assert bracket_scores(left_branching_spans(sizes), TRUE, sizes) == pytest.approx(
        (1 / 6, 1 / 4, 0.2)
    )
    right = bracket_scores(right_branching_spans(sizes), TRUE, sizes)
    assert right == pytest.approx((1 / 6, 1 / 4, 0.2))


def test_spans_over_some_tokens() -> None:
    """Of (a(bc)) and d the letters: brackets at both ends go, a sub-tree of brackets alone too."""
    letters = np.array([0, 1, 0, 1, 1, 0, 0, 1], bool)
    spans_of = [(0, 0, 6), (0, 2, 5), (0, 1, 3), (0, 5, 6), (0, 6, 6), (1, 0, 0)]
    brackets, sizes = restrict_spans(spans_of, [7, 1], letters)
    assert brackets.tolist() == [[0, 0, 2], [0, 1, 2], [0, 0, 1], [1, 0, 0]]
    assert sizes.tolist() == [3, 1]
    assert restrict_spans([], [7, 1], letters)[0].shape == (0, 3)
    assert restrict_spans([], [], letters[:0])[1].shape == (0,)


def test_random_operations_are_legal_and_equally_likely() -> None:
    sizes, limit = np.repeat([1, 7, 40, 0], 500), 3
    operations = random_operations(sizes, limit, seed=1)
    np.testing.assert_array_equal(operations, random_operations(sizes, limit, seed=1))
    assert (operations != random_operations(sizes, limit, seed=2)).any()
    begins = np.cumsum(sizes) - sizes
    change = (operations == Operation.SPLIT).astype(int) - (operations == Operation.MERGE)
    counts = np.zeros((limit + 1, 4), int)
    for begin, size in zip(begins, sizes):
        depth = np.cumsum(change[begin : begin + size]) - change[begin : begin + size]
        np.add.at(counts, (depth, operations[begin : begin + size]), 1)
    assert (counts[:, 0] == 0).all()
    assert counts[0, Operation.MERGE] == counts[limit, Operation.SPLIT] == 0
    shares = counts[:, 1:] / counts.sum(1, keepdims=True)
    expected = np.array([[1, 1, 0], [1, 1, 1], [1, 1, 1], [0, 1, 1]]) / [[2], [3], [3], [2]]
    assert np.abs(shares - expected).max() < 0.03


def test_random_operations_between_words_are_legal_and_equally_likely() -> None:
    sizes = np.repeat([1, 6], 2000)
    merges, splits = random_word_operations(sizes, 2, seed=1)
    assert (merges != random_word_operations(sizes, 2, seed=2)[0]).any()
    operations, lengths = word_operations(merges, splits, sizes)
    assert match_splits(operations, lengths, complete=True).depth.max() == 2
    assert np.bincount(splits[:2000]) / 2000 == pytest.approx([1 / 2, 1 / 4, 1 / 4], abs=0.04)


def test_operations_are_compared_by_their_brackets() -> None:
    """(1+(2*3)): the inner bracket counts; who splits at the outer ( alone has none right."""
    true = [0, 1, 2, 2, 1, 2, 2, 2, 3, 3]
    found = [0, 1, 2, 2, 2, 1, 2, 3, 2, 3]

    def brackets(operations: list[int]) -> NDArray[np.int64]:
        return spans(inferred_trees(operation_graph(operations, [10])))

    assert bracket_scores(brackets(true), brackets(true), [9]) == (1, 1, 1)
    assert bracket_scores(brackets(found), brackets(true), [9]) == (0, 0, 0)

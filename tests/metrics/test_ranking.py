"""MAP and MRR by hand, by the slow way, and by trec_eval."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees.metrics.ranking import rank_within, ranking


def measured(
    scores: list[float],
    relevant: Sequence[int],
    group: list[int],
    tie: list[int] | None = None,
) -> dict[str, Any]:
    ties = list(range(len(scores))) if tie is None else tie
    return ranking(np.array(scores), np.array(relevant, bool), np.array(group), np.array(ties))


def test_map_and_mrr_by_hand() -> None:
    """Two questions, right answers at ranks 2 and 3, and at rank 1; one question has none."""
    report = measured(
        [0.9, 0.8, 0.1, 0.5, 0.4, 0.7, 0.2], [0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 2, 2]
    )
    assert report["map"] == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1) / 2)
    assert report["mrr"] == pytest.approx((1 / 2 + 1) / 2)
    assert (report["questions"], report["dropped"]) == (2, 1)


def test_equal_scores_go_by_the_greatest_name() -> None:
    assert measured([0.5, 0.5], [1, 0], [0, 0], tie=[0, 1])["mrr"] == 0.5
    assert measured([0.5, 0.5], [1, 0], [0, 0], tie=[1, 0])["mrr"] == 1.0


def test_scores_are_compared_as_32_bit_floats() -> None:
    assert measured([0.5, 0.5 + 1e-9], [1, 0], [0, 0], tie=[1, 0])["mrr"] == 1.0
    assert measured([0.5, 0.5 + 1e-6], [1, 0], [0, 0], tie=[1, 0])["mrr"] == 0.5


def test_questions_without_a_right_answer_are_dropped() -> None:
    assert measured([0.5], [0], [3]) == {"map": 0.0, "mrr": 0.0, "questions": 0, "dropped": 1}


def test_ranks_within_groups() -> None:
    ranks = rank_within(np.array([0.1, 0.9, 0.5, 0.5]), np.array([1, 1, 0, 0]), np.arange(4))
    assert ranks.tolist() == [2, 1, 2, 1]


QUESTIONS = st.lists(
    st.lists(
        st.tuples(st.sampled_from([0.25, 0.5, 0.5 + 1e-9, 0.75]), st.booleans()),
        min_size=1,
        max_size=12,
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.skipif(find_spec("pytrec_eval") is None, reason="needs pytrec-eval-terrier")
@given(questions=QUESTIONS)
def test_agrees_with_trec_eval(questions: list[list[tuple[float, bool]]]) -> None:
    import pytrec_eval

    run = {
        str(q): {str(i): score for i, (score, _) in enumerate(rows)}
        for q, rows in enumerate(questions)
    }
    judged = {
        str(q): {str(i): int(right) for i, (_, right) in enumerate(rows)}
        for q, rows in enumerate(questions)
        if any(right for _, right in rows)
    }
    theirs = pytrec_eval.RelevanceEvaluator(judged, {"map", "recip_rank"}).evaluate(run)
    names = [[str(i) for i in range(len(rows))] for rows in questions]
    ours = measured(
        [score for rows in questions for score, _ in rows],
        [right for rows in questions for _, right in rows],
        [q for q, rows in enumerate(questions) for _ in rows],
        [sorted(row).index(name) for row in names for name in row],
    )
    assert ours["questions"] == len(judged)
    for name, theirs_name in (("map", "map"), ("mrr", "recip_rank")):
        mean = np.mean([row[theirs_name] for row in theirs.values()]) if theirs else 0.0
        assert ours[name] == pytest.approx(mean)

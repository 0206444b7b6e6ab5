"""Measures of orders within groups: by hand, the slow way, scikit-learn, scipy and trec_eval."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score

from dgltrees.metrics import ndcg, order_metrics, pair_metrics, rank_within, ranking, ranks

RNG = np.random.default_rng(0)
GROUPS = RNG.permutation(np.repeat(np.arange(30), RNG.integers(5, 20, 30)))
TARGETS = RNG.integers(0, 4, len(GROUPS)).astype(float)
SCORES = RNG.integers(0, 6, len(GROUPS)).astype(float)  # many are equal
MEMBERS = [group == GROUPS for group in range(30)]


@pytest.mark.parametrize("top", [0, 3])
def test_ndcg_is_that_of_scikit_learn(top: int) -> None:
    theirs = [ndcg_score([TARGETS[m]], [SCORES[m]], k=top or None) for m in MEMBERS]
    np.testing.assert_allclose(ndcg(TARGETS, SCORES, GROUPS, top), theirs)


def test_gains_of_negative_targets_are_above_the_lowest_of_their_group() -> None:
    lowest = np.array([TARGETS[m].min() for m in MEMBERS])[GROUPS]
    expected = ndcg(TARGETS - lowest, SCORES, GROUPS)
    np.testing.assert_allclose(ndcg(TARGETS - 9, SCORES, GROUPS), expected)


@pytest.mark.parametrize("block", [4_000_000, 50])
def test_pairs_and_kendall(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "_PAIRS", block)
    report = pair_metrics(TARGETS, SCORES, GROUPS)
    taus = [kendalltau(TARGETS[m], SCORES[m])[0] for m in MEMBERS]
    assert report["kendall"] == pytest.approx(np.mean(taus))
    shares = []
    for m in MEMBERS:
        y, s = (np.sign(v[m][:, None] - v[m]) for v in (TARGETS, SCORES))
        shares.append(((y * s)[y > 0].mean() + 1) / 2)
    assert report["pair_accuracy"] == pytest.approx(np.mean(shares))


def test_the_best_of_a_group_are_its_right_answers() -> None:
    """The best at ranks 2 and 3, and at rank 1; of equal scores the worse comes first."""
    y = np.array([1.0, 2, 2, 9, 3, 3])
    s = np.array([0.9, 0.8, 0.8, 0.7, 0.1, 0.2])
    report = order_metrics(y, s, np.array([7, 7, 7, 2, 2, 2]))
    assert report["map"] == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1) / 2)
    assert report["mrr"] == pytest.approx((1 / 2 + 1) / 2)
    assert report["groups"] == 2
    tied = order_metrics(y, np.zeros(6), np.array([7, 7, 7, 2, 2, 2]))
    assert (tied["mrr"], tied["pair_accuracy"], tied["kendall"]) == (
        pytest.approx((1 / 2 + 1 / 3) / 2),
        0.5,
        0.0,
    )


def measured(
    scores: list[float], relevant: Sequence[int], group: list[int], tie: list[int] | None = None
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

"""The parameter counts of Tables I and II, every entry."""

from __future__ import annotations

import pytest

from dgltrees.cells import AGGREGATORS, ParameterCount, count_parameters, make_cell

LRT, LISTOPS = 2, 5  # children


@pytest.mark.parametrize(
    ("children", "size", "printed"),
    [
        (LRT, 3, 48),
        (LRT, 5, 180),
        (LRT, 10, 1210),
        (LRT, 20, 8820),
        (LRT, 50, 130050),
        (LRT, 100, 1020100),
        (LISTOPS, 3, 3072),
        (LISTOPS, 5, 38880),
        (LISTOPS, 7, 229376),
    ],
)
def test_full(children: int, size: int, printed: int) -> None:
    assert AGGREGATORS["full"].paper_parameter_count(children, size) == printed


@pytest.mark.parametrize(
    ("children", "size", "printed"),
    [
        (LRT, 3, 18),
        (LRT, 5, 50),
        (LRT, 10, 200),
        (LRT, 20, 800),
        (LRT, 50, 5000),
        (LRT, 100, 20000),
        (LISTOPS, 25, 3125),
        (LISTOPS, 88, 38720),
        (LISTOPS, 214, 228980),
    ],
)
def test_sum(children: int, size: int, printed: int) -> None:
    assert AGGREGATORS["sum"].paper_parameter_count(children, size) == printed


@pytest.mark.parametrize(
    ("children", "size", "grid", "rank", "printed"),
    [
        (LRT, 10, (3, 5, 7), 7, 588),
        (LRT, 20, (5, 10, 15), 15, 4440),
        (LRT, 50, (10, 20, 30), 30, 31830),
        (LRT, 100, (20, 50, 70), 20, 12820),
        (LISTOPS, 10, (3, 5, 7), 3, 3222),
        (LISTOPS, 20, (3, 5, 7), 3, 3372),
        (LISTOPS, 50, (3, 5, 7), 3, 3822),
    ],
)
def test_hosvd(children: int, size: int, grid: tuple[int, ...], rank: int, printed: int) -> None:
    """The tables print the best rank's count alone: exactly one rank of the grid has it."""
    count = AGGREGATORS["hosvd"].paper_parameter_count
    assert [r for r in grid if count(children, size, r) == printed] == [rank]


@pytest.mark.parametrize(
    ("aggregator", "rank", "table"),
    [
        ("canonical", 4, 5 * 20 * 4),
        ("tensor_train", 4, 21 * 4 + 4 * 21 * 16),
        ("shared_sum", None, 20 * 20),
        ("symmetric_hosvd", 3, 20 * 3 + 56 * 3),  # 8 over 5
    ],
)
def test_the_others_count_alike(aggregator: str, rank: int | None, table: int) -> None:
    assert AGGREGATORS[aggregator].paper_parameter_count(5, 20, rank or 0) == table


@pytest.mark.parametrize(("children", "size", "label", "rank"), [(LRT, 10, 4, 3), (3, 5, 2, 4)])
def test_hosvd_by_the_formula_of_the_text(children: int, size: int, label: int, rank: int) -> None:
    """Section III.B: m r + (L + 1) c r + r (r + 1)^(L + 1), without biases."""
    f = AGGREGATORS["hosvd"](children, size, rank=rank, label_size=label, bias=False)
    expected = label * rank + (children + 1) * size * rank + rank * (rank + 1) ** (children + 1)
    assert sum(p.numel() for p in f.parameters()) == expected


def test_count_parameters() -> None:
    cell = make_cell(
        "lstm",
        input_size=10,
        hidden_size=20,
        max_children=5,
        aggregator="hosvd",
        rank=3,
        operators=4,
    )
    aggregation = 5 * (20 * 3 + 3) + 4**5 * 3 + 3 * 20 + 20  # one gate of one operator
    forget = 5 * (20 * 20 + 20)
    leaf = 3 * (10 * 20 + 20)
    expected = ParameterCount(paper=3372, total=4 * (3 * aggregation + forget) + leaf)
    assert count_parameters(cell) == expected


def test_count_parameters_of_tai() -> None:
    child_sum = make_cell("child_sum", input_size=3, hidden_size=2)
    assert count_parameters(child_sum) == ParameterCount(paper=4, total=24 + 12 + 4 + 8)
    nary = make_cell("nary", input_size=3, hidden_size=2, max_children=2)
    assert count_parameters(nary) == ParameterCount(paper=8, total=24 + 40 + 8)


def test_a_label_that_is_a_mode_is_not_in_the_tables() -> None:
    sizes = {"input_size": 3, "hidden_size": 4, "max_children": 2}
    cell = make_cell("lstm", **sizes, aggregator="full", label="mode")
    assert count_parameters(cell)["paper"] is None

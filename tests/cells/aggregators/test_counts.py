"""The parameter counts of Tables I and II, every entry."""

import pytest

from dgltrees.cells import AGGREGATORS, ParameterCount, count_parameters, make_cell

LRT, LISTOPS = 2, 5  # children


@pytest.mark.parametrize(
    ("aggregator", "children", "size", "rank", "count"),
    [
        ("full", LRT, 3, 0, 48),
        ("full", LRT, 5, 0, 180),
        ("full", LRT, 10, 0, 1210),
        ("full", LRT, 20, 0, 8820),
        ("full", LRT, 50, 0, 130050),
        ("full", LRT, 100, 0, 1020100),
        ("full", LISTOPS, 3, 0, 3072),
        ("full", LISTOPS, 5, 0, 38880),
        ("full", LISTOPS, 7, 0, 229376),
        ("sum", LRT, 3, 0, 18),
        ("sum", LRT, 5, 0, 50),
        ("sum", LRT, 10, 0, 200),
        ("sum", LRT, 20, 0, 800),
        ("sum", LRT, 50, 0, 5000),
        ("sum", LRT, 100, 0, 20000),
        ("sum", LISTOPS, 25, 0, 3125),
        ("sum", LISTOPS, 88, 0, 38720),
        ("sum", LISTOPS, 214, 0, 228980),
        # The others count alike, though no table has them.
        ("canonical", 5, 20, 4, 5 * 20 * 4),
        ("tensor_train", 5, 20, 4, 21 * 4 + 4 * 21 * 16),
        ("shared_sum", 5, 20, 0, 20 * 20),
        ("symmetric_hosvd", 5, 20, 3, 20 * 3 + 56 * 3),  # 8 over 5
    ],
)
def test_counts(aggregator: str, children: int, size: int, rank: int, count: int) -> None:
    assert AGGREGATORS[aggregator].paper_parameter_count(children, size, rank) == count


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

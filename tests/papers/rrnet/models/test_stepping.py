"""Step by step and along the graph: equal values and gradients for equal operations."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from dgltrees.cells import RRNetCell
from dgltrees.cells.initial import uniform
from dgltrees.errors import TreeError
from dgltrees.papers.rrnet.graphs import operation_graph
from dgltrees.papers.rrnet.models.stepping import RRNetState, advance, initial_state
from dgltrees.traversal import run_cell

OPTIONS: list[dict[str, Any]] = [
    {},
    {"memory": "running", "merge": "two_layers"},
    {"layer_norm": True},
]
LIMIT = 3


def cell_of(options: dict[str, Any]) -> RRNetCell:
    torch.manual_seed(0)
    cell = RRNetCell(3, 4, **options).double()
    uniform(cell, 0.8)
    return cell


@st.composite
def operations(draw: st.DrawFn, length: int) -> list[int]:
    """Legal ones, on a stack of a limit."""
    ops, size = [], 0
    for _ in range(length):
        op = draw(st.sampled_from([1] * (size < LIMIT) + [2] + [3] * (size > 0)))
        ops.append(op)
        size += (op == 1) - (op == 3)
    return ops


@st.composite
def worlds(draw: st.DrawFn) -> list[list[int]]:
    length = draw(st.integers(1, 8))
    return [draw(operations(length)) for _ in range(draw(st.integers(1, 4)))]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("masked", [False, True])
@given(worlds())
def test_steps_are_the_graph(options: dict[str, Any], masked: bool, rows: list[list[int]]) -> None:
    cell, count, length = cell_of(options), len(rows), len(rows[0])
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(count, length, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(count, 4, generator=generator, dtype=torch.float64) if masked else None
    weight = torch.randn(count, length, 4, generator=generator, dtype=torch.float64)

    state, found = initial_state(cell, count, LIMIT), []
    for step in range(length):
        state = advance(cell, x[:, step], torch.tensor(rows)[:, step], state, mask)
        found.append(state.h)
    on_the_fly = torch.stack(found, 1)

    graph = operation_graph([op for row in rows for op in (0, *row)], [length + 1] * count)
    starts = torch.zeros(count, 1, 3, dtype=torch.float64)
    ndata = {"x": torch.cat([starts, x], 1).flatten(0, 1), "op": graph.ndata["op"]}
    if mask is not None:
        ndata["mask"] = mask.repeat_interleave(length + 1, 0)
    h = run_cell(cell, graph, ndata, outputs=["h"])["h"].view(count, length + 1, 4)[:, 1:]
    assert_close(on_the_fly, h)
    assert state.size.tolist() == graph.ndata["open"].view(count, -1)[:, -1].tolist()

    everything = [x, *cell.parameters()]
    ours, theirs = (
        torch.autograd.grad((each * weight).sum(), everything, allow_unused=True)
        for each in (on_the_fly, h)
    )
    for one, other in zip(ours, theirs):
        zero = torch.zeros(1, dtype=torch.float64)
        assert_close(
            (zero if one is None else one).abs().sum(),
            (zero if other is None else other).abs().sum(),
        )
        if one is not None and other is not None:
            assert_close(one, other)


def test_selected_sequences_continue_as_among_all() -> None:
    cell = cell_of({})
    x = torch.randn(3, 3, dtype=torch.float64)
    state = advance(cell, x, torch.tensor([1, 2, 1]), initial_state(cell, 3, LIMIT))
    some = torch.tensor([2, 0])
    after = advance(cell, x[some], torch.tensor([3, 2]), state.select(some))
    whole = advance(cell, x, torch.tensor([2, 2, 3]), state)
    for one, other in zip(after, whole.select(some)):
        assert_close(one, other)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_in_place_is_the_same_on_the_stack_itself(options: dict[str, Any]) -> None:
    cell, x = cell_of(options), torch.randn(3, 3, dtype=torch.float64)
    with torch.no_grad():
        own = state = advance(cell, x, torch.tensor([1, 2, 1]), initial_state(cell, 3, LIMIT))
        for done in ([1, 1], [3, 2]):
            x, operations = x[:2], torch.tensor(done)
            state, before = (RRNetState(*(t[:2] for t in each)) for each in (state, own))
            state = advance(cell, x, operations, state)
            own = advance(cell, x, operations, before, in_place=True)
            assert own.stack.data_ptr() == before.stack.data_ptr()
            kept = torch.arange(LIMIT) < own.size[:, None]
            assert_close(own.stack[kept], state.stack[kept])
            assert_close(own[:2], state[:2])


@pytest.mark.parametrize(
    ("operation", "opened", "message"),
    [
        (3, 0, "tree 1: expected a split for every merge, got operation 3 with 0 open"),
        (1, LIMIT, "tree 1: expected at most 3 open subtrees, the limit of the stack, got "),
        (0, 0, "tree 1: expected SPLIT, RECUR or MERGE, got operation 0 with 0 open"),
    ],
)
def test_impossible_operations_are_refused(operation: int, opened: int, message: str) -> None:
    cell = cell_of({})
    state = initial_state(cell, 2, LIMIT)
    state = state._replace(size=torch.tensor([0, opened]))
    with pytest.raises(TreeError, match=message):
        advance(cell, torch.zeros(2, 3).double(), torch.tensor([2, operation]), state)

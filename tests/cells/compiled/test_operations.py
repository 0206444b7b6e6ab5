"""The plan of sequences of operations: rows, and whom each hears."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from dgltrees import TreeBatch, TreeError
from dgltrees.cells.compiled.plans.operations import OperationPlan, operation_plan, plan_operations
from dgltrees.trees.operations import Flow, operation_graph
from tests.trees.operations.sequences import (
    MERGE,
    OPEN,
    RECUR,
    SPLIT,
    START,
    Sequences,
    by_a_stack,
    flat,
    sequences,
    spelled,
)


def planned(drawn: Sequences) -> OperationPlan:
    plan = plan_operations(operation_graph(*flat(drawn)), np.array(flat(drawn)[0], np.int64))
    assert plan is not None
    return plan


@settings(max_examples=40)
@given(sequences())
def test_the_plan_holds_every_step_and_whom_it_hears(drawn: Sequences) -> None:
    plan, op = planned(drawn), np.array(flat(drawn)[0])
    begins = np.cumsum([0, *map(len, drawn)])
    step, last, taken = {}, {}, {}  # of each node: its step, whom it follows, and its split
    for begin, operations in zip(begins.tolist(), drawn):
        before, count = begin, 0
        for place, operation in enumerate(operations, begin):
            if operation not in (START, OPEN):
                count += 1
                step[place], last[place], before = count, before, place
        taken.update((begin + merge, begin + split) for split, merge in by_a_stack(operations)[0])

    order = plan.order.tolist()
    assert sorted(order) == list(range(len(op)))
    assert plan.order[plan.back].tolist() == list(range(len(op)))
    assert plan.starts == int(np.isin(op, (START, OPEN)).sum())
    assert op[order[: plan.starts]].tolist() == sorted(op[np.isin(op, (START, OPEN))])
    assert plan.opens == int((op == OPEN).sum())

    end, pushed, merged = plan.starts, 0, 0
    level_of = {}
    for number, level in enumerate(plan.levels):
        assert (level.start, level.pushed, level.merged) == (end, pushed, merged)
        assert level.start <= level.recurs <= level.merges <= level.stop
        for kind, start, stop in (
            (SPLIT, level.start, level.recurs),
            (RECUR, level.recurs, level.merges),
            (MERGE, level.merges, level.stop),
        ):
            assert (op[order[start:stop]] == kind).all()
        level_of.update(dict.fromkeys(order[level.start : level.stop], number))
        end, pushed = level.stop, pushed + level.recurs - level.start
        merged += level.stop - level.merges
    assert end == len(op)
    assert level_of.keys() == step.keys()
    for node, before in last.items():
        assert order[plan.last[plan.back[node]]] == before
        assert before not in step or level_of[before] < level_of[node]

    pushes, merges = plan.pushes.tolist(), plan.of[2].tolist()
    assert op[[order[row] for row in pushes]].tolist() == [OPEN] * plan.opens + [SPLIT] * pushed
    found = {order[m]: order[pushes[top]] for m, top in zip(merges, plan.top.tolist())}
    assert found == taken
    for kind, rows in zip((SPLIT, RECUR, MERGE), plan.of):
        assert [row for row in range(len(op)) if op[order[row]] == kind] == rows.tolist()


def test_without_merges_too_a_level_is_a_step() -> None:
    """Chains are levelled from their ends; whatever the level, START stands first."""
    plan = planned(spelled("RRR", "R", ""))
    assert plan.starts == 3
    assert [level.stop - level.start for level in plan.levels] == [1, 1, 2]
    assert plan.order[:3].tolist() == [0, 4, 6]


def test_no_nodes() -> None:
    plan = planned([])
    assert (plan.starts, plan.opens, plan.levels) == (0, 0, [])


def test_it_is_kept_with_the_batch() -> None:
    op = np.array(flat(spelled("SRM"))[0], np.int64)
    batch = operation_graph(op, [4])
    plan = operation_plan(batch, op)
    assert operation_plan(batch, op.copy()) is plan
    assert operation_plan(batch.with_data({}), op) is plan
    away = operation_plan(batch, op, device="meta")
    assert away is not None
    assert operation_plan(batch, op, device="meta") is away
    assert operation_plan(batch, op) is plan
    other = np.array([START, SPLIT, SPLIT, MERGE])  # the edges fit it as well
    changed = operation_plan(batch, other)
    assert changed is not plan
    assert changed.pushes.tolist() == [1, 2]
    other[2] = RECUR  # what was asked for is remembered as it was
    assert operation_plan(batch, np.array([START, SPLIT, SPLIT, MERGE])) is changed


def test_no_plan_is_kept_too() -> None:
    batch = operation_graph([START, RECUR], [2])
    op = np.array([START, MERGE])
    for device in ("cpu", "meta"):
        assert operation_plan(batch, op, device=device) is None
    assert operation_plan(batch, np.array([START, RECUR])) is not None


def test_its_tensors_can_be_elsewhere() -> None:
    plan = planned(spelled("OSRMM", "R"))
    moved = plan.to("meta")
    for name in ("order", "back", "last", "top", "pushes"):
        assert getattr(moved, name).device.type == "meta"
        assert getattr(moved, name).shape == getattr(plan, name).shape
    assert [rows.device.type for rows in moved.of] == ["meta"] * 3
    assert (moved.levels, moved.starts, moved.opens) == (plan.levels, plan.starts, plan.opens)


NEXT, RETURN = int(Flow.NEXT), int(Flow.RETURN)


@pytest.mark.parametrize(
    ("op", "edges"),
    [
        ([START, RECUR, RECUR], [(0, 1, NEXT), (0, 2, NEXT)]),  # two follow one
        ([START, START, RECUR], [(0, 2, NEXT), (1, 2, NEXT)]),  # one follows two
        ([START, SPLIT, MERGE], [(0, 1, NEXT), (1, 2, NEXT)]),  # nothing returns
        ([START, SPLIT, MERGE], [(0, 1, NEXT), (1, 2, RETURN)]),  # nothing is before
        ([START, RECUR, MERGE], [(0, 1, NEXT), (1, 2, NEXT), (1, 2, RETURN)]),  # no push
        ([START, OPEN, MERGE], [(0, 1, NEXT), (1, 2, NEXT), (1, 2, RETURN)]),  # into OPEN
        ([START, SPLIT, RECUR], [(0, 1, NEXT), (1, 2, NEXT), (1, 2, RETURN)]),  # into RECUR
        ([START, RECUR], [(0, 1, 2)]),  # another kind of edge
        ([START, RECUR], []),  # a step alone
        (
            [START, SPLIT, MERGE, MERGE],  # one push for two
            [(0, 1, NEXT), (1, 2, NEXT), (2, 3, NEXT), (1, 2, RETURN), (1, 3, RETURN)],
        ),
    ],
)
def test_edges_of_other_graphs_have_no_plan(
    op: list[int], edges: list[tuple[int, int, int]]
) -> None:
    src, dst, pos = torch.tensor(edges, dtype=torch.int64).reshape(-1, 3).unbind(1)
    batch = TreeBatch(src, dst, torch.tensor([len(op)]), edata={"pos": pos})
    assert plan_operations(batch, np.array(op)) is None


def test_graphs_without_flows_have_no_plan() -> None:
    batch = TreeBatch(torch.tensor([0]), torch.tensor([1]), torch.tensor([2]))
    assert plan_operations(batch, np.array([START, RECUR])) is None


def test_a_cycle_is_refused() -> None:
    pos = torch.zeros(2, dtype=torch.int64)
    ends = torch.tensor([0, 1]), torch.tensor([1, 0])
    batch = TreeBatch(*ends, torch.tensor([2]), edata={"pos": pos})
    with pytest.raises(TreeError, match="expected a graph without cycles"):
        plan_operations(batch, np.array([RECUR, RECUR]))

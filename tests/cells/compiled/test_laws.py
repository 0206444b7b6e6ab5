"""The laws of compiled ways, for every row of the table of cells that has one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from dgltrees import Forest, TreeBatch, compile_report, run_cell
from dgltrees.cells import BaseCell
from dgltrees.cells.compiled import run
from dgltrees.cells.compiled.kernels import available, compiled
from dgltrees.traversal import compiled_states
from tests.cells.compiled.interpreter import compiling
from tests.cells.table import INPUT, TABLE, Row
from tests.cells.test_laws import graph, sample, world
from tests.worlds import forests

Fields = dict[str, Tensor]
Inputs = tuple[TreeBatch, Fields]

OF_EACH = ("child_sum", "nary", "lstm-hosvd-3", "gru-sum", "top_down-1-0-False", "rrnet")
"""The rows whose functions, compiled, are under all laws; the others are under the first."""


@contextmanager
def going(way: str) -> Iterator[None]:
    """Within this context cells go by calls of torch, or are compiled."""
    with compiled(False) if way == "torch" else compiling():
        yield


def by_hand(row: Row) -> bool:
    """Whether a row has a way of torch calls too: sums do."""
    if row.cell not in ("child_sum", "lstm") or "layer_norm" in row.options:
        return False
    aggregator = row.options.get("aggregator")
    return "label" not in row.options and aggregator in (None, "sum", "shared_sum")


_cells: dict[str, BaseCell] = {}  # so that each is compiled once


class Case(NamedTuple):
    """A row of the table, and how its compiled way goes."""

    row: Row
    way: str

    def __str__(self) -> str:
        return f"{self.row} {self.way}"

    def make(self) -> BaseCell:
        """The cell."""
        return _cells.setdefault(str(self), self.row.make())

    def inputs(self, cell: BaseCell, forest: Forest) -> Inputs:
        """A graph for which the way holds, and the fields of its nodes."""
        batch, ndata = graph(cell, forest, *world(forest))
        return batch, {name: ndata[name] for name in cell.input_fields if name in ndata}


CASES = [
    pytest.param(
        Case(row, way),
        id=str(Case(row, way)),
        marks=pytest.mark.skipif(way == "compiled" and not available(), reason="no numba"),
    )
    for row in TABLE
    for way in (*(("torch",) if by_hand(row) else ()), "compiled")
]
every_case_of_all = pytest.mark.parametrize("case", CASES)
every_case = pytest.mark.parametrize(
    "case",
    [
        param
        for param in CASES
        if (case := param.values[0]).way != "compiled" or str(case.row) in OF_EACH
    ],
)
every_row = pytest.mark.parametrize("row", [row for row in TABLE if by_hand(row)], ids=str)


def tracked(ndata: Fields) -> Fields:
    return {
        name: field.clone().requires_grad_() if field.is_floating_point() else field
        for name, field in ndata.items()
    }


def gradients(cell: BaseCell, ndata: Fields, states: Fields) -> dict[str, Tensor]:
    """Of a sum over some states, by the inputs and the parameters, each added once."""
    inputs = {name: field for name, field in ndata.items() if field.requires_grad}
    inputs.update(cell.named_parameters())
    total = sum((h.sin() * (i + 1)).sum() for i, h in enumerate(states.values()))
    total = total + sum(field.sum() for field in inputs.values())  # also what states do not read
    return dict(zip(inputs, torch.autograd.grad(total, [*inputs.values()])))


@every_case_of_all
@settings(max_examples=8)
@given(data=st.data())
def test_equals_the_three_functions(case: Case, data: st.DataObject) -> None:
    cell = case.make()
    forest = data.draw(forests(max_children=case.row.children))
    outputs = data.draw(st.sets(st.sampled_from(cell.state_fields), min_size=1))
    batch, ndata = case.inputs(cell, forest)
    ndata = tracked(ndata)
    rows = data.draw(st.none() | st.integers(1, 5))  # of pieces that a batch is cut into
    with going(case.way), patch.object(run.Machine, "rows", lambda *_: rows):
        states = run_cell(cell, batch, ndata)
        if case.way == "compiled":
            assert not len(batch.src) or "is compiled" in compile_report(cell)
        else:
            assert compiled_states(cell, batch, ndata) is not None
        grads = gradients(cell, ndata, {name: states[name] for name in sorted(outputs)})
    expected = run_cell(cell, batch, ndata, compile=False, outputs=cell.state_fields)
    assert_close(states, expected)
    assert_close(grads, gradients(cell, ndata, {name: expected[name] for name in sorted(outputs)}))


def test_these_cells_have_a_compiled_way() -> None:
    for row in TABLE:
        cell = row.make()
        batch, ndata = Case(row, "torch").inputs(cell, sample(row.children))
        assert (compiled_states(cell, batch, ndata) is None) == (not by_hand(row)), row


@every_row
def test_it_is_taken_by_backend_levels_alone_and_if_wanted(row: Row) -> None:
    cell = row.make()
    batch, ndata = Case(row, "torch").inputs(cell, sample(row.children))

    def reduce(nodes: object) -> Fields:
        raise AssertionError("went level by level")

    cell.reduce = reduce  # type: ignore[method-assign, assignment]
    assert set(run_cell(cell, batch, ndata)) == set(cell.state_fields)
    ways: tuple[dict[str, object], ...] = ({"compile": False}, {"backend": "dgl"})
    for options in (*ways, {"activation_checkpointing": True}):
        with pytest.raises(AssertionError, match="went level by level"):
            run_cell(cell, batch, ndata, **options)  # type: ignore[arg-type]
    cell.__class__ = type("Other", (type(cell),), {})  # which may have another equation
    with pytest.raises(AssertionError, match="went level by level"):
        run_cell(cell, batch, ndata)


@every_row
def test_it_is_not_taken_where_it_would_differ(row: Row) -> None:
    cell = row.make()
    batch, ndata = Case(row, "torch").inputs(cell, sample(row.children))
    if row.cell == "lstm":
        for options in ({"layer_norm": True}, {"activation": "sigmoid"}):
            assert compiled_states(row.make(**options), batch, ndata) is None
    dropping = row.make(dropout=0.5).train()
    assert compiled_states(dropping, batch, ndata) is None
    assert compiled_states(dropping.eval(), batch, ndata) is not None
    src, dst, sizes = torch.tensor([0, 0]), torch.tensor([1, 2]), torch.tensor([3])
    two_parents = TreeBatch(src, dst, sizes, edata={"pos": torch.tensor([0, 0])})
    three = {name: field[:3].clamp(min=0) for name, field in ndata.items()}
    assert compiled_states(cell, two_parents, three) is None
    single = {n: f.float() if f.is_floating_point() else f for n, f in ndata.items()}
    with torch.autocast("cpu", torch.bfloat16):
        assert compiled_states(cell.float(), batch, single) is None


@every_case
def test_a_second_derivative_is_refused(case: Case) -> None:
    cell = case.make()
    batch, ndata = case.inputs(cell, sample(case.row.children))
    x = ndata["x"].requires_grad_()
    with going(case.way):
        h = run_cell(cell, batch, ndata)["h"]
        with pytest.raises(RuntimeError, match=r"one derivative of a \w+ cell.*compile=False"):
            torch.autograd.grad(h.sum(), x, create_graph=True)
    h = run_cell(cell, batch, ndata, compile=False)["h"]
    (grad,) = torch.autograd.grad(h.sum(), x, create_graph=True)
    grad.sum().backward()


@every_case
def test_a_graph_that_is_kept_can_be_used_again(case: Case) -> None:
    cell = case.make()
    batch, ndata = case.inputs(cell, sample(case.row.children))
    ndata = tracked(ndata)
    with going(case.way):
        total = run_cell(cell, batch, ndata)["h"].sum()
        for _ in range(3):  # other steps in between must not touch its tables
            run_cell(cell, batch, tracked(ndata))["h"].sum().backward()
        (first,) = torch.autograd.grad(total, ndata["x"], retain_graph=True)
        (again,) = torch.autograd.grad(total, ndata["x"])
    assert_close(again, first)


@every_row
def test_nothing_is_read_back_from_the_device(row: Row) -> None:
    cell = row.make()
    batch, ndata = Case(row, "torch").inputs(cell, sample(row.children))
    moved = batch.with_data(ndata).to("meta")
    h = run_cell(cell.to("meta"), moved, moved.ndata)["h"]
    assert len(h) == batch.num_nodes
    h.sum().backward()


@every_case
def test_a_batch_seen_in_inference_mode_can_be_trained_on(case: Case) -> None:
    cell = case.make()
    batch, ndata = case.inputs(cell, sample(case.row.children))
    ways: tuple[Callable[[], Fields], ...] = (
        lambda: run_cell(cell, batch, ndata),
        lambda: run_cell(cell, batch, ndata, compile=False),
    )
    with going(case.way):
        with torch.inference_mode():
            for states in ways:
                states()
        for states in ways:
            states()["h"].sum().backward()


@every_case
@pytest.mark.parametrize("sizes", [[], [0, 0]], ids=["no trees", "no nodes"])
def test_batches_without_nodes(case: Case, sizes: list[int]) -> None:
    cell, none = case.make(), torch.empty(0, dtype=torch.int64)
    _, ndata = case.inputs(cell, sample(case.row.children))
    ndata = tracked({name: field[:0] for name, field in ndata.items()})
    lengths = torch.tensor(sizes, dtype=torch.int64)
    batch = TreeBatch(none, none, lengths, edata={"pos": none})
    with going(case.way):
        states = run_cell(cell, batch, ndata)
        assert all(len(field) == 0 for field in states.values())
        if states["h"].requires_grad:
            states["h"].sum().backward()
    assert ndata["x"].grad is None or ndata["x"].grad.shape == (0, INPUT)

"""The compiler for cells: its code equals the three functions, and what it does not know is said.

The generated code runs as Python here, which needs no compiling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from dgltrees import Forest, TreeBatch, TreeError, compile_report, prop_nodes_topo, run_cell
from dgltrees._dgl import dgl
from dgltrees.cells import NTILSTM, ChildSumTreeLSTM, NaryTreeLSTM, make_cell
from dgltrees.cells.compiled import check, plan, run, way
from dgltrees.cells.compiled.kernels import available
from dgltrees.cells.compiled.loops import Phase, Product
from dgltrees.traversal import Nodes, compiled_way
from tests.cells.compiled.interpreter import compiling
from tests.cells.compiled.user_cells import CELLS, ByType, Cell, Published

pytestmark = pytest.mark.skipif(not available(), reason="no numba")

FOREST = Forest.build(
    parent=[-1, 0, 0, 1, 1, 1, 4, -1, -1, 0, 0, 1, 0, 0, 0], offsets=[0, 7, 8, 15]
)
Fields = dict[str, Tensor]


@pytest.fixture(autouse=True)
def _interpreted() -> Iterator[None]:
    """Compile cells over any batch, to Python."""
    with compiling():
        yield


def inputs(nodes: int, size: int = 3) -> Tensor:
    torch.manual_seed(0)
    return torch.randn(nodes, size, dtype=torch.float64, requires_grad=True)


def gradients(cell: nn.Module, x: Tensor, states: Fields) -> list[Tensor]:
    """Of a sum over the states, by the inputs and the parameters."""
    total = sum((h.sin() * (i + 1)).sum() for i, h in enumerate(states.values()))
    total = total + sum(p.sum() for p in (x, *cell.parameters()))  # also those that are not read
    return list(torch.autograd.grad(total, [x, *cell.parameters()]))


def agree(
    cell: nn.Module, batch: TreeBatch, x: Tensor, op: Tensor | None = None, **other: Any
) -> None:
    """The compiled way equals another in values and gradients."""
    fields = {"x": x} if op is None else {"x": x, "op": op}
    one = run_cell(cell, batch, fields)  # type: ignore[arg-type]
    assert " is compiled" in compile_report(cell)
    two = run_cell(cell, batch, fields, **other)  # type: ignore[arg-type]
    assert one.keys() == two.keys()
    assert_close(one, {name: two[name] for name in one})
    assert_close(gradients(cell, x, one), gradients(cell, x, {k: two[k] for k in one}))


@pytest.mark.parametrize("name", CELLS)
def test_equals_the_three_functions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = CELLS[name](3, 4).double()
    x = inputs(FOREST.num_nodes)
    agree(cell, FOREST.batch(), x, compile=False)
    monkeypatch.setattr(run.Machine, "shards", lambda *_: 3)
    monkeypatch.setattr(run.Machine, "rows", lambda *_: 4)
    agree(cell, FOREST.batch(), x, **({"compile": False} if dgl is None else {"backend": "dgl"}))


def test_layer_normalisation_of_a_cell_of_ours_and_graphs_with_two_parents() -> None:
    cell = ChildSumTreeLSTM(3, 4, layer_norm=True).double()
    agree(cell, FOREST.batch(), inputs(FOREST.num_nodes), compile=False)
    src, dst = torch.tensor([0, 1, 1, 2, 3, 0]), torch.tensor([2, 2, 3, 4, 4, 5])
    batch = TreeBatch(src, dst, torch.tensor([6]))
    agree(CELLS["attention"](3, 4).double(), batch, inputs(6), compile=False)
    batch = FOREST.batch().reversed()  # from the root down
    agree(CELLS["gated"](3, 4).double(), batch, inputs(FOREST.num_nodes), compile=False)


def test_products_with_zeros_are_left_out() -> None:
    """Those of leaves whose state before is zero, and of children without a memory."""
    gru = CELLS["gru"](3, 4).double()
    agree(gru, FOREST.batch(), inputs(FOREST.num_nodes), compile=False)
    (machine,) = way._versions[gru].values()
    assert isinstance(machine, run.Machine)
    assert not any(isinstance(step, Product) for step in machine.program.steps[Phase("leaf")])
    assert torch.ops.aten.addmm.default not in {f for f, *_ in machine.program.before.values()}
    nti_lstm = NTILSTM(3, 4, 5).double()
    agree(nti_lstm, FOREST.batch(), inputs(FOREST.num_nodes), compile=False)
    (machine,) = way._versions[nti_lstm].values()
    assert isinstance(machine, run.Machine)
    assert machine.up.count("if level >= above:") == 1


class _InPlace(nn.Module):
    """A sum over a tree with dropout in place."""

    def message(self, edges: Any) -> Fields:
        return {"m": edges.src["h"]}

    def reduce(self, nodes: Any) -> Fields:
        return {"s": nodes.mailbox["m"].sum(1)}

    def update(self, nodes: Any) -> Fields:
        h = nodes.data["x"] + nodes.data["s"] if "s" in nodes.data else nodes.data["x"] * 1.0
        nn.functional.dropout(h, 0.5, self.training, inplace=True)
        return {"h": h}


def test_dropout_in_place_is_drawn() -> None:
    cell, batch = _InPlace(), FOREST.batch()
    batch.ndata["x"] = inputs(FOREST.num_nodes, 64).detach()
    prop_nodes_topo(batch, cell.message, cell.reduce, apply_node_func=cell.update)
    assert compile_report(cell) == "_InPlace is compiled"
    assert 0.4 < (batch.ndata["h"] == 0).double().mean() < 0.6


def test_functions_of_dgl_need_no_change() -> None:
    cell, x = Published(3, 4).double(), inputs(FOREST.num_nodes)
    results = []
    for compiled in (True, False):
        batch = FOREST.batch()
        batch.ndata.update(cell.prepare({"x": x}))
        functions = cell.message_func, cell.reduce_func
        prop_nodes_topo(batch, *functions, apply_node_func=cell.apply_node_func, compile=compiled)
        results.append({name: batch.ndata[name] for name in ("h", "c")})
    assert compile_report(cell) == "Published is compiled"
    assert_close(*results)


def test_trees_of_one_node_alone() -> None:
    cell = CELLS["gated"](3, 4).double()
    run_cell(cell, FOREST, {"x": inputs(FOREST.num_nodes)})
    agree(cell, Forest.build([-1, -1], offsets=[0, 1, 2]).batch(), inputs(2), compile=False)


def test_a_small_batch_in_training_does_not_depend_on_what_ran_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It goes the generic way, so that dropout is drawn alike in a run that is resumed."""
    cell, x = NaryTreeLSTM(3, 4, 5, dropout=0.5).double(), inputs(FOREST.num_nodes)
    run_cell(cell, FOREST, {"x": x})
    assert compile_report(cell) == "NaryTreeLSTM is compiled"
    monkeypatch.setattr(way, "SMALLEST", FOREST.num_nodes + 1)
    states = []
    for compiled in (True, False):
        torch.manual_seed(1)
        states.append(run_cell(cell, FOREST.batch(), {"x": x}, compile=compiled)["h"])
    assert torch.equal(*states)


def test_parameters_and_settings_may_change() -> None:
    cell, x = CELLS["gru"](3, 4).double(), inputs(FOREST.num_nodes)
    agree(cell, FOREST.batch(), x, compile=False)
    cell.load_state_dict(CELLS["gru"](3, 4).double().state_dict())
    cell.gru.weight_hh = nn.Parameter(torch.randn(12, 4, dtype=torch.float64))
    agree(cell, FOREST.batch(), x, compile=False)
    assert len(way._versions[cell]) == 1
    norm = CELLS["gated"](3, 4).double()
    agree(norm, FOREST.batch(), x, compile=False)
    norm.norm.eps = 0.5
    agree(norm, FOREST.batch(), x, compile=False)
    for parameter in norm.parameters():
        parameter.requires_grad_(parameter is norm.U.weight)
    states = run_cell(norm, FOREST, {"x": x.detach()})
    (one,) = torch.autograd.grad(states["h"].sum(), norm.U.weight)
    states = run_cell(norm, FOREST, {"x": x.detach()}, compile=False)
    assert_close(one, torch.autograd.grad(states["h"].sum(), norm.U.weight)[0])


def test_inference_and_training_share_a_cell() -> None:
    cell, x = CELLS["attention"](3, 4).double(), inputs(FOREST.num_nodes)
    with torch.inference_mode():
        states = run_cell(cell, FOREST, {"x": x})
    assert_close(run_cell(cell, FOREST, {"x": x}), {k: v.clone() for k, v in states.items()})
    agree(cell, FOREST.batch(), x, compile=False)


def test_gradients_of_other_fields_are_compared_when_they_are_needed() -> None:
    cell, x = CELLS["attention"](3, 4).double(), inputs(FOREST.num_nodes)
    compared = []
    for field in (x.detach(), x, x.detach(), x):
        run_cell(cell, FOREST, {"x": field})["h"].sum().backward()
        (machine,) = way._versions[cell].values()
        assert isinstance(machine, run.Machine)
        wanted = [seen[1] for seen in machine.checked if isinstance(seen, tuple)]
        compared.append(sorted(map(sorted, wanted)))
    assert compared == [[["wx"]], *[[["wx"], ["wx", "x"]]] * 3]  # wx of its prepare
    agree(cell, FOREST.batch(), x, compile=False)


def test_a_large_batch_is_compared_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the lowest levels that have all kinds of its nodes."""
    compared: list[int] = []
    compare = check.Work.check

    def counted(part: check.Work, machine: run.Machine) -> None:
        compared.append(part.batch.num_nodes)
        compare(part, machine)

    monkeypatch.setattr(check.Work, "check", counted)
    monkeypatch.setattr(check, "LARGE", 100)
    below = Forest.build(range(-1, 199))
    parent = [*range(-1, 100), 0, *range(101, 199)]  # one node of two children, the root
    for forest, nodes in ((below, [16]), (Forest.build(parent), [16, 200])):
        cell, x = CELLS["attention"](3, 4).double(), inputs(200)
        compared.clear()
        agree(cell, below.batch(), x, compile=False)
        agree(cell, forest.batch(), x, compile=False)
        assert compared == nodes
    cell = ByType(3, 4).double()
    fields = {"x": inputs(200), "op": torch.arange(200) // 100}
    compared.clear()
    run_cell(cell, below, fields)
    assert compared == [200]  # the second type is below the first


class Other(Cell):
    """A cell whose sum over children does something that cannot be compiled."""

    def __init__(self, below: Callable[[Other, Nodes, Tensor], Tensor]) -> None:
        super().__init__(3, 4)
        self.function = below
        self.calls = 0
        self.register_buffer("at", torch.tensor([1, 0, 3, 2]))

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        return self.function(self, nodes, h)


CONSTANT = torch.ones(4, dtype=torch.float64)


def _no_grad(cell: Other, nodes: Nodes, h: Tensor) -> Tensor:
    with torch.no_grad():
        weights = h.sigmoid()
    return (weights * h).sum(1)


def _loops(cell: Other, nodes: Nodes, h: Tensor) -> Tensor:
    return torch.stack([each.sum(0) for each in h])


def _counts(cell: Other, nodes: Nodes, h: Tensor) -> Tensor:
    cell.calls += 1
    return h.sum(1)


REASONS: dict[str, tuple[Callable[[Other, Nodes, Tensor], Tensor], str]] = {
    "data": (lambda c, n, h: h.sum(1) if h.sum() > 0 else h.mean(1), "it cannot be traced"),
    "degree": (lambda c, n, h: h.sum(1) if h.shape[1] < 3 else h.mean(1), "it does other operatio"),
    "capped": (lambda c, n, h: h.sum(1) * min(h.shape[1], 8), "depends on the number of children"),
    "power": (lambda c, n, h: h.sum(1) / h.shape[1] ** 0.5, "it computes with the number of nodes"),
    "random": (lambda c, n, h: (h * torch.rand_like(h)).sum(1), "it draws random numbers"),
    "place": (lambda c, n, h: h[:, 0], "it selects children, or nodes, by their index"),
    "constant": (lambda c, n, h: h.sum(1) * CONSTANT, "it reads a tensor that is not a par"),
    "level": (lambda c, n, h: h.sum(1) - h.sum((0, 1)), "it computes across the nodes of a level"),
    "rule": (lambda c, n, h: h.sort(1).values.sum(1), "the compiler does not support sort.default"),
    "numbers": (lambda c, n, h: h.sum(1) + n.nodes()[:, None], "it computes with torch.int64"),
    "adds": (lambda c, n, h: h.sum(1).index_add(1, c.at, h.mean(1)), "a tensor that is not zero"),
    "siblings": (lambda c, n, h: (h @ h.mT @ h).sum(1), "it combines each child, or node, with"),
    "loops": (_loops, "it calls torch more than 5,000 times"),
    "no_grad": (_no_grad, "it uses no_grad"),
    "counts": (_counts, "its attributes change between traversals"),
}


@pytest.mark.parametrize("name", REASONS)
def test_what_cannot_be_compiled_goes_the_generic_way(name: str) -> None:
    below, reason = REASONS[name]
    cell, x = Other(below).double(), inputs(FOREST.num_nodes)
    for _ in range(10 if name == "counts" else 1):
        torch.manual_seed(0)
        states = run_cell(cell, FOREST, {"x": x})
    torch.manual_seed(0)
    expected = run_cell(cell, FOREST, {"x": x}, compile=False)
    assert_close(gradients(cell, x, states), gradients(cell, x, expected))
    assert reason in compile_report(cell)
    if name in ("rule", "data"):
        assert "test_compiler.py" in compile_report(cell)


def test_every_number_of_children_is_compared() -> None:
    cell = Other(lambda c, n, h: h.mean(1) if h.shape[1] == 6 else h.sum(1)).double()
    for wide, report in ((7, "Other is compiled"), (6, "states of its compiled code and of its")):
        stars = Forest.build([-1, *[0] * wide, -1, *[0] * 5], offsets=[0, wide + 1, wide + 7])
        x = {"x": inputs(stars.num_nodes)}
        assert_close(run_cell(cell, stars, x), run_cell(cell, stars, x, compile=False))
        assert report in compile_report(cell)


AT_ZERO: dict[str, Callable[[Tensor], Tensor]] = {
    "std": lambda h: h.std(1, correction=0, keepdim=True),
    "norm": lambda h: h * h.norm(dim=-1, keepdim=True),
    "normalize": lambda h: nn.functional.normalize(h, dim=-1),
    "power": lambda h: h.abs().pow(1.5),
    "elu": nn.functional.elu,
    "selu": nn.functional.selu,
    "relu6": nn.functional.relu6,
}


@np.errstate(divide="ignore", invalid="ignore")  # of the branch that is not taken
@pytest.mark.parametrize("name", AT_ZERO)
def test_gradients_at_zero_are_those_of_torch(name: str) -> None:
    cell = Other(lambda c, n, h: AT_ZERO[name](h).sum(1)).double()
    nn.init.zeros_(cell.W.bias)
    x = inputs(FOREST.num_nodes)
    run_cell(cell, FOREST, {"x": x})  # which is compared with torch
    assert compile_report(cell) == "Other is compiled"
    x = torch.zeros_like(x).requires_grad_()  # then the states of all leaves are 0
    states, expected = (run_cell(cell, FOREST, {"x": x}, compile=on) for on in (True, False))
    assert_close(states, expected)
    assert_close(gradients(cell, x, states), gradients(cell, x, expected))


def test_hooks_and_autocast_go_the_generic_way() -> None:
    cell, x = CELLS["largest"](3, 4), inputs(FOREST.num_nodes).float()
    assert compile_report(cell).startswith("Largest is not compiled: it has not run over a batch")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        run_cell(cell, FOREST, {"x": x})
    assert cell not in way._versions
    seen: list[Any] = []
    handle = cell.U.register_forward_hook(lambda *call: seen.append(call))
    run_cell(cell, FOREST, {"x": x})
    assert seen
    assert compile_report(cell) == "Largest is not compiled: one of its modules has hooks"
    handle.remove()
    run_cell(cell, FOREST, {"x": x})
    assert compile_report(cell) == "Largest is compiled"
    counts = []
    for compiled in (True, False):
        seen.clear()
        with cell.W.register_forward_hook(lambda *call: seen.append(call)):
            run_cell(cell, FOREST, {"x": x}, compile=compiled)
        counts.append(len(seen))
    assert counts[0] == counts[1] > 0
    own = ChildSumTreeLSTM(3, 4)
    seen.clear()
    own.norm.register_forward_hook(lambda *call: seen.append(call))
    run_cell(own, FOREST, {"x": x})
    assert seen
    assert compile_report(own).endswith("one of its modules has hooks")

    class Own(ChildSumTreeLSTM):
        pass

    compiled_way(Own)(lambda cell, batch, ndata: None)
    assert compile_report(Own(2, 2)) == "Own has a manual implementation in compiled code"


def test_within_a_checkpoint_of_torch() -> None:
    cell, x = CELLS["largest"](3, 4), inputs(FOREST.num_nodes).float().requires_grad_()

    def loss(x: Tensor) -> Tensor:
        return run_cell(cell, FOREST, {"x": x})["h"].sin().sum()

    found = torch.autograd.grad(checkpoint(loss, x, use_reentrant=False), x)  # checks the code too
    assert compile_report(cell) == "Largest is compiled"
    assert_close(found, torch.autograd.grad(loss(x), x))


@pytest.mark.filterwarnings("ignore")  # of torch.compile, about its own tracing
def test_within_torch_compile() -> None:
    cell, x = CELLS["largest"](3, 4), inputs(FOREST.num_nodes).float().detach().requires_grad_()
    batch = FOREST.batch()

    def loss(x: Tensor) -> Tensor:
        return run_cell(cell, batch, {"x": x})["h"].sin().sum()

    found = torch.autograd.grad(torch.compile(loss, backend="eager")(x), x)
    assert_close(found, torch.autograd.grad(loss(x), x))


@pytest.mark.parametrize("kind", ["largest", "child_sum"])
def test_under_transforms_of_torch(kind: str) -> None:
    make = CELLS.get(kind, ChildSumTreeLSTM)
    cells = [make(3, 4).double() for _ in range(2)]
    x, batch = inputs(FOREST.num_nodes), FOREST.batch()

    def loss(x: Tensor, cell: Any) -> Tensor:
        return run_cell(cell, batch, {"x": x})["h"].sin().sum()

    class Run(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cells[0]

        def forward(self) -> Tensor:
            return loss(x, self.cell)

    for _ in range(2):  # the second time with the plan of the first
        found = torch.func.grad(loss)(x, cells[0])
        assert_close(found, torch.autograd.grad(loss(x, cells[0]), x)[0])
    params, _ = torch.func.stack_module_state(cells)
    of_both = {f"cell.{name}": value for name, value in params.items()}
    both = torch.func.vmap(lambda own: torch.func.functional_call(Run(), own, ()))(of_both)
    assert_close(both, torch.stack([loss(x, cell) for cell in cells]))


Step = Callable[[Tensor, Tensor, nn.Linear], Tensor]
POINTWISE: dict[str, Step] = {
    "tanh": lambda h, x, U: h.tanh(),
    "gate": lambda h, x, U: h * torch.sigmoid(x),
    "product": lambda h, x, U: U(h),
    "relu": lambda h, x, U: torch.relu(h) - 0.3 * h,
    "chunks": lambda h, x, U: torch.cat(h.chunk(2, -1)[::-1], -1),
    "norm": lambda h, x, U: nn.functional.layer_norm(h, h.shape[-1:]),
    "softmax": lambda h, x, U: h * torch.softmax(h, -1),
    "heads": lambda h, x, U: h.unflatten(-1, (2, 2)).transpose(-1, -2).flatten(-2),
    "exp": lambda h, x, U: torch.exp(-h.abs()) / (1 + x * x),
}
OVER_CHILDREN: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda h: h.sum(1),
    "mean": lambda h: h.mean(1),
    "amax": lambda h: h.amax(1),
    "min": lambda h: h.min(1).values,
    "softmax": lambda h: (torch.softmax(h, 1) * h).sum(1),
    "var": lambda h: h.var(1, unbiased=False),
}


class Drawn(Cell):
    """A cell of drawn operations before, over and behind the children."""

    def __init__(self, before: list[str], over: str, behind: list[str]) -> None:
        super().__init__(3, 4)
        self.before, self.over, self.behind = before, over, behind

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        x = nodes.data["wx"]
        for name in self.before:
            h = POINTWISE[name](h, x.unsqueeze(1), self.U)
        h = OVER_CHILDREN[self.over](h)
        for name in self.behind:
            h = POINTWISE[name](h, x, self.U)
        return h


@settings(max_examples=10)
@given(
    st.lists(st.sampled_from(sorted(POINTWISE)), max_size=3),
    st.sampled_from(sorted(OVER_CHILDREN)),
    st.lists(st.sampled_from(sorted(POINTWISE)), max_size=2),
)
@example(["exp", "heads", "chunks"], "amax", ["heads", "chunks"])
def test_any_cell(before: list[str], over: str, behind: list[str]) -> None:
    cell = Drawn(before, over, behind).double()
    agree(cell, FOREST.batch(), inputs(FOREST.num_nodes), compile=False)


def test_types_and_places_out_of_range_are_refused_by_the_functions() -> None:
    options = {"input_size": 3, "hidden_size": 4, "max_children": 5, "operators": 2}
    cell = make_cell("lstm", aggregator="full", **options).double()
    x, op = inputs(FOREST.num_nodes), torch.arange(FOREST.num_nodes) % 2
    run_cell(cell, FOREST, {"x": x, "op": op})
    assert compile_report(cell) == "TreeLSTM is compiled"
    with pytest.raises(TreeError, match=r"an operator from 0 to 1 .* got 2"):
        run_cell(cell, FOREST, {"x": x, "op": op + 1})
    wide = Forest.build([-1, 0, 0, 0, 0, 0, 0])
    with pytest.raises(TreeError, match=r"child positions from 0 to 4"):
        run_cell(cell, wide, {"x": x[:7], "op": op[:7]})


def test_types_can_have_operations_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a batch has, and those of later batches too."""
    cell, x, count = ByType(3, 4).double(), inputs(FOREST.num_nodes), FOREST.num_nodes
    for types in (1, 2, 3):
        agree(cell, FOREST.batch(), x, torch.arange(count) % types, compile=False)
    ((machine,),) = (way._versions[cell].values(),)
    assert isinstance(machine, run.Machine)
    agree(cell, FOREST.batch(), x, torch.arange(count) % 2, compile=False)
    assert list(way._versions[cell].values()) == [machine]  # which knows these types
    monkeypatch.setattr(run.Machine, "shards", lambda *_: 3)
    agree(cell, FOREST.batch(), x, torch.arange(count) % 3, compile=False)
    many = ByType(3, 4).double()
    op = torch.arange(count)
    states = run_cell(many, FOREST, {"x": x, "op": op})
    assert "depends on the number of nodes or children, or the type" in compile_report(many)
    assert_close(states, run_cell(many, FOREST, {"x": x, "op": op}, compile=False))


def test_a_cell_that_takes_children_by_their_place_is_compiled_where_all_have_as_many() -> None:
    cell = Other(lambda c, n, h: h[:, 0] - c.drop(h[:, -1])).double()
    cell.drop = nn.Dropout(0.5)
    pair = Forest.build(parent=[-1, 0, 0, 1, 1], offsets=[0, 5])
    agree(cell.eval(), pair.batch(), inputs(5), compile=False)
    x = inputs(5)
    one, two = (run_cell(cell.train(), pair, {"x": x})["h"] for _ in range(2))
    assert not one.equal(two)
    run_cell(cell, FOREST, {"x": inputs(FOREST.num_nodes)})
    reason = "is compiled only if all inner nodes have 2 children: it selects children"
    assert reason in compile_report(cell)


def test_plan_of_shards() -> None:
    (levels,) = plan.level_plan(FOREST.batch(), 2)
    assert levels.bounds[:, [0, 1, 3]].tolist() == [[0, 0, 7], [7, 7, 15]]
    assert sorted(levels.order.tolist()) == list(range(15))
    types = np.arange(15) % 3
    (typed,) = plan.level_plan(FOREST.batch(), 2, types=types)
    for first, last, kind in (*typed.levels, *typed.runs):
        assert (types[typed.order[first:last]] == kind).all()
    assert sorted(r for a, b, _ in typed.levels for r in range(a, b)) == list(range(15))
    pieces = plan.level_plan(FOREST.batch(), 2, 4)
    own = [p.order[row] for p in pieces for a, b in p.bounds[:, [1, 3]] for row in range(a, b)]
    assert sorted(own) == list(range(15))
    assert len(pieces) == 4
    for each in (levels, *pieces):
        row = each.edges.searchsorted(range(len(each.child)), side="right") - 1
        assert (each.child < row).all()

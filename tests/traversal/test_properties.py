"""What holds of a traversal beyond its values: cost, dtypes, modes of torch, schedules."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from dgltrees import Forest, TreeBatch, run_cell
from dgltrees.traversal import Edges, Nodes, make_schedule, schedule_of
from tests.traversal.cells import Mixing
from tests.worlds import chain, random_forest, star

D = 3


class CountElements(TorchDispatchMode):
    """Adds up the elements of every tensor that an operation makes."""

    total = 0

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        parts = out if isinstance(out, (tuple, list)) else (out,)
        views = func.is_view if hasattr(func, "is_view") else False
        if not views:
            self.total += sum(part.numel() for part in parts if isinstance(part, Tensor))
        return out


def work(batch: TreeBatch) -> int:
    """Elements computed by a step, forwards and backwards."""
    torch.manual_seed(0)
    cell = Mixing(D)
    ndata = {name: torch.randn(batch.num_nodes, D, requires_grad=True) for name in ("x", "h")}
    schedule_of(batch)
    with CountElements() as counted:
        out = run_cell(cell, batch, ndata, {"e": torch.randn(len(batch.src), D)})
        out["h"].sum().backward()
    return counted.total


def ladder(nodes: int) -> TreeBatch:
    """A chain in which every node also reads the node before last: no tree either way."""
    src = np.r_[np.arange(nodes - 1), np.arange(nodes - 2)]
    dst = np.r_[np.arange(1, nodes), np.arange(2, nodes)]
    return TreeBatch(torch.as_tensor(src), torch.as_tensor(dst), torch.tensor([nodes]))


def long_jumps(nodes: int) -> TreeBatch:
    """A chain in which node i also reads node i // 2, many levels before."""
    src = np.r_[np.arange(nodes - 1), np.arange(2, nodes) // 2]
    dst = np.r_[np.arange(1, nodes), np.arange(2, nodes)]
    return TreeBatch(torch.as_tensor(src), torch.as_tensor(dst), torch.tensor([nodes]))


def test_work_is_linear_where_only_leaves_make_a_field() -> None:
    class LeafMark(Mixing):
        def message(self, edges: Edges) -> dict[str, Tensor]:
            return {**super().message(edges), "mark": edges.src["mark"]}

        def update(self, nodes: Nodes) -> dict[str, Tensor]:
            made = super().update(nodes)
            if "a" not in nodes.data:
                made["mark"] = torch.ones(nodes.batch_size(), 1)
            return made

    def work_of(nodes: int, known: bool) -> int:
        batch = chain(nodes).batch()
        ndata = {name: torch.randn(nodes, D, requires_grad=True) for name in ("x", "h")}
        if known:
            ndata["mark"] = torch.zeros(nodes, 1, requires_grad=True)
        schedule_of(batch)
        with CountElements() as counted:
            made = run_cell(LeafMark(D), batch, ndata, {"e": torch.randn(nodes - 1, D)})
            (made["h"].sum() + made["mark"].sum()).backward()
        return counted.total

    for known in (False, True):
        assert work_of(320, known) < 8.6 * work_of(40, known)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: chain(n).batch(),
        lambda n: chain(n).batch().reversed(),
        lambda n: star(n).batch(),
        ladder,
        long_jumps,
    ],
    ids=["up", "down", "star", "ladder", "jumps"],
)
def test_work_is_linear_in_the_nodes_whatever_the_depth(make: Callable[[int], TreeBatch]) -> None:
    small, large = work(make(40)), work(make(320))
    assert large < 8.6 * small


def test_a_chain_of_100_000_levels() -> None:
    batch = chain(100_000).batch()
    x = torch.zeros(100_000, 1)
    x[-1] = 1
    x.requires_grad_()

    class Pass:
        def message(self, edges: Edges) -> dict[str, Tensor]:
            return {"m": edges.src["y"]}

        def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
            return {"y": nodes.mailbox["m"].sum(1)}

        def update(self, nodes: Nodes) -> dict[str, Tensor]:
            return {"y": nodes.data["y"] if "y" in nodes.data else nodes.data["x"]}

    y = run_cell(Pass(), batch, {"x": x})["y"]
    assert y[0].item() == 1
    (grad,) = torch.autograd.grad(y[0], x)
    assert grad[-1].item() == 1


def mixing(
    batch: TreeBatch, dtype: torch.dtype = torch.float32
) -> tuple[Mixing, dict[str, Tensor], dict[str, Tensor]]:
    torch.manual_seed(0)
    cell = Mixing(D).to(dtype)
    ndata = {name: torch.randn(batch.num_nodes, D, dtype=dtype) for name in ("x", "h")}
    return cell, ndata, {"e": torch.randn(len(batch.src), D, dtype=dtype)}


@pytest.fixture
def batch() -> TreeBatch:
    return random_forest(np.random.default_rng(0), 4, 9, 3).batch()


def test_no_grad_leaves_no_graph_and_the_same_values(batch: TreeBatch) -> None:
    cell, ndata, edata = mixing(batch)
    with_grad = run_cell(cell, batch, ndata, edata)["h"]
    with torch.no_grad():
        without = run_cell(cell, batch, ndata, edata)["h"]
    assert with_grad.requires_grad
    assert not without.requires_grad
    torch.testing.assert_close(with_grad.detach(), without)


@pytest.mark.parametrize("backend", ["levels", "dgl"])
def test_results_keep_the_dtype_of_their_column_under_autocast(
    batch: TreeBatch, backend: str
) -> None:
    cell, ndata, edata = mixing(batch)

    class Linear(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.u = nn.Linear(D, D)

        def message(self, edges: Edges) -> dict[str, Tensor]:
            return {"m": edges.src["h"]}

        def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
            return {"h": self.u(nodes.mailbox["m"]).sum(1), "new": self.u(nodes.data["x"])}

        def update(self, nodes: Nodes) -> dict[str, Tensor]:
            return {"h": self.u(nodes.data["h"]), "new": self.u(nodes.data["h"])}

    with torch.autocast("cpu", torch.bfloat16):
        found = run_cell(Linear(), batch, ndata, backend=backend)
    assert found["h"].dtype == torch.float32
    assert found["new"].dtype == torch.bfloat16


def test_gradients_of_gradients(batch: TreeBatch) -> None:
    cell, ndata, edata = mixing(batch, torch.float64)

    def function(x: Tensor, w: Tensor) -> Tensor:
        del cell.w
        cell.w = w
        return run_cell(cell, batch, {**ndata, "x": x}, edata)["h"]

    inputs = ndata["x"].requires_grad_(), cell.w.detach().requires_grad_()
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


def test_deterministic_mode(batch: TreeBatch) -> None:
    cell, ndata, edata = mixing(batch)
    torch.use_deterministic_algorithms(True)
    try:
        grads = []
        for _ in range(2):
            run_cell(cell, batch, ndata, edata)["h"].sum().backward()
            grads.append(cell.w.grad.clone())
            cell.w.grad = None
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.equal(*grads)


def test_only_the_outputs_asked_for_are_returned(batch: TreeBatch) -> None:
    cell, ndata, edata = mixing(batch)
    for backend in ("levels", "dgl"):
        assert list(run_cell(cell, batch, ndata, edata, backend=backend, outputs=["h"])) == ["h"]
    assert "h" not in batch.ndata


def test_prepare_runs_once_and_lays_its_fields_over(batch: TreeBatch) -> None:
    cell, ndata, edata = mixing(batch)
    calls = []

    class Preparing(Mixing):
        def prepare(self, ndata: dict[str, Tensor]) -> dict[str, Tensor]:
            calls.append(set(ndata))
            return {"x": ndata["x"] * 2}

    preparing = Preparing(D)
    preparing.load_state_dict(cell.state_dict())
    found = run_cell(preparing, batch, ndata, edata)["h"]
    expected = run_cell(cell, batch, {**ndata, "x": ndata["x"] * 2}, edata)["h"]
    torch.testing.assert_close(found, expected)
    assert calls == [{"x", "h"}]


def test_a_schedule_is_made_once_for_a_structure_and_its_groups(batch: TreeBatch) -> None:
    assert schedule_of(batch) is schedule_of(batch.with_data({}))
    group = torch.arange(batch.num_nodes) % 2
    first = schedule_of(batch, group)
    assert schedule_of(batch, group.clone()) is first
    assert schedule_of(batch, group, batch.edata["pos"]) is first  # without slots it is no matter
    assert schedule_of(batch, 1 - group) is not first
    assert schedule_of(batch.reversed()) is schedule_of(batch.reversed())
    assert schedule_of(batch.reversed()) is not schedule_of(batch)


def test_children_stand_as_their_parents_so_that_bushy_levels_need_no_gather() -> None:
    complete = Forest.build([-1] + [(i - 1) // 2 for i in range(1, 31)])
    batch = Forest.concat([complete, complete]).batch()
    schedule = make_schedule(batch, pos=batch.edata["pos"], slots=2)
    assert all(level.in_order for level in schedule.levels[1:])
    assert all(level.slots_full for level in schedule.levels[1:])


@pytest.mark.parametrize("grouped", [False, True])
def test_nothing_is_read_back_from_the_device(grouped: bool) -> None:
    """On the meta device there is nothing to read: a look at any value raises."""
    batch = random_forest(np.random.default_rng(0), 4, 9, 3).batch()
    batch.ndata["op"] = torch.arange(batch.num_nodes) % 4
    cell = Mixing(D, "op" if grouped else None, 3)
    ndata = {name: torch.randn(batch.num_nodes, D) for name in ("x", "h")}
    edata = {"e": torch.randn(len(batch.src), D)}
    moved = batch.with_data({**batch.ndata, **ndata}).to("meta")
    found = run_cell(
        cell.to("meta"),
        moved,
        moved.ndata,
        {**moved.edata, **{name: t.to("meta") for name, t in edata.items()}},
    )
    assert found["h"].device.type == "meta"
    found["h"].sum().backward()
    assert cell.w.grad.shape == (D, D)
    assert moved.roots.device.type == moved.tree_of_node.device.type == "meta"

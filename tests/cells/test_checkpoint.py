"""Levels that are computed again in the backward pass: the same, in less memory."""

import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.testing import assert_close

from dgltrees import ConfigError, Forest, TreeBatch, prop_nodes_topo, run_cell
from dgltrees.cells import BaseCell
from dgltrees.traversal.levels import segments
from dgltrees.traversal.views import Edges, Nodes
from tests.cells.table import TABLE, Row
from tests.cells.test_laws import graph, sample, world
from tests.worlds import acyclic_graphs, chain


def gradients(cell: BaseCell, forest: Forest, checkpoint: bool) -> dict[str, Tensor]:
    """All states and gradients, dropout drawn from the same seed."""
    cell.zero_grad()
    torch.manual_seed(1)
    x, op = world(forest)
    x.requires_grad_()
    batch, ndata = graph(cell, forest, x, op)
    found = run_cell(cell, batch, ndata, compile=False, activation_checkpointing=checkpoint)
    sum((h * torch.linspace(-1, 2, h.numel()).view_as(h)).sum() for h in found.values()).backward()
    grads = {name: p.grad.clone() for name, p in cell.named_parameters() if p.grad is not None}
    return {**found, **grads, "x": x.grad}


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_values_gradients_and_dropout_are_the_same(row: Row) -> None:
    cell, forest = row.make(**({"dropout": 0.5} if row.up else {})).train(), sample(row.children)
    assert_close(gradients(cell, forest, True), gradients(cell, forest, False))


@given(drawn=acyclic_graphs())
def test_any_acyclic_graph(drawn: tuple[int, np.ndarray, np.ndarray]) -> None:
    nodes, src, dst = drawn
    ends = torch.from_numpy(src), torch.from_numpy(dst)
    found = []
    for checkpoint in (False, True):
        x = torch.linspace(-1, 1, nodes, dtype=torch.float64).requires_grad_()
        batch = TreeBatch(*ends, torch.tensor([nodes]), ndata={"x": x, "h": x * 0})
        prop_nodes_topo(
            batch,
            lambda edges: {"m": edges.src["h"] * edges.dst["x"] + edges.src["x"]},
            lambda nodes: {"k": nodes.mailbox["m"].sum(1)},
            apply_node_func=lambda nodes: {
                "h": torch.tanh(nodes.data["x"] + nodes.data.get("k", 0))
            },
            activation_checkpointing=checkpoint,
        )
        batch.ndata["h"].square().sum().backward()
        found.append((batch.ndata["h"], x.grad))
    assert_close(found[1], found[0])


def test_a_field_that_leaves_do_not_make_is_what_was_prepared() -> None:
    class Partly(torch.nn.Module):
        def message(self, edges: Edges) -> dict[str, Tensor]:
            return {"m": edges.src["h"] * edges.src["c"] + edges.src["w"]}

        def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
            return {"h": nodes.mailbox["m"].sum(1)}

        def prepare(self, ndata: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"w": 2 * ndata["x"], "c": 3 * ndata["x"]}

        def update(self, nodes: Nodes) -> dict[str, Tensor]:
            leaf = "h" not in nodes.data
            h = nodes.data["w"] if leaf else nodes.data["h"].tanh()
            return {"h": h} if leaf else {"h": h, "c": nodes.data["c"] + 1}

    forest = sample()
    found = []
    for backend, checkpoint in (("dgl", False), ("levels", False), ("levels", True)):
        x = torch.linspace(-1, 1, forest.num_nodes, dtype=torch.float64).requires_grad_()
        made = run_cell(
            Partly(), forest.batch(), {"x": x}, backend=backend, activation_checkpointing=checkpoint
        )
        (made["h"] * made["c"]).sum().backward()
        found.append((made["h"], made["c"], x.grad))
    assert_close(found[1], found[0])
    assert_close(found[2], found[0])


def test_less_is_kept() -> None:
    cell, forest = Row("lstm", {"aggregator": "hosvd"}).make(hidden_size=8), chain(400)
    x, op = world(forest)
    kept = {}
    for checkpoint in (False, True):
        sizes: list[int] = []

        def pack(tensor: Tensor, sizes: list[int] = sizes) -> Tensor:
            sizes.append(tensor.numel())
            return tensor

        with saved_tensors_hooks(pack, lambda tensor: tensor):
            run_cell(
                cell,
                forest.batch(),
                {"x": x, "op": op},
                compile=False,
                activation_checkpointing=checkpoint,
            )
        kept[checkpoint] = sum(sizes)
    assert kept[True] < kept[False] / 10


@pytest.mark.parametrize("nodes", [[0], [0, 1], [5, 9, 1, 1, 1, 1, 1, 1], [0] + [3] * 400])
def test_segments_are_alike(nodes: list[int]) -> None:
    cuts = segments(nodes)
    assert [level for start, stop in cuts for level in range(start, stop)] == [
        *range(1, len(nodes))
    ]
    assert len(cuts) <= 2 * len(nodes) ** 0.5
    if len(nodes) == 8:
        assert cuts[0] == (1, 2)  # the wide level


def test_dgl_has_none() -> None:
    cell, forest = Row("child_sum").make(), chain(3)
    x, op = world(forest)
    with pytest.raises(ConfigError, match="backend 'levels' with activation_checkpointing=True"):
        run_cell(cell, forest.batch(), {"x": x}, backend="dgl", activation_checkpointing=True)

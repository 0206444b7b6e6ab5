"""What the laws do not say of the cells of the top-down TreeLSTM."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from dgltrees import Forest, TreeBatch, TreeError, run_cell
from dgltrees.cells import LeftDependentLSTM, TopDownLSTM
from tests.worlds import random_forest

S, D = 3, 4


def top_down(**options: Any) -> TopDownLSTM:
    torch.manual_seed(0)
    return TopDownLSTM(S, D, **options).double()


def world(forest: Forest) -> tuple[TreeBatch, dict[str, Tensor]]:
    torch.manual_seed(1)
    x = torch.randn(forest.num_nodes, S).double()
    return forest.batch().reversed(), {"x": x, "etype": torch.from_numpy(forest.pos)}


FOREST = random_forest(np.random.default_rng(0), 3, 12, 4)


@pytest.mark.parametrize("backend", ["levels", "dgl"])
@pytest.mark.parametrize("compiled", [True, False])
def test_root_has_the_initial_state(backend: str, compiled: bool) -> None:
    cell = top_down(layers=2)
    made = run_cell(cell, *world(FOREST), backend=backend, compile=compiled)
    for name in ("h", "c"):
        assert made[name].shape == (FOREST.num_nodes, 2, D)
        assert (made[name][FOREST.roots] == 0.01).all()
        assert (made[name] != 0.01).any()


@pytest.mark.parametrize("options", [{}, {"layers": 2}, {"shared": True}, {"left_size": 2}])
def test_growing_nodes_take_the_steps_of_grown_ones(options: dict[str, Any]) -> None:
    cell, (batch, ndata) = top_down(**options), world(FOREST)
    ndata["left"] = torch.randn(FOREST.num_nodes, 2).double()
    states = run_cell(cell, batch, ndata)
    src, dst = batch.src.flip(0), batch.dst.flip(0)
    fields = {name: field[dst] for name, field in ndata.items()}
    h, c = cell.advance(fields, states["h"][src], states["c"][src])
    assert_close(h, states["h"][dst])
    assert_close(c, states["c"][dst])


def test_the_type_of_an_edge_counts_below_it_alone() -> None:
    """Another type changes the node and what hangs on it, unless all types share one LSTM."""
    forest = Forest.build([-1, 0, 1, 0, 3], pos=[0, 0, 1, 1, 0])
    batch, ndata = world(forest)
    other = {**ndata, "etype": torch.tensor([0, 2, 1, 1, 0])}
    cell = top_down()
    before, after = (run_cell(cell, batch, fields)["h"] for fields in (ndata, other))
    changed = (before != after).any(2).any(1)
    assert changed.tolist() == [False, True, True, False, False]
    shared = top_down(shared=True)
    assert_close(run_cell(shared, batch, ndata), run_cell(shared, batch, other))


def test_left_dependents_are_read_at_right_edges_alone() -> None:
    cell, (batch, ndata) = top_down(left_size=2), world(FOREST)
    left = torch.where(ndata["etype"] == 1, 0.5, torch.nan).double()
    left = left[:, None].expand(-1, 2).contiguous().requires_grad_()
    for compiled in (True, False):
        h = run_cell(cell, batch, {**ndata, "left": left}, compile=compiled)["h"]
        assert torch.isfinite(h).all()
        (gradient,) = torch.autograd.grad(h.sum(), left)
        used = (gradient != 0).any(1)
        has_source = torch.from_numpy(FOREST.parent >= 0)
        assert_close(used, (ndata["etype"] == 1) & has_source)


def test_parameters_of_the_paper() -> None:
    """Two biases; 4 LSTMs of 4 d (s + d + 2), and 4 d times d more at GEN-R with LD."""
    s, d = 150, 300

    def count(cell: torch.nn.Module) -> int:
        return sum(p.numel() for p in cell.parameters())

    one = 4 * d * (s + d + 2)
    assert count(TopDownLSTM(s, d)) == 4 * one
    assert count(TopDownLSTM(s, d, shared=True)) == count(LeftDependentLSTM(s, d)) == one
    assert count(TopDownLSTM(s, d, left_size=d)) == 4 * one + 4 * d * d
    assert count(TopDownLSTM(s, d, layers=2)) == 4 * one + 4 * 4 * d * (2 * d + 2)


def test_parameters_begin_in_a_small_box() -> None:
    for cell in (TopDownLSTM(30, 40, left_size=20), LeftDependentLSTM(30, 40)):
        for p in cell.parameters():
            assert 0.09 < p.abs().max() <= 0.1


def test_errors() -> None:
    cell, (batch, ndata) = top_down(left_size=2), world(FOREST)
    left = torch.zeros(FOREST.num_nodes, 2).double()
    with pytest.raises(TreeError, match=r"integer node field 'etype' .* got \['left', 'x'\]"):
        run_cell(cell, batch, {"x": ndata["x"], "left": left})
    with pytest.raises(TreeError, match=r"field 'left' of shape \(N, 2\), .* got \['etype', 'x'\]"):
        run_cell(cell, batch, ndata)
    with pytest.raises(TreeError, match=r"tree 0, node 2: .* 0 to 3 \(LEFT, .* NX-RIGHT\), got 7"):
        wrong = ndata["etype"].clone()
        wrong[2] = 7
        run_cell(cell, batch, {**ndata, "left": left, "etype": wrong})
    with pytest.raises(TreeError, match=r"one edge into a node, .* batch\.reversed\(\)"):
        run_cell(top_down(), FOREST.batch(), ndata)

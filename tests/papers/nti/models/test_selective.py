from __future__ import annotations

import pytest
import torch

from dgltrees.cells import SLSTM, SelectiveSLSTM
from dgltrees.cells.s_lstm import sparsemax
from dgltrees.papers.nti.graphs import full_trees
from dgltrees.traversal import traverse
from dgltrees.trees import TreeBatch

Cells = tuple[SelectiveSLSTM, SLSTM, TreeBatch, torch.Tensor]


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:
    torch.manual_seed(0)
    m = 2 * torch.randn(200, 5, dtype=torch.float64)
    p = sparsemax(m)
    torch.testing.assert_close(p.sum(1), torch.ones(200, dtype=torch.float64))
    assert (p >= 0).all()
    assert 0 < int((p == 0).sum()) < p.numel() - len(p)
    other = torch.distributions.Dirichlet(torch.full((5,), 0.5)).sample((2000,)).double()
    nearest = (p - m).square().sum(1)
    assert (nearest.unsqueeze(1) <= torch.cdist(m, other).square() + 1e-12).all()


def test_scores_of_minus_infinity_have_no_part_and_no_gradient() -> None:
    m = torch.tensor([[1.0, 0.5, -torch.inf], [2.0, -torch.inf, -torch.inf]], requires_grad=True)
    p = sparsemax(m)
    torch.testing.assert_close(p, torch.tensor([[0.75, 0.25, 0.0], [1.0, 0.0, 0.0]]))
    p[:, 0].sum().backward()
    torch.testing.assert_close(m.grad, torch.tensor([[0.5, -0.5, 0.0], [0.0, 0.0, 0.0]]))


@pytest.fixture
def cells() -> Cells:
    """A selective cell, an S-LSTM with the same weights, and a batch of trees with their input."""
    torch.manual_seed(0)
    cell = SelectiveSLSTM(4, 4, 4, score="dot", leaf="identity").double()
    plain = SLSTM(4, 4, 4, leaf="identity").double()
    plain.load_state_dict(cell.state_dict(), strict=False)
    batch = full_trees([16, 7], 4)
    return cell, plain, batch, torch.randn(batch.num_nodes, 4, dtype=torch.float64)


def test_equal_scores_are_an_s_lstm(cells: Cells) -> None:
    cell, plain, batch, x = cells
    with torch.no_grad():
        cell.q.zero_()
    made, expected = (traverse(each, batch, {"x": x}) for each in (cell, plain))
    for name in ("h", "c"):
        torch.testing.assert_close(made[name], expected[name])


def test_children_of_low_scores_change_nothing(cells: Cells) -> None:
    cell, _, batch, x = cells
    leaves = batch.depth == batch.depth.max()
    first = torch.nonzero(torch.as_tensor(leaves))[:4, 0]
    with torch.no_grad():
        cell.q.copy_(torch.tensor([5.0, 0, 0, 0]))
    x[first, 0] = torch.tensor([1.0, 0.9, -1.0, -2.0], dtype=torch.float64)
    parent = batch.dst[batch.src == first[0]]
    before = traverse(cell, batch, {"x": x})["h"][parent]
    x[first[2:], 1:] += 1
    torch.testing.assert_close(traverse(cell, batch, {"x": x})["h"][parent], before)
    x[first[1], 1] += 1
    assert not torch.allclose(traverse(cell, batch, {"x": x})["h"][parent], before)

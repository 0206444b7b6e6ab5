"""Encoders: a cell over a batch; up, then down."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from dgltrees import ConfigError, Forest, TreeError, run_cell
from dgltrees.cells import make_cell
from dgltrees.models import BidirectionalEncoder, OneHot, TreeEncoder, WordEmbedding
from tests.backends import by_backend
from tests.worlds import random_forest

INPUT = OneHot("value", 4)


def world(trees: int = 4) -> Forest:
    forest = random_forest(np.random.default_rng(2), trees, 12, 3)
    value = np.where(forest.degree == 0, np.arange(forest.num_nodes) % 4, -1)
    op = np.where(forest.degree == 0, -1, np.arange(forest.num_nodes) % 2)
    columns = {"value": value.astype(np.int32), "op": op.astype(np.int32)}
    return Forest.build(forest.parent, pos=forest.pos, offsets=forest.offsets, columns=columns)


def up() -> TreeEncoder:
    torch.manual_seed(0)
    cell = make_cell(
        "lstm", input_size=4, hidden_size=3, max_children=3, aggregator="hosvd", rank=2, operators=2
    )
    return TreeEncoder(INPUT, cell)


def both(down: str) -> BidirectionalEncoder:
    torch.manual_seed(0)
    options = {} if down == "child_sum" else {"max_children": 3}
    return BidirectionalEncoder(up(), make_cell(down, input_size=3, hidden_size=5, **options))


def test_tree_encoder_is_the_traversal() -> None:
    encoder, batch = up(), world().batch()
    ndata = {"x": INPUT(batch), "op": batch.ndata["op"]}
    assert encoder.size == 3
    assert_close(encoder(batch).states, run_cell(encoder.cell, batch, ndata)["h"])
    assert set(batch.ndata) == {"value", "op"}


def fusing(encoder: str, compiled: bool) -> torch.nn.Module:
    torch.manual_seed(0)
    cell = make_cell("child_sum", input_size=2, hidden_size=3)
    up = TreeEncoder(WordEmbedding("value", 4, 2), cell, compile=compiled)
    if encoder == "up":
        return up
    return BidirectionalEncoder(up, make_cell("child_sum", input_size=3, hidden_size=2))


@pytest.mark.parametrize("encoder", ["up", "both"])
def test_a_second_derivative_without_fusing(encoder: str) -> None:
    """What the error of the compiled way says to do can be done."""
    batch = world().batch()

    def penalty(compiled: bool) -> torch.Tensor:
        model = fusing(encoder, compiled)
        weights = list(model.parameters())
        grads = torch.autograd.grad(model(batch).states.sum(), weights, create_graph=True)
        sum(g.square().sum() for g in grads).backward()
        return weights[0].grad

    assert penalty(False).abs().max() > 0
    with pytest.raises(RuntimeError, match="run the cell with compile=False"):
        penalty(True)
    assert_close(fusing(encoder, True)(batch).states, fusing(encoder, False)(batch).states)


@pytest.mark.parametrize("down", ["lstm", "child_sum"])
def test_backends_agree(down: str) -> None:
    batch = world().batch()
    with by_backend("dgl"):
        slow = both(down)(batch).states
    assert_close(both(down)(batch).states, slow)


def test_down_is_the_recursion_from_the_root() -> None:
    """A node's second state is one step of the cell from its parent's."""
    forest, encoder = world(), both("lstm")
    h = encoder(forest.batch()).states
    cell = encoder.down
    assert encoder.size == h.shape[1] == 8
    states: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    for v in np.argsort(forest.depth, kind="stable").tolist():
        x, parent = h[v, :3], int(forest.global_parent[v])
        a = x @ cell.f.W + cell.f.b[0, 0]
        c = torch.zeros(5)
        if parent >= 0:
            j = int(forest.pos[v])
            h_p, c_p = states[parent]
            a = a + h_p @ cell.f.U[0].view(3, 5, 15)[j]
            gate = cell.child_gate
            c = torch.sigmoid(x @ gate.W + h_p @ gate.U[0, j] + gate.b[0, j, 0]) * c_p
        i, o, u = a.view(3, 5)
        c = c + torch.sigmoid(i) * torch.tanh(u)
        states[v] = torch.sigmoid(o) * torch.tanh(c), c
    assert_close(h[:, 3:], torch.stack([states[v][0] for v in range(forest.num_nodes)]))


def test_every_node_sees_the_whole_tree_after_both_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    forest, encoder = world(trees=1), both("lstm")
    batch = forest.batch()
    x = INPUT(batch).requires_grad_()
    monkeypatch.setattr(encoder.up.input, "indexed", lambda batch: x)
    leaf = int(np.flatnonzero(forest.degree == 0)[0])
    encoder(batch).states[leaf, 3:].sum().backward()
    others = [v for v in np.flatnonzero(forest.degree == 0) if v != leaf]
    assert (x.grad[others].abs().amax(1) > 0).all()


def test_operators_must_be_there() -> None:
    batch = world().batch()
    del batch.ndata["op"]
    with pytest.raises(TreeError, match="an integer node field 'op' of shape .* got \\['x'\\]"):
        up()(batch)


def test_sizes_and_operators_are_checked() -> None:
    cell = make_cell("child_sum", input_size=5, hidden_size=2)
    with pytest.raises(ConfigError, match="a cell with input_size=4, the size of the input, got 5"):
        TreeEncoder(INPUT, cell)
    with pytest.raises(ConfigError, match="a downward cell with input_size=3, got 5"):
        BidirectionalEncoder(up(), cell)
    labeled = make_cell("lstm", input_size=3, hidden_size=2, max_children=3, operators=2)
    with pytest.raises(ConfigError, match="a downward cell without operators"):
        BidirectionalEncoder(up(), labeled)


@pytest.mark.parametrize("encoder", ["up", "both"])
def test_checkpoints_change_nothing(encoder: str) -> None:
    batch, found = world().batch(), []
    for checkpoint in (False, True):
        model = up() if encoder == "up" else both("lstm")
        (model if encoder == "up" else model.up).activation_checkpointing = checkpoint
        h = model(batch).states
        h.square().sum().backward()
        found.append((h, {name: p.grad for name, p in model.named_parameters()}))
    assert_close(found[1], found[0])

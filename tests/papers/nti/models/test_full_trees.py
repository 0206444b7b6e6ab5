"""Node functions on full trees: compiled, and what the paper says of them."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from dgltrees import ConfigError, TreeBatch, TreeError, compile_report
from dgltrees.cells import NTILSTM, ChainerNTILSTM, NTIAttention
from dgltrees.cells.compiled.kernels import available
from dgltrees.cells.initial import uniform
from dgltrees.papers.nti.graphs import full_trees, left_branching_trees
from dgltrees.papers.nti.models.fused_steps import FusedSteps, lstm_steps
from dgltrees.traversal import IndexedRows, run_cell
from tests.cells.compiled.interpreter import compiling

SIZE = 3

Fields = dict[str, Tensor]


def made(cell: torch.nn.Module) -> torch.nn.Module:
    uniform(cell.double(), 0.8)
    return cell


def run(
    cell: NTILSTM, batch: TreeBatch, x: Tensor, c0: Tensor | None, backend: str, compiled: bool
) -> list[Tensor]:
    """States, memories and all gradients."""
    ndata = {"x": x} if c0 is None else {"x": x, "c0": c0}
    state = run_cell(cell, batch, ndata, backend=backend, compile=compiled)
    weight = torch.linspace(-1, 2, state["h"].numel()).double().view_as(state["h"])
    total = (weight * state["h"]).sum() + (weight.flip(0) * state["c"]).sum()
    inputs = [*ndata.values(), *cell.parameters()]
    found = torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)
    return [state["h"], state["c"], *found]


@pytest.mark.skipif(not available(), reason="no numba")
@pytest.mark.parametrize("branching", [2, 3])
@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("lengths", [[1, 9, 4, 4], [5, 6], [1]], ids=str)
def test_the_compiled_way_equals_dgl(branching: int, memory: bool, lengths: list[int]) -> None:
    """Also where leaves have no memory, and products with it are left out."""
    batch, cell = full_trees(lengths, branching), made(NTILSTM(SIZE, SIZE, branching))
    x = torch.randn(batch.num_nodes, SIZE).double().requires_grad_()
    c0 = torch.randn_like(x).requires_grad_() if memory else None
    slow = run(cell, batch, x, c0, "dgl", False)
    with compiling():
        assert_close(run(cell, batch, x, c0, "levels", True), slow)
        assert compile_report(cell) == "NTILSTM is compiled" or len(lengths) == 1
    assert_close(run(cell, batch, x, c0, "levels", False), slow)


def test_shared_inputs_and_no_other() -> None:
    batch, cell = full_trees([3, 4]), made(NTILSTM(SIZE, SIZE, 2))
    rows, index = torch.randn(5, SIZE).double(), torch.arange(batch.num_nodes) % 5
    assert_close(
        run_cell(cell, batch, {"x": IndexedRows(rows, index)}),
        run_cell(cell, batch, {"x": rows[index]}),
    )
    with pytest.raises(TreeError, match=r"node field 'c0' of shape \(N, 3\), got \(14, 2\)"):
        run_cell(cell, batch, {"x": rows[index], "c0": torch.zeros(14, 2)})


def test_gradcheck_of_the_steps_of_an_lstm() -> None:
    index, back = torch.tensor([[0, 2], [1, 0]]), torch.tensor([0, 2, 1])  # 2 steps and 1
    shapes = [(3, 4 * SIZE), (2, SIZE), (2, SIZE), (SIZE, 4 * SIZE)]
    given = [torch.randn(*shape).double().requires_grad_() for shape in shapes]
    assert_close(FusedSteps.apply(*given, index, back), lstm_steps(*given, index, back))
    assert torch.autograd.gradcheck(lambda *some: FusedSteps.apply(*some, index, back), given)


def test_left_branching_is_an_lstm() -> None:
    """Section 6: "If we construct left-branching trees in a bottom-up fashion, the model acts just
    like sequential LSTM."

    Exactly: with the token as right child, whose memory is 0, the S-LSTM is an LSTM whose gates see
    the memory too, and begins with the first token as its state. Without what the gates see of
    memories it is the LSTM of torch.
    """
    cell, words = made(NTILSTM(SIZE, SIZE, 2, leaf="identity")), 6
    torch.nn.init.zeros_(cell.P)
    torch.nn.init.zeros_(cell.V)
    batch = left_branching_trees([words])
    tokens = torch.randn(words, SIZE).double()
    x = torch.zeros(batch.num_nodes, SIZE).double()
    token = batch.ndata["token"]
    x[token >= 0] = tokens[token[token >= 0]]
    state = run_cell(cell, batch, {"x": x})

    lstm = torch.nn.LSTM(SIZE, SIZE).double()
    U = cell.U.view(2, SIZE, 5, SIZE)  # from left and right to i, f_left, f_right, o, u
    gates = [0, 1, 4, 3]  # torch: i, f, g, o
    with torch.no_grad():
        lstm.weight_hh_l0.copy_(U[0][:, gates].flatten(1).T)
        lstm.weight_ih_l0.copy_(U[1][:, gates].flatten(1).T)
        lstm.bias_ih_l0.copy_(cell.b.view(5, SIZE)[gates].flatten())
        lstm.bias_hh_l0.zero_()
    start = tokens[:1], torch.zeros_like(tokens[:1])
    h, (last, c) = lstm(tokens[1:], start)
    inner = torch.nonzero(token < 0)[:, 0]
    assert_close(state["h"][inner], h)
    assert_close(state["c"][inner[-1]], c[0])
    assert_close(state["h"][batch.roots], last)


def test_with_memories_at_the_gates_it_is_an_lstm_with_peepholes() -> None:
    cell = made(NTILSTM(SIZE, SIZE, 2, leaf="identity"))
    batch = left_branching_trees([4])
    x = torch.randn(batch.num_nodes, SIZE).double()
    state = run_cell(cell, batch, {"x": x})
    U, P = cell.U.view(2, SIZE, 5, SIZE), cell.P.view(2, SIZE, 3, SIZE)
    token = batch.ndata["token"]
    h, c = x[0], torch.zeros(SIZE).double()
    for t in range(1, 4):
        w = x[int(torch.nonzero(token == t))]
        a = cell.b.view(5, SIZE) + torch.tensordot(h, U[0], 1) + torch.tensordot(w, U[1], 1)
        i, f = torch.sigmoid(a[:2] + torch.tensordot(c, P[0], 1)[:2])
        c = f * c + i * torch.tanh(a[4])
        h = torch.sigmoid(a[3] + c @ cell.V) * torch.tanh(c)
    assert_close(state["h"][batch.roots[0]], h)


def test_chainers_is_no_lstm_but_adds_up() -> None:
    """On a left-branching tree each child has gates of its own, so that h goes in beside u."""
    cell = made(ChainerNTILSTM(SIZE, SIZE, 2, leaf="identity"))
    x = torch.randn(3, SIZE).double()
    state = run_cell(cell, full_trees([2]), {"x": x})
    (a, i, _, o), (b, j, _, p) = ((x[k] @ cell.U[k] + cell.b[k, 0]).view(4, SIZE) for k in range(2))
    c = a.tanh() * i.sigmoid() + b.tanh() * j.sigmoid()
    assert_close(state["c"][2], c)
    assert_close(state["h"][2], (o + p).sigmoid() * c.tanh())


def test_attentive_nodes_weigh_by_the_query() -> None:
    """With a query that only the first child fits, the node is that child."""
    cell = made(NTIAttention(2, 2, 2, score="dot", query="given", leaf="identity"))
    torch.nn.init.eye_(cell.W)
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]).double()
    q = torch.tensor([[50.0, 0.0]]).double().expand(3, -1)
    h = run_cell(cell, full_trees([2]), {"x": x, "q": q})["h"]
    assert_close(h[2], x[0])
    with pytest.raises(TreeError, match=r"expected a node field 'q' of shape \(N, 2\), got only"):
        run_cell(cell, full_trees([2]), {"x": x})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"leaf": "mlp"}, "expected leaf to be one of linear, identity, got 'mlp'"),
        ({"leaf": "identity"}, "expected inputs of the hidden size, 3, for leaf 'identity', got 2"),
        ({"query": "none"}, "expected query to be one of learned, given, got 'none'"),
        ({"score": "cosine"}, "expected score to be one of mlp, dot, map, got 'cosine'"),
    ],
)
def test_refused_settings(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        NTIAttention(2, 3, 2, **options)

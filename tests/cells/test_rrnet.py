"""The laws of cells, for split, recur and merge over graphs of operations."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from dgltrees import TreeBatch, TreeError, compile_report, run_cell
from dgltrees.cells import RRNetCell
from dgltrees.cells.compiled.kernels import available
from dgltrees.cells.initial import uniform
from dgltrees.trees.kinds import Flow
from tests.cells.compiled.interpreter import compiling
from tests.cells.rrnet_reference import F_4, merged, read, unit
from tests.cells.sequences import (
    MERGE,
    OPEN,
    RECUR,
    SPLIT,
    START,
    Sequences,
    flat,
    graph_of,
    random_sequence,
    random_sequences,
    sequences,
    spelled,
)

M, D = 3, 4

Fields = dict[str, Tensor]

OPTIONS: dict[str, dict[str, Any]] = {
    "paper": {},
    "running": {"memory": "running", "merge": "two_layers"},
    "layer_norm": {"layer_norm": True},
    "all": {"memory": "running", "merge": "two_layers", "layer_norm": True},
}
GIVEN = ("h", "c", "down", "down_c")
WAYS: dict[str, dict[str, Any]] = {
    "levels": {},
    "dgl": {"backend": "dgl"},
    "checkpoint": {"activation_checkpointing": True},
}


@contextmanager
def going(way: str) -> Iterator[dict[str, Any]]:
    """The arguments of ``run_cell`` for a way; within the context, cells may be compiled."""
    with compiling() if way == "compiled" else nullcontext():
        yield WAYS.get(way, {})


every_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())


def make(**options: Any) -> RRNetCell:
    """The cell in float64, all parameters drawn, so that each matters."""
    torch.manual_seed(0)
    cell = RRNetCell(M, D, **options).double()
    uniform(cell, 0.8)
    return cell


def fields(operations: list[int], *more: str, seed: int = 0) -> Fields:
    """An input, and what else is asked for, at every node, also where none is to be read."""
    generator = torch.Generator().manual_seed(seed)

    def draw(size: int) -> Tensor:
        return torch.randn(len(operations), size, dtype=torch.float64, generator=generator)

    made = {"x": draw(M), **{name: draw(D) for name in GIVEN}, "mask": draw(D)}
    kept = {name: field for name, field in made.items() if name in ("x", *more)}
    return {**kept, "op": torch.tensor(operations, dtype=torch.int64)}


def by_the_reference(cell: RRNetCell, drawn: Sequences, ndata: Fields) -> Fields:
    """The slow way, sequence by sequence."""
    sizes = [len(each) for each in drawn]
    parts = [dict(zip(ndata, each)) for each in zip(*(f.split(sizes) for f in ndata.values()))]
    made = [read(cell, *each) for each in zip(drawn, parts)]
    return {name: torch.cat([each[name] for each in made]) for name in cell.state_fields}


def encode(cell: RRNetCell, drawn: Sequences, ndata: Fields, **how: Any) -> Fields:
    return run_cell(cell, graph_of(drawn), ndata, outputs=cell.state_fields, **how)


def gradients(cell: RRNetCell, made: Fields, ndata: Fields) -> Fields:
    """Of a sum over all that was made, with a weight for each entry."""
    total = torch.zeros((), dtype=torch.float64)
    for field in made.values():
        weight = torch.linspace(-1, 2, field.numel(), dtype=field.dtype).view_as(field)
        total = total + (field * weight).sum()
    wanted = {**dict(cell.named_parameters()), **ndata}
    wanted = {name: each for name, each in wanted.items() if each.requires_grad}
    found = torch.autograd.grad(total, [*wanted.values()], allow_unused=True)
    return {
        name: torch.zeros_like(each) if grad is None else grad
        for (name, each), grad in zip(wanted.items(), found)
    }


def tracked(ndata: Fields) -> Fields:
    return {name: f.requires_grad_() if f.is_floating_point() else f for name, f in ndata.items()}


SAMPLE = [
    *random_sequences(np.random.default_rng(1), 3, 9, 2),
    *spelled("", "SM", "SRSRMMR", "OOSMMR", "O", "SSR"),
]


@every_option
@pytest.mark.parametrize("more", [(), ("mask",), GIVEN, (*GIVEN, "mask")], ids=len)
def test_equals_the_equations(options: dict[str, Any], more: tuple[str, ...]) -> None:
    cell, ndata = make(**options), fields(flat(SAMPLE)[0], *more)
    assert_close(encode(cell, SAMPLE, ndata), by_the_reference(cell, SAMPLE, ndata))


@every_option
@settings(max_examples=8)
@given(drawn=sequences(), seed=st.integers(0, 99), more=st.sets(st.sampled_from([*GIVEN, "mask"])))
def test_equals_the_equations_on_any_sequences(
    options: dict[str, Any], drawn: Sequences, seed: int, more: set[str]
) -> None:
    cell, ndata = make(**options), fields(flat(drawn)[0], *more, seed=seed)
    with torch.no_grad():
        expected = by_the_reference(cell, drawn, ndata)
        assert_close(encode(cell, drawn, ndata), expected)


@every_option
@pytest.mark.parametrize("more", [(), (*GIVEN, "mask")], ids=len)
def test_every_way_equals_every_other(options: dict[str, Any], more: tuple[str, ...]) -> None:
    """Values, and gradients of parameters, inputs, masks and what is given."""
    cell, ndata = make(**options), tracked(fields(flat(SAMPLE)[0], *more))
    expected = by_the_reference(cell, SAMPLE, ndata)
    expected_gradients = gradients(cell, expected, ndata)
    for name in (*WAYS, "compiled"):
        with going(name) as how:
            made = encode(cell, SAMPLE, ndata, **how)
            assert_close(made, expected, msg=lambda text, name=name: f"{name}: {text}")
            found = gradients(cell, made, ndata)
        assert_close(found, expected_gradients, msg=lambda text, name=name: f"{name}: {text}")
    assert not available() or compile_report(cell) == "RRNetCell is compiled"


@pytest.mark.parametrize("wanted", ["h", "c", "down"])
def test_each_output_has_its_own_gradient(wanted: str) -> None:
    cell, ndata = make(), tracked(fields(flat(SAMPLE)[0], *GIVEN, "mask"))
    found = [
        gradients(cell, {wanted: encode(cell, SAMPLE, ndata, compile=compiled)[wanted]}, ndata)
        for compiled in (True, False)
    ]
    assert_close(*found)


def test_what_is_given_elsewhere_is_not_read() -> None:
    """States at START and OPEN, what is pushed at OPEN; a mask where there is a step."""
    ndata = tracked(fields(flat(SAMPLE)[0], *GIVEN, "mask"))
    op = ndata["op"]
    start, opened = op == START, op == OPEN
    read_at = {"h": start | opened, "c": start | opened, "down": opened, "mask": ~(start | opened)}
    for how in WAYS.values():
        cell = make()
        found = gradients(cell, encode(cell, SAMPLE, ndata, **how), ndata)
        for name, where in read_at.items():
            if name == "down":  # it comes out at OPEN, even where no merge takes it
                assert (found[name][where] != 0).all()
            assert (found[name][~where] == 0).all()
            assert (found[name][where] != 0).any()


@pytest.mark.parametrize("how", WAYS.values(), ids=WAYS.keys())
def test_a_merge_with_another_split_is_another_merge(how: dict[str, Any]) -> None:
    """Two merges exchange what returns to them: a queue instead of a stack."""
    drawn = spelled("RSRSRMRM")
    cell, ndata, batch = make(), fields(flat(drawn)[0]), graph_of(drawn)
    src, returns = batch.src.clone(), batch.edata["pos"] == Flow.RETURN
    src[returns] = src[returns].flip(0)
    other = TreeBatch(src, batch.dst, batch.sizes, edata=batch.edata)
    before, after = (run_cell(cell, each, ndata, **how)["h"] for each in (batch, other))
    first = drawn[0].index(MERGE)
    assert_close(after[:first], before[:first])
    assert ((after - before)[first:].abs().amax(1) > 1e-3).all()


@pytest.mark.parametrize("how", WAYS.values(), ids=WAYS.keys())
def test_what_returns_is_not_what_is_next(how: dict[str, Any]) -> None:
    """A merge of two splits: what one has pushed meets the state of the other, or vice versa."""
    cell, ndata = make(), fields([START, SPLIT, START, SPLIT, MERGE])
    src, dst, x = torch.tensor([0, 2, 1, 3]), torch.tensor([1, 3, 4, 4]), ndata["x"][4]
    found = []
    for pos, last, top in (([0, 0, 0, 1], 1, 3), ([0, 0, 1, 0], 3, 1)):
        batch = TreeBatch(src, dst, torch.tensor([5]), edata={"pos": torch.tensor(pos)})
        h, _, down, down_c = run_cell(cell, batch, ndata, outputs=cell.state_fields, **how).values()
        h_m = merged(cell, h[last], down[top])
        assert_close(h[4], unit(cell, F_4, h_m, down_c[top], x)[0])
        found.append(h[4])
        assert not torch.allclose(h_m, merged(cell, down[top], h[last]))
    assert (found[0] - found[1]).abs().max() > 1e-3


def test_what_no_operation_reaches_learns_nothing() -> None:
    cell, drawn = make(merge="two_layers"), spelled("RR", "R")
    ndata = fields(flat(drawn)[0])
    for compiled in (True, False):
        found = gradients(cell, encode(cell, drawn, ndata, compile=compiled), ndata)
        assert found["W"][1].abs().max() > 0
        for name in ("W", "U", "b"):
            assert found[name][[0, 2, 3]].abs().max() == 0
        for name in ("V_1", "b_1", "V_2", "b_2"):
            assert found[name].abs().max() == 0


def test_recurs_alone_are_an_lstm() -> None:
    """The paper's baseline; torch's own, gate by gate."""
    cell, length = make(), 2000
    peer = nn.LSTM(M, D).double()
    i, f, o, u = range(4)
    with torch.no_grad():
        for ours, theirs in ((cell.W, peer.weight_ih_l0), (cell.U, peer.weight_hh_l0)):
            theirs.copy_(ours[1].view(-1, 4, D)[:, [i, f, u, o]].flatten(1).t())
        peer.bias_ih_l0.copy_(cell.b[1].view(4, D)[[i, f, u, o]].flatten())
        peer.bias_hh_l0.zero_()
    drawn = [[START, *[RECUR] * length]]
    ndata = tracked(fields(flat(drawn)[0]))
    made = encode(cell, drawn, ndata)
    x = ndata["x"][1:].detach().requires_grad_()
    h, (_, c) = peer(x)
    assert_close(made["h"][1:], h)
    assert_close(made["c"][-1:], c)
    assert (made["down"] == 0).all()
    weight = torch.linspace(-1, 2, h.numel(), dtype=h.dtype).view_as(h)
    (gradient,) = torch.autograd.grad((made["h"][1:] * weight).sum(), ndata["x"])
    (expected,) = torch.autograd.grad((h * weight).sum(), x)
    assert_close(gradient[1:], expected)
    assert (gradient[0] == 0).all()


def test_all_splits_then_all_merges() -> None:
    drawn, cell = spelled("S" * 500 + "M" * 500), make()
    ndata = tracked(fields(flat(drawn)[0]))
    found, expected = encode(cell, drawn, ndata), by_the_reference(cell, drawn, ndata)
    assert_close(found, expected)
    assert_close(gradients(cell, found, ndata), gradients(cell, expected, ndata))


def test_all_splits_then_all_merges_with_options() -> None:
    drawn, cell = spelled("S" * 100 + "M" * 100), make(**OPTIONS["all"])
    ndata = fields(flat(drawn)[0])
    with torch.no_grad():
        assert_close(encode(cell, drawn, ndata), by_the_reference(cell, drawn, ndata))


@every_option
@pytest.mark.parametrize("words", [[""], ["", ""], ["O"], ["", "OO", ""]], ids="-".join)
def test_sequences_without_steps(options: dict[str, Any], words: list[str]) -> None:
    drawn, cell = spelled(*words), make(**options)
    ndata = tracked(fields(flat(drawn)[0], *GIVEN))
    for how in WAYS.values():
        made = encode(cell, drawn, ndata, **how)
        assert_close(made, by_the_reference(cell, drawn, ndata))
        found = gradients(cell, made, ndata)
        assert all((found[name] == 0).all() for name, _ in cell.named_parameters())


@every_option
def test_no_sequences(options: dict[str, Any]) -> None:
    cell, ndata = make(**options), tracked(fields([], *GIVEN))
    for how in WAYS.values():
        made = encode(cell, [], ndata, **how)
        assert {name: f.shape for name, f in made.items()} == dict.fromkeys(made, (0, D))
        made["h"].sum().backward()


def test_unlike_lengths() -> None:
    cell, rng = make(), np.random.default_rng(0)
    drawn = [random_sequence(rng, steps, steps % 3) for steps in (0, 1, 60, 2, 0, 33)]
    ndata = fields(flat(drawn)[0], *GIVEN)
    assert_close(encode(cell, drawn, ndata), by_the_reference(cell, drawn, ndata))


def test_windows_go_on_where_others_ended() -> None:
    """Truncated sequences: the state at START, what is still pushed at OPEN."""
    cell, whole = make(), spelled("RSRSSRMRMSM")[0]
    ndata = fields(whole)
    expected = encode(cell, [whole], ndata)
    cut = 7
    first = encode(cell, [whole[:cut]], {name: f[:cut] for name, f in ndata.items()})
    left = [2, 4, 5]  # splits without a merge by then
    op = [START, OPEN, OPEN, OPEN, *whole[cut:]]
    begin = torch.zeros(len(op), D, dtype=torch.float64)
    carried = {name: begin.clone() for name in GIVEN}
    carried["h"][0], carried["c"][0] = first["h"][-1], first["c"][-1]
    carried["down"][1:4], carried["down_c"][1:4] = first["down"][left], first["down_c"][left]
    x = torch.cat([ndata["x"].new_zeros(4, M), ndata["x"][cut:]])
    second = encode(cell, [op], {"x": x, "op": torch.tensor(op), **carried})
    for name in ("h", "c"):
        assert_close(second[name][4:], expected[name][cut:])


def test_parameters() -> None:
    """Four LSTM units, and an MLP with one or two layers of width d."""
    m, d = 30, 40

    def count(**options: Any) -> int:
        return sum(p.numel() for p in RRNetCell(m, d, **options).parameters())

    units, layer = 4 * 4 * d * (m + d + 1), (2 * d + 1) * d
    assert count() == count(memory="running") == units + layer
    assert count(merge="two_layers") == units + layer + (d + 1) * d
    assert count(layer_norm=True) == units + layer + 4 * 2 * 5 * d
    cell = RRNetCell(m, d, merge_init="uniform", layer_norm=True)
    for name, p in cell.named_parameters():
        if name in ("gain", "shift"):
            assert (p == (name == "gain")).all()
        else:
            assert 0.9 * d**-0.5 < p.abs().max() <= d**-0.5


@pytest.mark.parametrize("merge", ["one_layer", "two_layers"])
def test_a_merge_begins_near_the_average(merge: str) -> None:
    """The same draws; only V_1 is moved."""
    cells = []
    for init in ("uniform", "average"):
        torch.manual_seed(0)
        cells.append(RRNetCell(M, D, merge=merge, merge_init=init))  # type: ignore[arg-type]
    drawn, moved = (dict(cell.named_parameters()) for cell in cells)
    half = 0.5 * torch.eye(D)
    assert_close(moved.pop("V_1"), torch.cat([half, half]) + 0.2 * drawn.pop("V_1"))
    assert_close(moved, drawn, rtol=0, atol=0)


def test_prefixes_can_be_shared() -> None:
    """Two sequences that begin alike, as a graph in which both follow one step."""
    cell, drawn = make(), spelled("RSRM", "RSRR")
    ndata = fields(flat(drawn)[0])
    x = ndata["x"].clone()
    x[5:9] = x[:4]
    expected = encode(cell, drawn, {**ndata, "x": x})["h"]
    op = torch.tensor([*drawn[0], RECUR])
    src, dst = torch.tensor([0, 1, 2, 3, 2, 3]), torch.tensor([1, 2, 3, 4, 4, 5])
    pos = torch.tensor([0, 0, 0, 0, 1, 0])
    batch = TreeBatch(src, dst, torch.tensor([6]), edata={"pos": pos})
    shared = {"x": x[[0, 1, 2, 3, 4, 9]], "op": op}
    for how in WAYS.values():
        assert_close(run_cell(cell, batch, shared, **how)["h"], expected[[0, 1, 2, 3, 4, 9]])


def edges(*triples: tuple[int, int, int]) -> dict[str, Tensor]:
    src, dst, pos = (torch.tensor(each) for each in zip(*triples))
    return {"src": src, "dst": dst, "pos": pos}


BROKEN = {
    "a merge without RETURN": (
        "SM",
        edges((0, 1, 0), (1, 2, 0)),
        r"one RETURN edge into a MERGE, .* into this MERGE; build the",
    ),
    "a merge without NEXT": (
        "SM",
        edges((0, 1, 0), (1, 2, 1)),
        "expected one NEXT edge into every step, .* into this MERGE",
    ),
    "a step without an edge": (
        "SRR",
        edges((0, 1, 0), (2, 3, 0)),
        "expected one NEXT edge into every step, .* into this RECUR",
    ),
    "a RETURN into a recur": (
        "SR",
        edges((0, 1, 0), (1, 2, 0), (1, 2, 1)),
        "expected one NEXT edge into every step, .* into this RECUR",
    ),
    "a RETURN from a recur": (
        "RM",
        edges((0, 1, 0), (1, 2, 0), (1, 2, 1)),
        "expected RETURN edges only from SPLIT or OPEN, got one from RECUR; build the graph with",
    ),
    "an edge into OPEN": (
        "OR",
        edges((0, 1, 0), (1, 2, 0)),
        "no edge into START and OPEN, got others into this OPEN; build",
    ),
    "two steps before one": (
        "RRR",
        edges((0, 1, 0), (0, 2, 0), (1, 3, 0), (2, 3, 0)),
        "node 3: expected each child position once, got 0 twice",
    ),
    "a third kind of edge": (
        "R",
        edges((0, 1, 2)),
        "node 1: expected child positions from 0 to 1 .* got 2",
    ),
    "a cycle": ("RR", edges((2, 1, 0), (1, 2, 0)), "expected a graph without cycles"),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("how", ["levels", "dgl", "compiled"])
@pytest.mark.parametrize("options", [{}, {"memory": "running"}], ids=["restored", "running"])
def test_edges_that_are_not_those_of_sequences(
    what: str, how: str, options: dict[str, Any]
) -> None:
    word, made, message = BROKEN[what]
    op = flat(spelled(word))[0]
    sizes = torch.tensor([len(op)])
    batch = TreeBatch(made["src"], made["dst"], sizes, edata={"pos": made["pos"]})
    with going(how) as arguments, pytest.raises(TreeError, match=message):
        run_cell(make(**options), batch, fields(op), **arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"op": None}, r"integer node field 'op' of shape \(N,\), .* got \['x'\]; build the graph"),
        ({"op": torch.zeros(3)}, r"integer node field 'op' .* got torch.float32 \(3,\)"),
        ({"op": torch.zeros(3, 1).long()}, r"integer node field 'op' .* got torch.int64 \(3, 1\)"),
        ({"op": torch.tensor([0, 2, 5])}, r"expected operations \(START 0, .*\) .* got 5"),
        ({"op": torch.tensor([0, 2, -1])}, r"expected operations \(START 0, .*\) .* got -1"),
        ({"op": torch.tensor([0, 2])}, "'op' to have 3 rows, one per node, got 2"),
        ({"x": None}, r"missing node field 'x' of shape \(N, 3\), .* fields are \['op'\]"),
        ({"x": torch.zeros(3, M + 1)}, r"field 'x' to have the shape \(N, 3\), got \(3, 4\)"),
        ({"x": torch.zeros(2, M)}, "'x' to have 3 rows, one per node, got 2"),
        ({"x": torch.zeros(4, M)}, "'x' to have 3 rows, one per node, got 4"),
        ({"h": torch.zeros(3, D + 1)}, r"field 'h' to have the shape \(3, 4\), .* got \(3, 5\)"),
        ({"mask": torch.zeros(3, 1)}, r"field 'mask' to have the shape \(3, 4\), .* got \(3, 1\)"),
        ({"down": torch.zeros(1, D)}, "'down' to have 3 rows, one per node, got 1"),
        ({"down_c": torch.zeros(D)}, "'down_c' to have 3 rows, one per node, got 4"),
    ],
)
def test_fields_that_the_cell_does_not_take(
    changes: dict[str, Tensor | None], message: str
) -> None:
    drawn = spelled("RR")
    ndata = {**fields(flat(drawn)[0]), **changes}
    ndata = {name: field for name, field in ndata.items() if field is not None}
    for options in OPTIONS.values():
        with pytest.raises(TreeError, match=message):
            encode(make(**options), drawn, ndata)
    if "one per node" not in message:  # prepare knows no graph
        with pytest.raises(TreeError, match=message):
            make().prepare(ndata)

"""prop_nodes_topo: backend levels against backend dgl and against plain loops."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dgltrees import (
    ConfigError,
    Forest,
    TreeBatch,
    TreeError,
    prop_nodes_topo,
    run_cell,
    topological_nodes_generator,
)
from dgltrees._dgl import dgl
from dgltrees.cells import ChildSumTreeLSTM, NaryTreeLSTM
from dgltrees.traversal.views import Edges, Nodes
from tests.traversal.cells import BinaryTreeLSTM, Mixing
from tests.worlds import acyclic_graphs, chain, forests, star

fn = pytest.importorskip("dgl.function", reason="needs DGL")

D = 3
PAIR = fn.copy_u("x", "m"), fn.sum("m", "x")


def graph_of(nodes: int, src: np.ndarray, dst: np.ndarray) -> dgl.DGLGraph:
    return dgl.graph((torch.as_tensor(src), torch.as_tensor(dst)), num_nodes=nodes)


def mixing_data(graph: dgl.DGLGraph, seed: int) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    gen = torch.Generator().manual_seed(seed)

    def draw(rows: int) -> Tensor:
        return torch.randn(rows, D, generator=gen, dtype=torch.float64).requires_grad_()

    nodes = {"x": draw(graph.num_nodes()), "h": draw(graph.num_nodes())}
    return nodes, {"e": draw(graph.num_edges())}


def gradients(out: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    weight = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    found = torch.autograd.grad((out.sin() * weight).sum(), inputs, allow_unused=True)
    return [torch.zeros_like(i) if g is None else g for i, g in zip(inputs, found)]


def by_loops(cell: Mixing, graph: dgl.DGLGraph, ndata: dict, edata: dict) -> Tensor:
    """The Mixing cell, node by node."""
    h, done = list(ndata["h"]), set()
    src, dst = (ends.tolist() for ends in graph.edges())
    while len(done) < graph.num_nodes():
        for v in set(range(graph.num_nodes())) - done:
            into = [e for e, d in enumerate(dst) if d == v]
            if any(src[e] not in done for e in into):
                continue
            a = ndata["x"][v]
            if into:
                total = sum(
                    (h[src[e]] @ cell.w + ndata["x"][v] * edata["e"][e]) / (k + 1)
                    for k, e in enumerate(into)
                )
                a = a + torch.tanh(total) + sum(ndata["x"][src[e]] for e in into)
            h[v] = torch.tanh(a)
            done.add(v)
    return torch.stack(h)


def by_both(
    graph: dgl.DGLGraph,
    ndata: dict[str, Tensor],
    edata: dict[str, Tensor],
    out: str,
    *functions: Any,
    **options: Any,
) -> list[Tensor]:
    """The column ``out`` by both backends, the only one that may be new."""
    found = []
    for backend in ("levels", "dgl"):
        with graph.local_scope():
            graph.ndata.update(ndata)
            graph.edata.update(edata)
            assert prop_nodes_topo(graph, *functions, backend=backend, **options) is None
            found.append(graph.ndata[out])
            assert {*graph.ndata} == {*ndata, out}
    return found


def compare_backends(graph: dgl.DGLGraph, seed: int) -> None:
    torch.manual_seed(seed)
    cell = Mixing(D).double()
    ndata, edata = mixing_data(graph, seed)
    inputs = [*ndata.values(), *edata.values(), cell.w]
    outs = by_both(graph, ndata, edata, "h", cell.message, cell.reduce, False, cell.update)
    outs.append(by_loops(cell, graph, ndata, edata))
    grads = [gradients(each, inputs) for each in outs]
    for other in (1, 2):
        torch.testing.assert_close(outs[0], outs[other])
        for first, second in zip(grads[0], grads[other]):
            torch.testing.assert_close(first, second)


@given(forests(), st.integers(0, 99))
def test_bottom_up_trees(forest: Forest, seed: int) -> None:
    compare_backends(forest.batch().graph, seed)


@given(forests(), st.integers(0, 99))
def test_top_down_trees(forest: Forest, seed: int) -> None:
    compare_backends(forest.batch().reversed().graph, seed)


@given(acyclic_graphs(), st.integers(0, 99))
def test_acyclic_graphs(world: tuple[int, np.ndarray, np.ndarray], seed: int) -> None:
    compare_backends(graph_of(*world), seed)


@pytest.mark.parametrize(
    "forest", [chain(1), chain(2), chain(60), star(1), star(60)], ids=lambda f: str(f.num_nodes)
)
def test_extreme_shapes(forest: Forest) -> None:
    compare_backends(forest.batch().graph, 0)
    compare_backends(forest.batch().reversed().graph, 0)


@pytest.mark.parametrize("backend", ["levels", "dgl"])
@pytest.mark.filterwarnings("ignore:The input graph for the user-defined edge")
@given(acyclic_graphs(), st.integers(0, 99))
def test_the_edge_types_of_a_heterograph_are_numbers(
    backend: str, world: tuple[int, np.ndarray, np.ndarray], seed: int
) -> None:
    nodes, src, dst = world
    kind = np.random.default_rng(seed).integers(0, 3, len(src))
    ends = {("n", name, "n"): (src[kind == k], dst[kind == k]) for k, name in enumerate("ABC")}
    graph = dgl.heterograph(ends, num_nodes_dict={"n": nodes})
    torch.manual_seed(seed)
    x, u = torch.randn(nodes, D), torch.randn(3, D, D)
    graph.ndata.update(x=x, h=torch.zeros(nodes, D))

    def message(edges: Edges) -> dict[str, Tensor]:
        return {"m": torch.einsum("ec,ecd->ed", edges.src["h"], u[edges.data["etype"]])}

    def apply(nodes: Nodes) -> dict[str, Tensor]:
        return {"h": torch.tanh(nodes.data["x"] + nodes.data["total"])}

    def of_type(k: int) -> tuple[Any, Any]:
        return lambda edges: {"m": edges.src["h"] @ u[k]}, fn.sum("m", "total")

    with graph.local_scope():
        prop_nodes_topo(
            graph, message, fn.sum("m", "total"), apply_node_func=apply, backend=backend
        )
        found = graph.ndata["h"]
        assert all("etype" not in graph.edges[name].data for name in graph.etypes)
    for frontier in topological_nodes_generator(graph):
        part = dgl.in_subgraph(graph, frontier)
        part.multi_update_all({name: of_type(k) for k, name in enumerate("ABC")}, "sum", apply)
        graph.ndata["h"][frontier] = part.ndata["h"][frontier]
    torch.testing.assert_close(found, graph.ndata["h"])


def test_several_types_of_nodes_are_refused() -> None:
    graph = dgl.heterograph({("a", "A", "b"): ([0], [0]), ("b", "B", "b"): ([0], [1])})
    for use in (lambda: prop_nodes_topo(graph, *PAIR), lambda: topological_nodes_generator(graph)):
        with pytest.raises(TreeError, match=r"got 2 \(a, b\); dgl.to_homogeneous\(graph\) makes"):
            use()


def test_a_graph_without_edges_or_without_nodes() -> None:
    compare_backends(dgl.graph(([], []), num_nodes=3), 0)
    graph = dgl.graph(([], []), num_nodes=0)
    graph.ndata["x"] = torch.zeros(0, D)
    prop_nodes_topo(graph, fn.copy_u("x", "m"), fn.sum("m", "x"))
    assert graph.ndata["x"].shape == (0, D)


@pytest.mark.parametrize("reverse", [False, True])
@given(world=acyclic_graphs())
def test_builtin_functions(reverse: bool, world: tuple[int, np.ndarray, np.ndarray]) -> None:
    graph = graph_of(*world)
    gen = torch.Generator().manual_seed(1)
    x, y = torch.randn(2, graph.num_nodes(), D, generator=gen)
    w = torch.randn(graph.num_edges(), 1, generator=gen)
    for message in (
        fn.copy_u("x", "m"),
        fn.copy_e("w", "m"),
        fn.u_mul_e("x", "w", "m"),
        fn.v_sub_u("x", "y", "m"),
        fn.u_dot_v("x", "y", "m"),
        fn.e_add_v("w", "y", "m"),
    ):
        # In reverse DGL gives a node without messages infinity as its maximum.
        for reduce in (fn.sum,) if reverse else (fn.sum, fn.mean, fn.max, fn.min):
            out = "x" if "dot" not in message.name and message.name != "copy_e" else "z"
            functions = (message, reduce("m", out), reverse)
            torch.testing.assert_close(*by_both(graph, {"x": x, "y": y}, {"w": w}, out, *functions))


@given(forests(max_children=2))
def test_builtin_message_with_own_reduce_and_back(forest: Forest) -> None:
    graph = forest.batch().graph
    x = torch.randn(graph.num_nodes(), D, generator=torch.Generator().manual_seed(0))
    pairs = [
        (fn.copy_u("x", "m"), lambda nodes: {"x": nodes.mailbox["m"].sum(1) + nodes.data["x"]}),
        (lambda edges: {"m": edges.src["x"] + 1}, fn.sum("m", "x")),
    ]
    for message, reduce in pairs:
        for apply, slots in ((None, None), (lambda nodes: {"x": nodes.data["x"].tanh()}, 2)):
            options = {"apply_node_func": apply, "slots": slots}
            torch.testing.assert_close(
                *by_both(graph, {"x": x}, {}, "x", message, reduce, **options)
            )


def test_a_tutorial_tree_lstm_runs_unchanged() -> None:
    """Full binary trees, zero initial states, inputs at the leaves only."""
    rng = np.random.default_rng(0)
    parents, offsets = [], [0]
    for _ in range(6):
        parent, open_nodes = [-1], [0]
        for _ in range(int(rng.integers(0, 7))):
            at = open_nodes.pop(int(rng.integers(len(open_nodes))))
            open_nodes += [len(parent), len(parent) + 1]
            parent += [at, at]
        parents += parent
        offsets.append(len(parents))
    graph = Forest.build(parents, offsets=offsets).batch().graph
    torch.manual_seed(0)
    cell = BinaryTreeLSTM(D)
    n = graph.num_nodes()
    x = torch.randn(n, 3 * D) * (graph.in_degrees() == 0)[:, None]
    ndata = {"iou": x, "h": torch.zeros(n, D), "c": torch.zeros(n, D)}
    functions = (cell.message, cell.reduce, False, cell.apply_node)
    found = by_both(graph, ndata, {}, "h", *functions)
    torch.testing.assert_close(*([h, *gradients(h, [*cell.parameters()])] for h in found))


@given(forests(), st.integers(0, 99), st.booleans(), st.sampled_from([None, 3, 5]))
def test_groups_and_slots_mean_the_same_under_both_backends(
    forest: Forest, seed: int, grouped: bool, slots: int | None
) -> None:
    torch.manual_seed(seed)
    batch = forest.batch()
    cell = Mixing(D, "op" if grouped else None, slots).double()
    ndata, edata = mixing_data(batch.graph, seed)
    ndata["op"] = torch.randint(0, 4, (batch.num_nodes,))
    edata["pos"] = batch.edata["pos"]
    inputs = [ndata["x"], edata["e"], *cell.parameters()]
    found = [run_cell(cell, batch, ndata, edata, backend=backend) for backend in ("levels", "dgl")]
    assert [list(f) for f in found] == [["h"], ["h"]]
    torch.testing.assert_close(found[0]["h"], found[1]["h"])
    for first, second in zip(*(gradients(f["h"], inputs) for f in found)):
        torch.testing.assert_close(first, second)


def test_groups_partition_the_nodes_and_are_adjacent() -> None:
    seen = []

    class Watching(Mixing):
        def update(self, nodes: Nodes) -> dict[str, Tensor]:
            assert len({value for value, _ in nodes.groups}) == len(nodes.groups)
            values = nodes.data["op"].tolist()
            expanded = [value for value, count in nodes.groups for _ in range(count)]
            assert values == expanded
            seen.extend(nodes.nodes().tolist())
            return super().update(nodes)

    batch = Forest.concat([star(7), chain(4), star(3)]).batch()
    ndata, edata = mixing_data(batch.graph, 0)
    ndata["op"] = torch.arange(batch.num_nodes) % 3
    run_cell(Watching(D, "op").double(), batch, ndata, edata)
    assert sorted(seen) == list(range(batch.num_nodes))


@pytest.mark.parametrize(
    ("forest", "edata", "expected"),
    [
        (
            Forest.build([-1, 0, 0, 2], pos=[0, 2, 0, 1]),
            None,
            {
                0: ([12.0, 0.0, 11.0], [True, False, True]),
                2: ([0.0, 13.0, 0.0], [False, True, False]),
            },
        ),
        (star(2), {"pos": torch.tensor([1, 0])}, {0: ([12.0, 11.0, 0.0], [True, True, False])}),
    ],
    ids=["batch", "given"],
)
def test_slots_leave_zeros_where_a_child_is_missing(
    forest: Forest, edata: Any, expected: dict[int, Any]
) -> None:
    boxes = {}

    class Slots:
        slots = 3

        def message(self, edges: Edges) -> dict[str, Tensor]:
            return {"m": edges.src["x"]}

        def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
            for node, box, mask in zip(nodes.nodes().tolist(), nodes.mailbox["m"], nodes.mask):
                boxes[node] = (box.tolist(), mask.tolist())
            return {"y": nodes.mailbox["m"].sum(1)}

        def update(self, nodes: Nodes) -> dict[str, Tensor]:
            return {"y": nodes.data.get("y", nodes.data["x"])}

    x = torch.arange(10.0, 10.0 + forest.num_nodes)
    for backend in ("levels", "dgl"):
        boxes.clear()
        run_cell(Slots(), forest.batch(), {"x": x}, edata, backend=backend)
        assert boxes == expected


@pytest.mark.parametrize("backend", ["levels", "dgl"])
def test_slots_refuse_what_they_cannot_hold(backend: str) -> None:
    forest = Forest.concat([chain(2), star(4)])
    cell = Mixing(D, slots=3)
    batch = forest.batch()
    data = {"x": torch.zeros(7, D), "h": torch.zeros(7, D)}
    with pytest.raises(
        TreeError,
        match=r"tree 1, node 0: expected child positions from 0 to 2 .*got 3; increase max_ch",
    ):
        run_cell(cell, batch, data, {**batch.edata, "e": torch.zeros(5, D)}, backend=backend)
    edata = {"pos": torch.zeros(5, dtype=torch.long), "e": torch.zeros(5, D)}
    twice = TreeBatch(batch.src, batch.dst, batch.sizes, edata=edata)
    with pytest.raises(
        TreeError, match="tree 1, node 0: expected each child position once, got 0 twice"
    ):
        run_cell(cell, twice, data, backend=backend)
    without = TreeBatch(batch.src, batch.dst, batch.sizes)
    with pytest.raises(TreeError, match="expected edge data 'pos'"):
        run_cell(cell, without, data, backend=backend)


@pytest.mark.parametrize("backend", ["levels", "dgl"])
@pytest.mark.parametrize(
    ("src", "dst"), [([0, 1], [1, 0]), ([0, 1, 2, 0], [1, 2, 1, 2]), ([0, 1, 2, 0], [1, 2, 0, 3])]
)
def test_a_cycle_is_refused(backend: str, src: list[int], dst: list[int]) -> None:
    graph = dgl.batch([dgl.graph(([0], [1])), dgl.graph((src, dst), num_nodes=5)])
    graph.ndata["x"] = torch.zeros(7, 1)
    expected = (
        r"tree 1, node [0-3]: expected a graph without cycles, got the cycle [0-3] -> .*; remove"
    )
    with pytest.raises(TreeError, match=expected):
        prop_nodes_topo(graph, fn.copy_u("x", "m"), fn.sum("m", "x"), backend=backend)


@pytest.mark.parametrize(
    ("src", "dst", "text"),
    [
        ([0, 1, 1], [1, 0, 2], "tree 0, node 0: expected a graph without cycles, got the cycle 0 "),
        ([0, 1], [1, 1], "node 1: expected a graph without cycles, got an edge from this node to"),
        (
            [*range(99)],
            [*range(1, 99), 0],
            "the cycle 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> (91 more) -> 0",
        ),
    ],
)
def test_a_cycle_has_no_frontiers(src: list[int], dst: list[int], text: str) -> None:
    for reverse in (False, True):
        with pytest.raises(TreeError, match=re.escape(text)) as error:
            topological_nodes_generator(dgl.graph((src, dst)), reverse)
        assert "\n" not in str(error.value)


class Size:
    """The number of nodes below each node, itself included."""

    def message(self, edges: Edges) -> dict[str, Tensor]:
        return {"m": edges.src["n"]}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        return {"below": nodes.mailbox["m"].sum(1)}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        one = torch.ones(nodes.batch_size())
        return {"n": one + nodes.data["below"] if "below" in nodes.data else one}


@pytest.mark.parametrize("backend", ["levels", "dgl"])
def test_a_cell_needs_no_fields_from_before(backend: str) -> None:
    batch = Forest.build([-1, 0, 0, 1, 1, -1, 0], offsets=[0, 5, 7]).batch()
    assert run_cell(Size(), batch, {}, backend=backend)["n"].tolist() == [5, 3, 1, 1, 1, 2, 1]


def test_a_function_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a message function .* got 3"):
        prop_nodes_topo(star(2).batch(), 3, fn.sum("m", "x"))
    with pytest.raises(
        TypeError, match="expected a reduce function .* got <dgl.function.message.Copy"
    ):
        prop_nodes_topo(star(2).batch(), fn.copy_u("x", "m"), fn.copy_u("m", "x"))


def test_a_message_that_is_not_there_is_named() -> None:
    batch = star(2).batch()
    batch.ndata["x"] = torch.zeros(batch.num_nodes, 1)
    with pytest.raises(KeyError, match=r"missing message 'q'; the messages are \['m'\]"):
        prop_nodes_topo(batch, fn.copy_u("x", "m"), fn.sum("q", "x"))


def test_reverse_reads_what_nodes_were_before() -> None:
    """Edges are not turned: each node adds what its children were, not what they become."""
    for backend in ("levels", "dgl"):
        graph = chain(4).batch().graph
        graph.ndata["x"] = torch.tensor([[1.0], [10.0], [100.0], [1000.0]])
        prop_nodes_topo(
            graph,
            fn.copy_u("x", "m"),
            lambda nodes: {"x": nodes.data["x"] + nodes.mailbox["m"].sum(1)},
            True,
            backend=backend,
        )
        assert graph.ndata["x"][:, 0].tolist() == [11.0, 110.0, 1100.0, 1000.0]


def test_views_offer_ids_and_sizes() -> None:
    batch = star(2).batch()
    seen = {}

    def message(edges: Edges) -> dict[str, Tensor]:
        seen["edges"] = [ends.tolist() for ends in edges.edges()]
        assert edges.batch_size() == 2
        assert set(edges.src) == {"x"}
        assert len(edges.data) == 1
        return {"m": edges.src["x"]}

    def reduce(nodes: Nodes) -> dict[str, Tensor]:
        seen["nodes"] = nodes.nodes().tolist()
        assert nodes.batch_size() == 1
        assert nodes.msgs is nodes.mailbox
        with pytest.raises(KeyError, match=r"missing field 'z'; the fields are \['x'\]"):
            nodes.data["z"]
        return {"x": nodes.mailbox["m"].sum(1)}

    batch.ndata["x"] = torch.ones(3, 1)
    prop_nodes_topo(batch, message, reduce)
    assert seen == {"edges": [[1, 2], [0, 0], [0, 1]], "nodes": [0]}
    assert batch.ndata["x"][:, 0].tolist() == [2.0, 1.0, 1.0]


def test_fields_that_change_shape_or_name_are_refused() -> None:
    batch = chain(4).batch()
    batch.ndata["x"] = torch.ones(4, 2)
    with pytest.raises(ValueError, match=r"'x' to keep its shape \(2,\) per node, got \(4,\)"):
        prop_nodes_topo(
            batch,
            fn.copy_u("x", "m"),
            lambda nodes: {"x": nodes.mailbox["m"].repeat(1, 1, 2)[:, 0]},
        )
    names = iter("abc")
    with pytest.raises(
        ValueError, match=r"every level to return the fields \['a'\], got \['b'\] at level 2"
    ):
        prop_nodes_topo(
            batch, fn.copy_u("x", "m"), lambda nodes: {next(names): nodes.mailbox["m"].sum(1)}
        )


@pytest.mark.parametrize("backend", ["levels", "dgl"])
def test_a_batch_of_no_trees(backend: str) -> None:
    forest = chain(3)
    batch = forest.batch([])
    data = {"x": torch.zeros(0, D), "h": torch.zeros(0, D), "op": torch.zeros(0, dtype=torch.long)}
    edata = {"e": torch.zeros(0, D), **batch.edata}
    for cell in (Mixing(D), Mixing(D, None, 3)):
        found = run_cell(cell, batch, data, edata, backend=backend, outputs=["h"])
        assert found["h"].shape == (0, D)


def test_what_is_written_later_is_seen() -> None:
    """Groups and positions that change after a schedule was made, in place or not."""
    batch = Forest.concat([star(4), chain(3)]).batch()
    torch.manual_seed(0)
    cell = Mixing(D, "op", 4).double()
    ndata, edata = mixing_data(batch.graph, 0)
    batch.ndata.update(ndata, op=torch.zeros(batch.num_nodes, dtype=torch.long))
    batch.edata.update(edata)
    moved = batch.to("cpu")

    def check(batch: TreeBatch) -> None:
        found = [
            run_cell(cell, batch, batch.ndata, backend=backend)["h"]
            for backend in ("levels", "dgl")
        ]
        torch.testing.assert_close(*found)

    for each in (batch, moved, batch.with_data(batch.ndata)):
        check(each)
        each.ndata["op"] = torch.arange(batch.num_nodes) % 4
        check(each)
        each.ndata["op"] += 1
        each.ndata["op"] %= 4
        check(each)
        each.edata["pos"] = batch.edata["pos"].flip(0).clamp(max=3)
        each.edata["pos"][:4] = torch.tensor([2, 0, 3, 1])
        check(each)
        each.edata["pos"][:4] = torch.tensor([3, 1, 0, 2])
        check(each)


def test_a_batch_and_its_graph_agree_after_prop_nodes_topo() -> None:
    batch = chain(3).batch()
    batch.ndata["x"] = torch.ones(3)
    graph = batch.graph
    prop_nodes_topo(
        batch, fn.copy_u("x", "m"), lambda nodes: {"x": nodes.data["x"] + nodes.mailbox["m"].sum(1)}
    )
    assert batch.ndata["x"].tolist() == graph.ndata["x"].tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize("backend", ["levels", "dgl"])
def test_functions_may_write_to_what_they_see(backend: str) -> None:
    """As in DGL, what is written is seen by the rest of the function, and not kept."""
    batch = chain(3).batch()
    batch.ndata["x"] = torch.ones(3)

    def reduce(nodes: Nodes) -> dict[str, Tensor]:
        assert len(nodes) == 1
        assert nodes.ntype == "_N"
        nodes.data["x"] = nodes.data.pop("x") * 10
        nodes.data["y"] = nodes.mailbox["m"].mul_(2).sum(1)
        return {"x": nodes.data["x"] + nodes.data["y"]}

    def message(edges: Edges) -> dict[str, Tensor]:
        assert len(edges) in (0, 1)
        return {"m": edges.src["x"]}

    prop_nodes_topo(batch, message, reduce, backend=backend)
    assert batch.ndata["x"].tolist() == [34.0, 12.0, 1.0]
    assert set(batch.ndata) == {"x"}


@pytest.mark.parametrize("slots", [None, 5])
@pytest.mark.parametrize("learns", [False, True])
def test_functions_may_change_tensors_in_place(learns: bool, slots: int | None) -> None:
    """They see copies, as in DGL."""

    def message(edges: Edges) -> dict[str, Tensor]:
        return {"h": edges.src["h"].mul_(2) + edges.dst["x"].mul_(3)}

    def reduce(nodes: Nodes) -> dict[str, Tensor]:
        return {"below": nodes.data["x"].add_(nodes.mailbox["h"].mul_(2).sum(1))}

    def update(nodes: Nodes) -> dict[str, Tensor]:
        return {"h": nodes.data["x"].add_(nodes.data["below"].mul_(2)).tanh()}

    graph = Forest.build([-1, 0, 0, 1, 1, 1, -1, 0], offsets=[0, 6, 8]).batch().graph
    x = torch.randn(8, D, requires_grad=learns)
    ndata = {"x": x, "h": torch.zeros(8, D), "below": torch.zeros(8, D)}
    found = by_both(graph, ndata, {}, "h", message, reduce, False, update, slots=slots)
    torch.testing.assert_close(*found)
    if learns:
        torch.testing.assert_close(*(gradients(h, [x]) for h in found))


def test_a_cell_without_update_is_refused() -> None:
    class Old:
        def message(self, edges: Edges) -> dict[str, Tensor]:
            return {}

        def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
            return {}

        def apply(self, nodes: Nodes) -> dict[str, Tensor]:
            return {}

    with pytest.raises(ConfigError, match="got Old without update; DGL's apply_node_func is"):
        run_cell(Old(), Forest.build([-1, 0]).batch(), {})


@pytest.mark.parametrize(
    ("cell", "x", "message"),
    [
        (ChildSumTreeLSTM, torch.zeros(2, 3), "the class ChildSumTreeLSTM; write ChildSumTreeLSTM"),
        (ChildSumTreeLSTM(3, 4), [[0.0] * 3] * 2, "'x' as a tensor, got list; torch.as_tensor"),
    ],
)
def test_classes_and_lists_are_refused(cell: Any, x: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run_cell(cell, Forest.build([-1, 0]).batch(), {"x": x})


def test_a_cell_takes_no_other_function() -> None:
    batch, cell = Forest.build([-1, 0]).batch(), ChildSumTreeLSTM(2, 3)
    for options in ({"reverse": True}, {"slots": 2}, {"apply_node_func": cell.update}):
        with pytest.raises(ConfigError, match="expected only a cell, or both message_func and"):
            prop_nodes_topo(batch, cell, **options)


# Of a frontier without edges.
@pytest.mark.filterwarnings("ignore:The input graph for the user-defined edge")
@pytest.mark.parametrize(
    ("pos", "message"),
    [
        (torch.tensor([0, 2]), "^node 0: expected child positions from 0 to 1 .* got 2"),
        (torch.tensor([1, 1]), "^node 0: expected each child position once, got 1 twice"),
        (None, "expected edge data 'pos', the position of each child"),
    ],
)
def test_wrong_positions_under_dgl(pos: torch.Tensor | None, message: str) -> None:
    cell = NaryTreeLSTM(2, 3, 2)
    graph = dgl.graph(([1, 2], [0, 0]))
    graph.ndata["x"] = torch.zeros(3, 2)
    if pos is not None:
        graph.edata["pos"] = pos
    graph.ndata.update(cell.prepare(graph.ndata))
    with pytest.raises(TreeError, match=message):
        dgl.prop_nodes_topo(graph, cell.message, cell.reduce, apply_node_func=cell.update)

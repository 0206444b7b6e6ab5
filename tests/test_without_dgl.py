"""What works where DGL cannot be imported, as on a Python that it has no wheels for."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from dgltrees import TreeBatch, run_cell, topological_nodes_generator
from dgltrees._dgl import need_dgl
from dgltrees.traversal.order import by_frontiers
from tests.gpu.worlds import WORLDS
from tests.worlds import acyclic_graphs

ROOT = Path(__file__).parents[1]

CODE = """
import sys
sys.modules["dgl"] = None  # importing it raises

import torch
from dgltrees import ConfigError, prop_nodes_topo, run_cell, topological_nodes_generator
from dgltrees.cli import main
from tests.gpu.worlds import WORLDS

main(["presets"])
encoded = {}
for world in WORLDS:
    if world.name in sys.argv[2:]:
        cell, batch = world.make()
        encoded[world.name] = run_cell(cell, batch, batch.ndata)["h"].detach()
torch.save(encoded, sys.argv[1])
print(sum(map(len, topological_nodes_generator(batch))) == batch.num_nodes)
for use in (
    lambda: run_cell(cell, batch, batch.ndata, backend="dgl"),
    lambda: batch.graph,
    lambda: prop_nodes_topo(batch, object(), object()),
):
    try:
        use()
    except ConfigError as error:
        print(error)
"""


def test_trees_and_graphs_are_encoded_all_the_same(tmp_path: Path) -> None:
    names = ["lstm-hosvd-3", "child_sum on a graph"]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE, str(tmp_path / "encoded.pt"), *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    encoded = torch.load(tmp_path / "encoded.pt")
    for world in WORLDS:
        if world.name in names:
            cell, batch = world.make()
            h = run_cell(cell, batch, batch.ndata, backend="dgl")["h"]
            assert_close(encoded.pop(world.name), h.detach())
    assert not encoded
    users = ["backend 'dgl'", "TreeBatch.graph", "a built-in message function"]
    has_frontiers, *messages = done.stdout.splitlines()[-len(users) - 1 :]
    assert has_frontiers == "True"
    for user, message in zip(users, messages):
        assert message.startswith(f"{user} needs DGL, and importing it failed: ModuleNotFoundError")
        assert re.search(r"pip install (.dgl>=1.1.3,<2. packaging|dgl==2.1.0)\.", message)


@given(acyclic_graphs(), st.booleans())
def test_frontiers_of_a_graph_are_those_of_dgl(
    world: tuple[int, np.ndarray, np.ndarray], reverse: bool
) -> None:
    nodes, src, dst = world
    dgl = need_dgl("the reference")
    graph = dgl.graph((torch.from_numpy(src), torch.from_numpy(dst)), num_nodes=nodes)
    expected = [each.tolist() for each in dgl.topological_nodes_generator(graph, reverse)]
    ends = (dst, src) if reverse else (src, dst)
    for found in (
        by_frontiers(*ends, nodes),
        topological_nodes_generator(graph, reverse),
        topological_nodes_generator(TreeBatch.from_graph(graph), reverse),
    ):
        assert [each.tolist() for each in found] == expected
    assert topological_nodes_generator(graph.int())[0].dtype == torch.int32


def test_a_cycle_is_in_no_frontier() -> None:
    src, dst = np.array([0, 1, 2, 1, 4]), np.array([1, 2, 1, 3, 0])
    assert [each.tolist() for each in by_frontiers(src, dst, 5)] == [[4], [0]]

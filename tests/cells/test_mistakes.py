"""What a cell says of inputs that it cannot read, and DGL's own traversal of a cell."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest
import torch

from dgltrees import ConfigError, Forest, TreeError, prop_nodes_topo, run_cell
from dgltrees._dgl import dgl
from dgltrees.cells import BaseCell, make_cell
from tests.cells.table import ONE_OF_EACH, Row

FOREST = Forest.build([-1, 0, 0, 1])
X = torch.ones(4, 2)
CELL = make_cell("child_sum", input_size=2, hidden_size=3)


def by_dgl(cell: BaseCell) -> None:
    graph = FOREST.batch().graph
    graph.ndata["x"] = X
    dgl.prop_nodes_topo(graph, cell.message, cell.reduce, apply_node_func=cell.update)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: CELL(FOREST), r"missing node field 'x' of shape \(N, 2\), .* fields are \[\]"),
        (lambda: CELL(FOREST, X[:, :1]), r"'x' to have the shape \(N, 2\), got \(4, 1\); input_si"),
        (lambda: CELL(FOREST, X.double()), "'x' to be torch.float32, .* got torch.float64; use x"),
        (lambda: CELL(FOREST, X.long()), r"'x' to be torch.float32, .* got torch.int64; use x.to"),
        (lambda: CELL(FOREST, X.numpy()), r"x to be a tensor, got ndarray; .* torch.as_tensor"),
        (lambda: CELL(FOREST, X, op=X), "the inputs of ChildSumTreeLSTM, x, got op"),
        (lambda: CELL(dgl.graph(([0, 1], [1, 0])), X[:2]), "expected a graph without cycles"),
        (
            lambda: make_cell("nary", input_size=2, hidden_size=3, max_children=2)(
                dgl.graph(([1, 2], [0, 0])), X[:3]
            ),
            r"expected edge data 'pos', .* got edge data \[\]; set edata\['pos'\]",
        ),
        (lambda: CELL(nx.DiGraph([(1, 0)]), X[:2]), "expected a DGLGraph .*, got DiGraph; build"),
        (lambda: prop_nodes_topo(FOREST, CELL), r"got Forest; .* forest.batch\(\) a TreeBatch"),
        (
            lambda: run_cell(CELL, dgl.heterograph({("a", "of", "b"): ([0], [0])})),
            "expected one type of nodes, got 2",
        ),
        (
            lambda: by_dgl(CELL),
            r"update reads a missing field 'wx'; before DGL.* graph.ndata.update",
        ),
    ],
)
# Of a frontier without edges.
@pytest.mark.filterwarnings("ignore:The input graph for the user-defined edge")
def test_a_mistake_is_one_line(run: Callable[[], Any], message: str) -> None:
    with pytest.raises((TreeError, ConfigError), match=message):
        run()


@pytest.mark.parametrize("row", ONE_OF_EACH, ids=str)
def test_inputs_of_another_type(row: Row) -> None:
    """They are refused before any product."""
    cell = row.make()
    with pytest.raises(TreeError, match="'x' to be torch.float64, .* got torch.float32"):
        cell.check({"x": torch.ones(4, cell.input_size), "op": torch.zeros(4, dtype=torch.long)})

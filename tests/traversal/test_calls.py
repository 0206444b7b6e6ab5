"""What a cell that is not right yet is told: the function, and what is wrong with it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from dgltrees import ConfigError, Forest, TreeError, prop_nodes_topo, run_cell
from dgltrees.cells import BaseCell, make_cell
from dgltrees.traversal import Nodes

FOREST = Forest.build([-1, 0, 0, 1])
X = torch.ones(4, 2)


def mean(nodes: Nodes) -> dict[str, Tensor]:
    return {"s": nodes.mailbox["h"].mean(1)}


def add(nodes: Nodes) -> dict[str, Tensor]:
    return {"h": nodes.data["x"] + nodes.data["s"] if "s" in nodes.data else nodes.data["x"]}


class Faulty(BaseCell):
    """A cell of functions that a test gives it."""

    def __init__(self, *, group_by: str | None = None, **functions: Callable[..., Any]) -> None:
        super().__init__(2, 2)
        self.group_by = group_by
        self.functions = {"reduce": mean, "update": add, **functions}

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self.functions["prepare"](ndata) if "prepare" in self.functions else {}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        return self.functions["reduce"](nodes)

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        return self.functions["update"](nodes)


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        (
            "update",
            lambda nodes: {"h": nodes.data["s"]},
            r"Faulty.update reads a missing field 's'; the fields are \['x'\]; reduce is not "
            "called for nodes without children: test for its fields",
        ),
        (
            "update",
            lambda nodes: nodes.data["x"],
            r"expected Faulty.update to return a dictionary of fields, such as \{'h': states\}, "
            "got Tensor",
        ),
        (
            "update",
            lambda nodes: {"h": nodes.data["x"][:1]},
            r"Faulty.update to return the field 'h' with 2 rows, as many .* shape \(1, 2\)",
        ),
        ("update", lambda nodes: {"h": 1.0}, "field 'h' with 2 rows, .*, got float"),
        ("update", lambda nodes: {"h": X.detach().numpy()}, "with 2 rows, .* got ndarray"),
        ("update", lambda nodes: {"h": torch.tensor(1.0)}, r"'h' with 2 rows, .* shape \(\)"),
        (
            "reduce",
            lambda nodes: {"s": nodes.mailbox["h"].mean(0)},
            r"Faulty.reduce to return the field 's' with 1 rows, .* got shape \(2, 2\)",
        ),
        (
            "reduce",
            lambda nodes: {"s": nodes.mailbox["c"]},
            r"Faulty.reduce reads a missing message 'c'; the messages are \['h'\]",
        ),
        (
            "update",
            lambda nodes: {"h": nodes.mailbox["h"]},
            "Faulty.update reads a missing message 'h'; there are no messages",
        ),
        (
            "reduce",
            lambda nodes: {f"s{nodes.mailbox['h'].shape[1]}": nodes.mailbox["h"].mean(1)},
            None,
        ),
        ("prepare", lambda ndata: None, "Faulty.prepare to return a dictionary .*, got NoneType"),
        (
            "prepare",
            lambda ndata: {"w": X[:3]},
            "Faulty.prepare to return the field 'w' with [24] r",
        ),
        ("prepare", lambda ndata: {"w": ndata["z"]}, "Faulty.prepare reads a missing field 'z'"),
    ],
)
@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_function_that_is_wrong_is_named(
    name: str, function: Callable[..., Any], message: str | None, checkpoint: bool
) -> None:
    cell = Faulty(**{name: function})
    if message is None:  # one mailbox for each number of children
        forest = Forest.concat([Forest.build([-1, 0]), Forest.build([-1, 0, 0])])
        message, x = r"every call of a level to return the fields \['s1'\], got \['s2'\]", X[:1]
        x = torch.ones(forest.num_nodes, 2)
    else:
        forest, x = FOREST, X
    with pytest.raises(ValueError, match=message):
        run_cell(cell, forest.batch(), {"x": x}, activation_checkpointing=checkpoint)


def test_a_field_that_is_not_there_is_one_line_for_the_command_line_and_a_key_error() -> None:
    cell = Faulty(update=lambda nodes: {"h": nodes.data["s"]})
    for kind in (ConfigError, KeyError):
        with pytest.raises(kind, match=r"^Faulty.update reads"):
            cell(FOREST, X)


@pytest.mark.parametrize("backend", ["levels", "dgl"])
@pytest.mark.parametrize("cell", [Faulty(), make_cell("child_sum", input_size=2, hidden_size=2)])
def test_fields_of_other_numbers_of_rows(cell: BaseCell, backend: str) -> None:
    message = "expected the node field 'x' to have 4 rows, one per node, got 3"
    with pytest.raises(TreeError, match=message):
        run_cell(cell, FOREST.batch(), {"x": X[:3]}, backend=backend)
    with pytest.raises(TreeError, match="'x' to have 4 rows, one per node, got a single number"):
        run_cell(cell, FOREST.batch(), {"x": torch.tensor(1.0)}, backend=backend)
    with pytest.raises(ConfigError, match=rf"outputs that {type(cell).__name__} returns, got 'x'"):
        run_cell(cell, FOREST.batch(), {"x": X}, outputs=["h", "x"], backend=backend)
    with pytest.raises(ConfigError, match=r"fields of nodes as a dictionary, .* got Tensor"):
        run_cell(cell, FOREST.batch(), X, backend=backend)  # type: ignore[arg-type]
    batch = FOREST.batch()
    with pytest.raises(TreeError, match="expected the edge field 'e' to have 3 rows, one per edge"):
        run_cell(cell, batch, {"x": X}, {"e": X}, backend=backend)


@pytest.mark.parametrize("backend", ["levels", "dgl"])
def test_a_field_to_group_by_that_is_not_there(backend: str) -> None:
    message = r"integer node field 'op' .* nodes of Faulty.reduce are grouped, got \['x'\]"
    with pytest.raises(TreeError, match=message):
        run_cell(Faulty(group_by="op"), FOREST.batch(), {"x": X}, backend=backend)


def test_functions_without_a_class_have_their_name() -> None:
    batch = FOREST.batch()
    batch.ndata["x"] = X

    def message(edges: Any) -> Any:
        return edges.src["x"]

    with pytest.raises(ConfigError, match="expected message to return a dictionary"):
        prop_nodes_topo(batch, message, mean)

"""Options of the cells: dropout, layer normalisation, initialisation; and what is refused."""

import re
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from dgltrees import ConfigError, Forest, TreeError
from dgltrees.cells import AGGREGATORS, CELLS, BaseCell, Score, TreeLSTM, make_cell
from dgltrees.cells.aggregators import FactorisedAggregator
from dgltrees.cells.child_gate import ChildGate
from dgltrees.settings import Options, options_of
from dgltrees.traversal import Nodes, run_cell
from tests.cells.table import OF_MODELS, ONE_OF_EACH, Row

SIZES = {"input_size": 3, "hidden_size": 2, "max_children": 2}


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def lstm(**options: Any) -> BaseCell:
    return make_cell("lstm", **{**SIZES, **options})


def ranks(aggregator: str, rank: int | None) -> dict[str, Any]:
    """The rank of an aggregator that has one."""
    has_rank = issubclass(AGGREGATORS[aggregator], FactorisedAggregator)
    return {"rank": rank} if has_rank else {}


@pytest.mark.parametrize("row", [row for row in ONE_OF_EACH if row.up], ids=str)
def test_dropout_changes_training_alone(row: Row) -> None:
    cell, plain = row.make(dropout=0.5), row.make()
    forest = Forest.build([-1, 0, 0, 1])
    ndata = {"x": torch.randn(4, 3).double()}
    assert_close(run_cell(cell, forest.batch(), ndata), run_cell(plain, forest.batch(), ndata))
    cell.train()
    torch.manual_seed(1)
    one = run_cell(cell, forest.batch(), ndata)["h"]
    two = run_cell(cell, forest.batch(), ndata)["h"]
    assert (one - two).abs().max() > 0


def test_dropout_spares_the_memory() -> None:
    """With every update dropped, what the children's memories hold is still passed on."""
    cell = Row("lstm", {"aggregator": "sum"}).make(dropout=0.999999).train()
    forest, x = Forest.build([-1, 0]), torch.randn(2, 3).double()
    batch = forest.batch()
    with torch.no_grad():
        assert_close(run_cell(cell, batch, {"x": x})["c"], torch.zeros(2, 2).double())
        f = torch.sigmoid(x[0] @ cell.child_gate.W + cell.child_gate.b[0, 0, 0])
        c = torch.randn(1, 1, 2).double()

        mailbox = {"h": torch.zeros(1, 3, 2).double(), "c": torch.cat([c, 0 * c, 0 * c], 1)}
        fields = cell.prepare({"x": x[:1]})  # one node whose child has the memory c, the state 0
        mask = torch.tensor([[True, False, False]])
        kept = cell.reduce(Nodes(torch.tensor([0]), fields, mailbox, None, mask))
        made = cell.update(Nodes(torch.tensor([0]), {**fields, **kept}, {}))
        assert_close(made["c"], f * c[0])


@pytest.mark.parametrize("name", AGGREGATORS)
def test_without_children_the_constants_are_left_at_first(name: str) -> None:
    """Sums start at zero; products, whose absent children are neutral, at Q (1, .., 1)."""
    f = AGGREGATORS[name](3, 4, 2, **ranks(name, 2))
    h = torch.randn(5, 3, 4)
    alone = h.clone()
    alone[:, 1:] = 0.0
    nothing = f.Q[0].sum(1) if f.bias_init else torch.zeros(2, 4)
    assert_close(f(torch.zeros_like(h)), nothing.expand(5, 2, 4))
    assert (f(alone) - nothing).abs().max() > 0  # one child is enough to be seen


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": "relu"}, "activation to be one of tanh, sigmoid, got 'relu'"),
        ({"init": "normal"}, "init to be one of kaiming, xavier, uniform, got"),
        ({"aggregator": "mean"}, "aggregator to be one of sum, full, hosvd, "),
        (
            {"rank": 3},
            "TreeLSTM with aggregator 'sum' has no argument 'rank'; there are input_size",
        ),
        ({"label": "mode"}, "TreeLSTM with aggregator 'sum' has no argument 'label'; there are"),
        ({"aggregator": "hosvd", "rnk": 3}, "no argument 'rnk'; did you mean rank?"),
        ({"aggregator": "full", "operators": 2, "label": "add"}, "label='add' with 2 operators"),
        ({"max_child": 2}, "no argument 'max_child'; did you mean max_children?"),
    ],
)
def test_refused_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        TreeLSTM(**{**SIZES, **options})


def test_make_cell_says_what_is_missing() -> None:
    with pytest.raises(ConfigError, match=r"missing nary.max_children \(integer of at least 1\)"):
        make_cell("nary", input_size=3, hidden_size=2)
    with pytest.raises(ConfigError, match=r"missing lstm.rank \(integer of at least 1\)"):
        make_cell("lstm", **SIZES, aggregator="hosvd")
    with pytest.raises(ConfigError, match=r"nary.rank has no effect in nary; there are nary.inp"):
        make_cell("nary", **SIZES, rank=2)
    with pytest.raises(ConfigError, match="one of rnn, lstm, .*, nti_attention, got 'lstn'"):
        make_cell("lstn")


@pytest.mark.parametrize(
    "kind",
    [*CELLS.values(), *OF_MODELS.values(), *AGGREGATORS.values(), ChildGate, Score],
    ids=lambda kind: kind.__name__,
)
def test_every_argument_has_a_sentence(kind: type[torch.nn.Module]) -> None:
    for name, option in options_of(kind).items():
        assert option.sentence.endswith("."), name
        assert len(option.sentence) > 12, name
        assert ":class:" not in option.sentence, name
        assert ":data:" not in option.sentence, name


def test_a_cell_reads_the_arguments_of_its_aggregator() -> None:
    read = set(Options(TreeLSTM, {"aggregator": "hosvd", "rank": 2}, "cell"))
    assert read == {*options_of(TreeLSTM), "rank", "label", "bias"}
    assert set(Options(TreeLSTM, {}, "cell")) == {*options_of(TreeLSTM)}
    assert options_of(TreeLSTM)["aggregator"].choices == AGGREGATORS


WIDE: dict[str, Any] = {"max_children": 32, "hidden_size": 20, "operators": 4}
LARGE: dict[str, Any] = {"hidden_size": 20_000}


@pytest.mark.parametrize(
    ("aggregator", "rank", "sizes", "message"),
    [
        ("full", None, WIDE, "L = 32, c = 20 needs 21^32 * 20 entries in each of 3 gates and 4 t"),
        ("hosvd", 3, WIDE, "L = 32, r = 3 needs a core of 4^32 * 3 entries in each of 3 gates and"),
        ("symmetric_hosvd", 9, WIDE, "L = 32, r = 9 needs a core of 1 * (41 over 32) * 9 entries"),
        # beyond floats
        (
            *("full", None, {"max_children": 250, "hidden_size": 20}),
            "L = 250, c = 20 needs 4 * 21^250 * 20 entries in each of 3 gates",
        ),
        (
            *("full", None, {"max_children": 100_000, "hidden_size": 20}),
            "types (about 10^132216 GiB in float32), over the limit of 4 GiB;",
        ),
        (
            *("hosvd", 3, {"max_children": 700, "hidden_size": 20}),
            "L = 700, r = 3 needs a core of 4^701 * 3 entries",
        ),
        ("sum", None, LARGE, "L = 2, c = 20000 needs 2 * 20000^2 entries in each of 3 gates and 1"),
        ("shared_sum", None, LARGE, "c = 20000 needs 20000^2 entries"),
        ("canonical", 10**6, LARGE, "c = 20000, r = 1000000 needs 2 * 20000 * 1000000 entries"),
        ("tensor_train", 1000, LARGE, "c = 20000, r = 1000 needs 1 * 20000 * 1000^2 entries"),
    ],
)
def test_parameters_too_large_are_refused(
    aggregator: str, rank: int | None, sizes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        lstm(**sizes, aggregator=aggregator, **ranks(aggregator, rank))
    cure = "over the limit of 4 GiB; choose a smaller hidden size or rank"
    assert cure in str(caught.value)


@pytest.mark.parametrize(("cell", "children"), [("lstm", 3), ("nary", 2)])
def test_gates_too_large_are_refused(cell: str, children: int) -> None:
    few = {"aggregator": "canonical", "rank": 1} if cell == "lstm" else {}
    with pytest.raises(ConfigError, match=r"needs \d.* \* 20000\^2 entries in each of 1 gates"):
        make_cell(cell, input_size=1, hidden_size=20_000, max_children=children, **few)


@pytest.mark.parametrize("init", ["kaiming", "xavier"])
def test_a_fan_in_beyond_floats(init: str) -> None:
    """2^1100 inputs of a symmetric core whose entries are 1101."""
    f = AGGREGATORS["symmetric_hosvd"](1100, 1, rank=1, init=init)
    assert f.core.shape == (1, 1, 1101, 1)
    assert_close(f.core, torch.zeros_like(f.core))


@pytest.mark.parametrize("aggregator", ["sum", "canonical", "tensor_train", "symmetric_hosvd"])
def test_32_children_fit_into_the_others(aggregator: str) -> None:
    cell = lstm(max_children=32, hidden_size=20, aggregator=aggregator, **ranks(aggregator, 2))
    forest = Forest.build([-1] + [0] * 32)
    h = run_cell(cell, forest.batch(), {"x": torch.randn(33, 3)})["h"]
    assert torch.isfinite(h).all()


def test_the_input_is_checked() -> None:
    batch = Forest.build([-1, 0]).batch()
    with pytest.raises(TreeError, match=r"missing node field 'x' of shape .N, 3., the"):
        run_cell(lstm(), batch, {})
    with pytest.raises(TreeError, match=re.escape("'x' to have the shape (N, 3), got (2, 4)")):
        run_cell(lstm(), batch, {"x": torch.zeros(2, 4)})
    with pytest.raises(TreeError, match="integer node field 'op' of shape .* got torch.float32"):
        run_cell(lstm(operators=2), batch, {"x": torch.zeros(2, 3), "op": torch.zeros(2)})


@pytest.mark.parametrize("backend", ["levels", "dgl"])
@pytest.mark.parametrize("aggregator", ["sum", "full"])
def test_an_unknown_operator_is_refused(aggregator: str, backend: str) -> None:
    batch = Forest.build([-1, 0, -1, 0, 1], offsets=[0, 2, 5]).batch()
    ndata = {"x": torch.zeros(5, 3), "op": torch.tensor([0, -1, 1, 5, -1])}
    for compiled in (False, True):
        with pytest.raises(TreeError, match=r"^tree 1, node 1: expected an operator .* got 5"):
            cell = lstm(operators=2, aggregator=aggregator)
            run_cell(cell, batch, ndata, backend=backend, compile=compiled)


def test_a_gate_without_label_has_nothing_to_embed() -> None:
    with pytest.raises(ConfigError, match="a gate with a label, got label_size=0"):
        ChildGate(2, 3).embed(torch.zeros(1, 1))


def test_too_many_children_are_refused() -> None:
    batch = Forest.build([-1, 0, 0, 0]).batch()
    message = "^tree 0, node 0: expected child positions from 0 to 1 .* got 2; increase max_ch"
    with pytest.raises(TreeError, match=message):
        run_cell(lstm(), batch, {"x": torch.zeros(4, 3)})


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("options", [{}, {"operators": 2}, {"layer_norm": True}])
@pytest.mark.parametrize("parent", [[-1, 0, 0, 0, 3, 3, 0], [-1, *[0] * 40]])
def test_a_shared_sum_takes_any_number_of_children(
    cell: str, options: dict[str, Any], parent: list[int]
) -> None:
    """Its parameters are those of a cell for more children."""
    options = {**SIZES, **options, "aggregator": "shared_sum"}
    few = make_cell(cell, **options).eval()
    many = make_cell(cell, **{**options, "max_children": 40}).eval()
    many.load_state_dict(few.state_dict())
    batch = Forest.build(parent, pos=[0, *range(9, 8 + len(parent))]).batch()
    ndata = {"x": torch.rand(len(parent), 3), "op": torch.ones(len(parent), dtype=torch.int64)}
    states = [
        run_cell(each, batch, ndata, backend=backend)["h"]
        for each in (few, many)
        for backend in ("levels", "dgl")
    ]
    for other in states[1:]:
        assert_close(other, states[0])


def test_an_aggregator_that_does_not_take_the_label_is_named() -> None:
    class Mine(FactorisedAggregator):
        stacked = ("U", "b")

        def __init__(self, children: int, size: int, gates: int = 1, **options: Any) -> None:
            super().__init__(children, size, gates, **options)
            self.U = torch.nn.Parameter(torch.ones(self.K, size, gates * size))
            self.b = torch.nn.Parameter(torch.ones(self.K, 1, gates * size))

        def _draw(self) -> None:
            pass

        def compute(self, h: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
            U, b = parameters
            return (h.sum(2) @ U + b).unflatten(2, (self.G, self.c))

    h, x = torch.ones(5, 2, 3), torch.ones(5, 4)
    message = r"^Mine.compute: too many values .*; with label='mode' .* ProductAggregator, whose"
    with pytest.raises(ConfigError, match=message):
        Mine(2, 3, rank=2, label_size=4)(h, x=x)
    assert Mine(2, 3, rank=2, label_size=4, label="add")(h, x=x).shape == (5, 1, 3)


def test_all_cells_print_their_sizes() -> None:
    for name in CELLS:
        sizes = {k: v for k, v in SIZES.items() if k in options_of(CELLS[name])}
        assert "m=3, c=2" in repr(make_cell(name, **sizes))

"""The tools of the benchmarks, on small trees."""

import numpy as np
import pytest
import torch
from torch import Tensor

from dgltrees._dgl import dgl
from dgltrees.trees import TreeBatch
from tests.benchmarks import device
from tests.benchmarks.cases import CASES, Case, balanced, chain, random_binary
from tests.benchmarks.contenders import CONTENDERS, VOCABULARY, Contender, Model
from tests.benchmarks.memory import peak
from tests.benchmarks.tables import Row, table
from tests.benchmarks.test_speed import check

needs_dgl = pytest.mark.skipif(dgl is None, reason="needs DGL")
SMALL = Case("small", 3, lambda rng: random_binary(rng, 2, 5))


@pytest.mark.parametrize("name", CONTENDERS)
def test_contenders_agree(name: str) -> None:
    check(CONTENDERS[name], SMALL.forest(VOCABULARY), 4)


def test_a_contender_that_computes_something_else_is_found() -> None:
    def wrong(model: Model, batch: TreeBatch) -> Tensor:
        embedded: Tensor = model.embed(batch.ndata["token"])
        return embedded[batch.roots]

    with pytest.raises(AssertionError):
        check(Contender("wrong", wrong), SMALL.forest(VOCABULARY), 4)


def test_shapes_of_the_cases() -> None:
    deepest = {name: case.forest(9).depths.max() for name, case in CASES.items()}
    assert deepest["chain 16 x 799"] == 399
    assert deepest["balanced 32 x 63"] == 5
    assert len(balanced(32)) == 63
    assert len(chain(150)) == 299
    forest = CASES["random 32 x ~37"].forest(9)
    assert np.array_equal(forest.degree == 0, forest.columns["token"] > 0)
    assert set(forest.degree.tolist()) == {0, 2}


def test_the_table() -> None:
    rows = [Row("a", 7, {"dgl": 0.02, "levels": 0.005}), Row("b", 9, {"dgl": 0.3, "levels": 0.1})]
    assert table(rows).splitlines() == [
        "| case | nodes | dgl | levels |",
        "|---|---|---|---|",
        "| a | 7 | 20.0 | 5.0 (4.0x) |",
        "| b | 9 | 300.0 | 100.0 (3.0x) |",
    ]


@needs_dgl
def test_the_table_of_a_device(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "SIZES", (2,))
    monkeypatch.setattr(torch, "set_flush_denormal", lambda mode: None)  # of the whole process
    device.main(["--hidden", "4", "--rounds", "1", "--device", "cpu"])
    *_, head, _, row = capsys.readouterr().out.splitlines()
    assert head == "| device | trees | torch.nn.LSTM | child-sum | HOSVD, c = 20 | child-sum, dgl |"
    assert row.startswith("| cpu | 2 | ")
    with pytest.raises(SystemExit, match="expected a device that torch can use here, got 'nowhe"):
        device.main(["--device", "nowhere"])


@needs_dgl
def test_what_does_not_run_on_a_device_has_no_rate_there() -> None:
    rows: list[device.Rates] = [("cpu", 64, {"child-sum": 5e3, "child-sum, dgl": 1e3})]
    assert device.device_table(rows).splitlines()[2] == "| cpu | 64 | - | 5 | - | 1 |"


def test_memory_is_that_of_one_step_in_a_process_of_its_own() -> None:
    states = 64 * 63 * 64 * 4  # bytes of a float32 state per node
    assert 4 * states < peak("levels, checkpoint", "balanced 32 x 63", 64, hidden=64) < 60 * states

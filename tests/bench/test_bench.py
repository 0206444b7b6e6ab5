import numpy as np
import pytest
import torch
from torch import Tensor

from dgltrees._dgl import dgl
from dgltrees.bench import CASES, CONTENDERS, Case, Contender, Row, table, time_steps
from dgltrees.bench.cases import balanced, chain, random_binary
from dgltrees.bench.contenders import Model
from dgltrees.bench.device import Rates, device_table
from dgltrees.cli import main
from dgltrees.trees import TreeBatch
from tests.benchmarks.memory import peak

needs_dgl = pytest.mark.skipif(dgl is None, reason="needs DGL")
SMALL = Case("small", 3, lambda rng: random_binary(rng, 2, 5))


def test_contenders_agree_and_are_all_timed() -> None:
    row = time_steps(SMALL, list(CONTENDERS.values()), hidden=4, rounds=1)
    assert list(row.seconds) == list(CONTENDERS)
    assert all(seconds > 0 for seconds in row.seconds.values())
    assert row.nodes == SMALL.forest(500).num_nodes


def test_a_contender_that_computes_something_else_is_found() -> None:
    def wrong(model: Model, batch: TreeBatch) -> Tensor:
        embedded: Tensor = model.embed(batch.ndata["token"])
        return embedded[batch.roots]

    contenders = [CONTENDERS["levels"], Contender("wrong", wrong)]
    with pytest.raises(RuntimeError, match="small: expected equal losses, got"):
        time_steps(SMALL, contenders, hidden=4, rounds=1)


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


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dgltrees.bench.command.CASES", {"small": SMALL})
    threads = torch.get_num_threads()
    assert main(["bench", "--hidden", "4", "--rounds", "1", "--threads", "1"]) == 0
    torch.set_num_threads(threads)
    printed = capsys.readouterr().out
    assert "hidden size 4" in printed
    assert "| small |" in printed


@needs_dgl
def test_the_command_on_a_device(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dgltrees.bench.command.SIZES", (2,))
    assert main(["bench", "--hidden", "4", "--rounds", "1", "--device", "cpu"]) == 0
    *_, head, _, row = capsys.readouterr().out.splitlines()
    assert head == "| device | trees | torch.nn.LSTM | child-sum | HOSVD, c = 20 | child-sum, dgl |"
    assert row.startswith("| cpu | 2 | ")
    assert main(["bench", "--device", "nowhere"]) == 2
    assert "expected a device that torch can use on this machine" in capsys.readouterr().err


@needs_dgl
def test_what_does_not_run_on_a_device_has_no_rate_there() -> None:
    rows: list[Rates] = [("cpu", 64, {"child-sum": 5e3, "child-sum, dgl": 1e3})]
    assert device_table(rows).splitlines()[2] == "| cpu | 64 | - | 5 | - | 1 |"


def test_memory_is_that_of_one_step_in_a_process_of_its_own() -> None:
    states = 64 * 63 * 64 * 4  # bytes of a float32 state per node
    assert 4 * states < peak("levels, checkpoint", "balanced 32 x 63", 64, hidden=64) < 60 * states

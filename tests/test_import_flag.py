"""Cells of one's own on the command line, from a module that --import names."""

import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from dgltrees.cells import CELLS
from dgltrees.cli import main
from dgltrees.training.trained import load
from tests.training.samples import CLASSIFY, PLANS_FILE

MODULE = """
from dgltrees.cells import CELLS, ChildSumTreeLSTM

class Mine(ChildSumTreeLSTM):
    pass

CELLS["mine"] = Mine
"""
_QUICK = ["--data.max_train_examples", "20", "--model.hidden_size", "4"]
_QUICK += ["--training.epochs", "1", "--training.accelerator", "cpu"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a module that registers a cell; nothing of it stays."""
    (tmp_path / "my_cells.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with mock.patch.dict(CELLS), mock.patch.dict(sys.modules):
        yield tmp_path


def test_a_run_with_a_cell_of_one_s_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["train", *CLASSIFY, "--model.cell", "mine", *_QUICK, "--out", "run"]
    assert main(argv) == 2
    assert "expected model.cell to be one of rnn, " in capsys.readouterr().err
    assert main([*argv, "--import", "my_cells"]) == 0
    assert type(load("run").model.encoder.cell).__name__ == "Mine"
    test = ["evaluate", "run", "--test", str(PLANS_FILE)]
    assert main(test) == 0
    capsys.readouterr()
    del CELLS["mine"], sys.modules["my_cells"]
    assert main(test) == 2  # a run imports nothing
    error = capsys.readouterr().err
    assert "config.yaml was written by other code: expected model.cell" in error
    assert "use the code that trained it (--import MODULE" in error
    assert main([*test, "--import=my_cells"]) == 0


@pytest.mark.parametrize("flag", [["--import", "no_such"], ["--import=.x"], ["--import"]])
def test_a_module_that_is_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str], flag: list[str]
) -> None:
    assert main(["presets", *flag]) == 2
    error = capsys.readouterr().err
    assert error.startswith("dgltrees: expected --import to name a module in this folder or")
    assert error.count("\n") == 1

"""Machine code of cells, which is kept on disk, and the line before it is made."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from dgltrees import Forest, compile_report, run_cell
from dgltrees.cells import make_cell
from dgltrees.cells.compiled import kernels
from tests.cells.compiled.interpreter import compiling

event = pytest.importorskip("numba.core.event")
pytestmark = pytest.mark.skipif(not kernels.available(), reason="no numba")


def test_machine_code_equals_the_functions_in_single_precision() -> None:
    forest = Forest.build(parent=[-1, 0, 0, 1, 1, 2, 5, -1, 0], offsets=[0, 7, 9])
    torch.manual_seed(0)
    cell = make_cell("lstm", input_size=3, hidden_size=8, max_children=2, operators=2)
    cell.__class__ = type("Other", (type(cell),), {})  # which has no way by hand
    x = torch.randn(9, 3, requires_grad=True)
    fields = {"x": x, "op": torch.arange(9) % 2}
    results = []
    for compiled in (True, False):
        with compiling(interpret=False):
            states = run_cell(cell, forest, fields, compile=compiled)
            assert compile_report(cell) == "Other is compiled"
        total = sum((h.sin() * (i + 1)).sum() for i, (_, h) in enumerate(sorted(states.items())))
        results.append((states, torch.autograd.grad(total, [x, cell.f.U])))
    assert_close(*results, atol=1e-4, rtol=1e-3)


_CODE = """
from numba import njit

@njit(cache=True)
def double(x):
    return x + x
"""


def _double(path: Path, name: str) -> Any:
    """The function of the file, as a process that starts anew has it."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.double


def test_compiling_is_said_once_and_loading_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dgltrees.cells.compiled.kernels.rows import Announcement

    path = tmp_path / "code.py"
    path.write_text(_CODE)
    with event.install_listener("numba:compile", Announcement("announced")):
        _double(path, "of_others")(1j)
        assert capsys.readouterr().err == ""
        double = _double(path, "announced.code")
        assert (double(1), double(1), double(0.5)) == (2, 2, 1.0)
        line = capsys.readouterr().err
    assert line.startswith("dgltrees: compiling for this processor takes up to a minute;")
    assert line.count("\n") == 1
    with event.install_listener("numba:compile", Announcement("announced")):
        assert _double(path, "announced.code")(1) == 2
    assert capsys.readouterr().err == ""

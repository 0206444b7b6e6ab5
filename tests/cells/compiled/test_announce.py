"""The line before machine code is made."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

event = pytest.importorskip("numba.core.event")

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

"""The folder of compiled code: used where nobody else writes, and only what has its checksum."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dgltrees.cells.compiled.kernels import available, storage

pytestmark = pytest.mark.skipif(not available(), reason="no numba")

CODE = """
from numba import njit

@njit(cache={cache})
def double(x):
    return x + x
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A new folder of compiled code."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "base"))
    storage.folder.cache_clear()
    storage._sealed.clear()
    yield tmp_path / "base" / "dgltrees"
    storage.folder.cache_clear()


def double(code: str = CODE) -> tuple[Any, int]:
    """Twice 3 by compiled code as a new process has it, and how many versions were on disk."""
    for name in [name for name in sys.modules if name.startswith("dgltrees_cell_")]:
        del sys.modules[name]
    storage._sealed.clear()
    function = storage.module_of(code).double
    result = function(3)
    storage.seal(function)
    return result, sum(function.stats.cache_hits.values())


def files(folder: Path, ending: str) -> list[Path]:
    return sorted([*folder.glob(f"*{ending}"), *folder.glob(f"__pycache__/*{ending}")])


def test_code_is_compiled_once(folder: Path) -> None:
    assert [double(), double()] == [(6, 0), (6, 1)]
    assert [len(files(folder, ending)) for ending in (".py", ".json", ".nbi", ".nbc")] == [1] * 4
    assert folder.stat().st_mode & 0o777 == 0o700


def _edit(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(change(file.read_bytes()))


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "foreign code": (".py", _edit(lambda data: b"raise RuntimeError('foreign')")),
    "truncated": (".nbc", _edit(lambda data: data[: len(data) // 2])),
    "one bit": (".nbc", _edit(lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])),
    "foreign index": (".nbi", _edit(lambda data: b"cos\nsystem\n(S'exit 1'\ntR.")),
    "without checksums": (".json", Path.unlink),
    "broken checksums": (".json", _edit(lambda data: data[:-3])),
    "empty": (".nbi", _edit(lambda data: b"")),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_damaged_is_compiled_anew(folder: Path, name: str) -> None:
    ending, damage = DAMAGES[name]
    assert double() == (6, 0)
    (file,) = files(folder, ending)
    damage(file)
    assert [double(), double()] == [(6, 0), (6, 1)]


def test_the_oldest_entries_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = [f"{CODE}\n# {number}" for number in range(3)]
    for number, code in enumerate(codes):
        double(code)
        (newest,) = set(files(folder, ".json")) - set(files(folder, ".done"))
        os.utime(newest, (number, number))
        newest.rename(newest.with_suffix(".done"))
    for file in files(folder, ".done"):
        file.rename(file.with_suffix(".json"))
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    monkeypatch.setattr(storage, "LIMIT", size - 1)
    assert double(f"{CODE}\n# 3") == (6, 0)
    assert [double(code)[1] for code in (codes[2], f"{CODE}\n# 3")] == [1, 1]
    assert len(files(folder, ".py")) == 2


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files")
@pytest.mark.parametrize(
    ("modes", "reason"),
    [
        ({"base/dgltrees": 0o777}, "others may write to .*dgltrees"),
        ({"base/dgltrees": 0o1777}, "others may write to .*dgltrees"),
        ({"base": 0o770}, "others may write to .*base"),
        ({"base": 0o1777}, ""),
        ({}, ""),
    ],
)
def test_a_folder_that_others_may_write_is_not_used(
    folder: Path, modes: dict[str, int], reason: str, tmp_path: Path
) -> None:
    before = os.umask(0o002)  # new folders of some systems may be written by the group
    try:
        assert storage.folder() == folder
    finally:
        os.umask(before)
    storage.folder.cache_clear()
    for name, mode in modes.items():
        (tmp_path / name).chmod(mode)
    if not reason:
        assert storage.folder() == folder
        return
    with pytest.warns(UserWarning, match=f"not kept on disk.*{reason}.*set NUMBA_CACHE_DIR"):
        assert storage.folder() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        assert [double(), double()] == [(6, 0), (6, 0)]
    assert files(folder, ".py") == []


def test_a_folder_of_somebody_else_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1, raising=False)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert storage.folder() is None

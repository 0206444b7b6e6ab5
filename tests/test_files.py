"""Temporary files of killed processes go; those of living ones stay."""

import errno
import os
import time
from pathlib import Path

import pytest

from dgltrees._files import draft_folder, remove_leftovers, replacing
from dgltrees._json import JSONError, load_json


def _age(path: Path) -> None:
    os.utime(path, (time.time() - 3600,) * 2)


def test_what_killed_processes_left_goes(tmp_path: Path) -> None:
    left = tmp_path / ".a.txt.12345678.writing"
    left.write_text("half")
    _age(left)
    other = tmp_path / ".b.txt.12345678.writing"
    other.write_text("half")
    with replacing(tmp_path / "a.txt") as file:
        file.write("whole")
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", other.name}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is not a file"), replacing(tmp_path / "pipe"):
        raise AssertionError("it was opened")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
@pytest.mark.parametrize("path", ["/proc/x", "/proc/x/y"])
def test_errors_name_the_file_that_was_given(path: str) -> None:
    with pytest.raises(OSError, match="no file can be created there") as caught, replacing(path):
        raise AssertionError("it was opened")
    assert caught.value.filename == path


def test_errors_of_renaming_name_the_file_that_was_given(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught, replacing(tmp_path / "a"):
        (tmp_path / "a").mkdir()  # meanwhile, by another
    assert caught.value.filename == str(tmp_path / "a")
    assert caught.value.filename2 is None
    with pytest.raises(OSError) as caught, replacing(tmp_path / "b" / "a"):
        (tmp_path / "b").rename(tmp_path / "c")
    assert caught.value.filename == str(tmp_path / "b" / "a")


def test_what_others_write_stays(tmp_path: Path) -> None:
    with replacing(tmp_path / "a.txt") as file:
        file.write("whole")
        (temporary,) = tmp_path.iterdir()
        _age(temporary)
        remove_leftovers(tmp_path)
        assert temporary.exists()
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_drafts_of_killed_processes_go(tmp_path: Path) -> None:
    left = tmp_path / ".data.12345678.writing"
    left.mkdir()
    (left / ".lock").touch()
    _age(left / ".lock")
    with draft_folder(tmp_path, "data") as draft:
        assert not left.exists()
        _age(draft / ".lock")
        with draft_folder(tmp_path, "data"):
            assert draft.exists()
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_a_full_disk_names_the_file_that_was_given(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught, replacing(tmp_path / "data"):
        raise OSError(errno.EFBIG, "File too large")
    assert caught.value.filename == str(tmp_path / "data")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (r'{"a": "\ud800"}', 1, r"expected whole characters, got half of one, \\ud800"),
        ('["\\ud83c\\udf33",\n"\\\\ud83c",\n"\\ud83c"]', 3, r"got half of one, \\ud83c"),
        (r'{"\udc00": 1}', 1, r"got half of one, \\udc00"),
        ("[" * 100_000, 1, "nested too deep"),
        ('["]",\n' * 100_000, 100_000, "nested too deep"),
        ('["' + "9" * 9000 + '",\n1,\n' + "9" * 5000 + "]", 3, "4300"),
        ("[" * 100_000 + '"' + '\\"' * 100_000, 1, "nested too deep"),
        ('{"a"', 1, "expected JSON, got expecting ':' delimiter at column 5"),
    ],
)
def test_json_that_is_refused(text: str, line: int, message: str) -> None:
    with pytest.raises(JSONError, match=message) as caught:
        load_json(text)
    assert caught.value.line == line


def test_both_halves_are_a_character() -> None:
    assert load_json(r'"\ud83c\udf33"') == "\N{DECIDUOUS TREE}"

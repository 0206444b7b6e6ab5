"""The helps of the paper need no torch."""

from pathlib import Path

import pytest

from tests.test_installed import without_torch


@pytest.mark.parametrize("words", ["train listops", "make-data listops"])
def test_helps_need_no_torch(words: str, tmp_path: Path) -> None:
    done = without_torch(f"{words} --help", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: dgltrees {words.split()[0]}")

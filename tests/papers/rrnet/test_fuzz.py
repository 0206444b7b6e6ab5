"""Damaged files of the paper: see tests/fuzz."""

from __future__ import annotations

from pathlib import Path

from dgltrees.formats import FORMATS
from tests.fuzz.test_readers import damaged, sample


def test_damaged_files(tmp_path: Path) -> None:
    damaged("mee", FORMATS["mee"].read, sample("mee/train4.tsv"), tmp_path / "file.txt")

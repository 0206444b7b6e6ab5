"""Damaged files of the paper: see tests/fuzz."""

from __future__ import annotations

from pathlib import Path

import pytest

from dgltrees.formats import FORMATS
from tests.fuzz.test_readers import damaged, sample

SAMPLES_OF = {
    "listops": "listops/train.tsv",
    "inex": "inex/inex05.train.elastic.tree",
    "boolsent": "boolsent/train.txt",
}


@pytest.mark.parametrize("name", SAMPLES_OF)
def test_damaged_files(tmp_path: Path, name: str) -> None:
    damaged(name, FORMATS[name].read, sample(SAMPLES_OF[name]), tmp_path / "file.txt")

"""Damaged files of the paper: see tests/fuzz."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dgltrees.formats import FORMATS
from tests.fuzz.test_readers import damaged, sample

READERS: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "sst": (FORMATS["sst"].read, "sst/train.txt", ".txt"),
    "snli": (FORMATS["entailment"].read, "snli/snli_1.0_train.jsonl", ".jsonl"),
    "sick": (FORMATS["entailment"].read, "sick/SICK_train_parsed.txt", ".txt"),
    "wikiqa": (FORMATS["wikiqa"].read, "wikiqa/WikiQASent-train.txt", ".txt"),
}


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(tmp_path: Path, name: str) -> None:
    read, path, suffix = READERS[name]
    damaged(name, read, sample(path), tmp_path / f"file{suffix}")

"""Settings of generators that are out of range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.formats.synthetic.test_generators import NOTHING, assert_writes_nothing

PER_BIN = "expected at most 13 numbers of pairs, each 0 or more, got"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("listops", {"valid": -1}, "valid: expected 0 trees or more, got -1"),
        ("listops", {"train": 0, "valid": 0, "test": 0}, NOTHING),
        ("listops", {"form": "ternary"}, "form: expected 'binary' or 'nary', got 'ternary'"),
        ("listops", {"max_depth": 0}, "max_depth: expected 1 level or more, got 0"),
        ("listops", {"max_arguments": 1}, "max_arguments: expected 2 to 5, got 1"),
        ("listops", {"max_arguments": 6}, "max_arguments: expected 2 to 5, got 6"),
        ("lrt", {"test": -5}, "test: expected 0 pairs or more, got -5"),
        ("lrt", {"train": [1, -1]}, f"train: {PER_BIN}"),
        ("lrt", {"valid": [1] * 14}, f"valid: {PER_BIN}"),
        ("lrt", {"train": 0, "valid": [], "test": [0]}, NOTHING),
    ],
)
def test_settings_out_of_range_write_nothing(
    tmp_path: Path, name: str, settings: dict[str, Any], message: str
) -> None:
    assert_writes_nothing(tmp_path, name, settings, message)

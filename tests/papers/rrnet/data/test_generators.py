"""Settings of generators that are out of range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.formats.synthetic.test_generators import NOTHING, assert_writes_nothing

LENGTHS = "lengths: expected different numbers of operators from 1 to 18, got"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mee", {"valid": -1}, "valid: expected 0 expressions or more, got -1"),
        ("mee", {"train": 0, "valid": 0, "test": 0}, NOTHING),
        ("mee", {"lengths": []}, f"{LENGTHS} []"),
        ("mee", {"lengths": [4, 4]}, LENGTHS),
        ("mee", {"lengths": [0]}, LENGTHS),
        ("mee", {"lengths": [19]}, LENGTHS),
    ],
)
def test_settings_out_of_range_write_nothing(
    tmp_path: Path, name: str, settings: dict[str, Any], message: str
) -> None:
    assert_writes_nothing(tmp_path, name, settings, message)

"""What holds of every generator."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import GENERATORS

BYTES: dict[str, tuple[dict[str, Any], str]] = {
    "plans": (
        {"train": 40, "valid": 10, "test": 10},
        "073aa29908af6009e3ffafa4edfd8f811af9054c5861539c1b90b1ea6aed65db",
    ),
    "listops": (
        {"train": 300, "valid": 50, "test": 50},
        "a53568dab4095966169360d5c0cd45528f358562ba52568def8a0138e8af7672",
    ),
    "lrt": (
        {"train": [4] * 13, "valid": 60, "test": 0},
        "b36f6f525512c0f696d407badf2640139ea09ca05fb291e4ed621b07db7dce7c",
    ),
    "mee": (
        {"train": 30, "valid": 10, "test": 10, "lengths": [4, 7]},
        "5273ee6384668203360fc03a7c58c8737dac170287c078a56785328a31259d1e",
    ),
}
"""Settings, and the SHA-256 of all files that they give with seed 0."""

BYTES = {name: row for name, row in BYTES.items() if name in GENERATORS}


def test_the_table_holds_all_generators() -> None:
    assert {*BYTES} == {*GENERATORS}


@pytest.mark.parametrize("name", GENERATORS)
def test_the_bytes_are_fixed_by_the_seed(tmp_path: Path, name: str) -> None:
    settings, digest = BYTES[name]
    paths = GENERATORS[name](tmp_path / "0", seed=0, **settings)
    again = GENERATORS[name](tmp_path / "again", seed=0, **settings)
    other = GENERATORS[name](tmp_path / "1", seed=1, **settings)
    everything = hashlib.sha256()
    for file, path in paths.items():
        assert path.read_bytes() == again[file].read_bytes()
        assert path.read_bytes() != other[file].read_bytes()
        everything.update(path.read_bytes())
    assert everything.hexdigest() == digest


NOTHING = "train, valid and test are all 0: "


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("plans", {"alternatives": 0}, "alternatives: expected 1 or more, by which"),
        ("plans", {"alternatives": 3}, "alternatives: expected 1 or more, by which"),
        ("plans", {"train": 0, "valid": 0, "test": 0}, NOTHING),
    ],
)
def test_settings_out_of_range_write_nothing(
    tmp_path: Path, name: str, settings: dict[str, Any], message: str
) -> None:
    assert_writes_nothing(tmp_path, name, settings, message)


def assert_writes_nothing(
    tmp_path: Path, name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        GENERATORS[name](tmp_path / "out", **settings)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "out").exists()

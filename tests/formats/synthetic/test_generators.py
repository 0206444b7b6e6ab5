"""What holds of every generator."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import GENERATORS
from dgltrees.formats.synthetic.plans import SLOW, load_plans
from dgltrees.trees.builders.walk import walk

BYTES: dict[str, tuple[dict[str, Any], str]] = {
    "plans": (
        {"train": 40, "valid": 10, "test": 10},
        "2757cd96f6def1e22e6e5c7b5e20f033cc469170a6aafa477a24cd142aa030b3",
    ),
    "listops": (
        {"train": 300, "valid": 50, "test": 50},
        "ee6591bc95b9362b0caaca95e6a719948fcfa96b27ce46664b6356c7034250cc",
    ),
    "lrt": (
        {"train": [4] * 13, "valid": 60, "test": 0},
        "fb9b883dbeb4200488fd0d824d25fca5d55ab200350788e5d093a73af96ad718",
    ),
    "mee": (
        {"train": 30, "valid": 10, "test": 10, "lengths": [4, 7]},
        "fd4d4942f5fc96850a5a1387098edff5889063ddf204a3493621d0baedec2fe0",
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


ALTERNATIVES = "alternatives: expected 1 or more, a divisor of train"
LENGTHS = "lengths: expected different numbers of operators from 1 to 18, got"
OUT_OF_RANGE: list[tuple[str, dict[str, Any], str]] = [
    ("plans", {"alternatives": 0}, ALTERNATIVES),
    ("plans", {"alternatives": 3}, ALTERNATIVES),
    ("mee", {"lengths": []}, f"{LENGTHS} []"),
    ("mee", {"lengths": [4, 4]}, LENGTHS),
    ("mee", {"lengths": [0]}, LENGTHS),
    ("mee", {"lengths": [19]}, LENGTHS),
    ("listops", {"form": "ternary"}, "form: expected 'binary' or 'nary', got 'ternary'"),
    ("listops", {"max_depth": 0}, "max_depth: expected 1 level or more, got 0"),
    ("listops", {"max_arguments": 1}, "max_arguments: expected 2 to 5, got 1"),
    ("listops", {"max_arguments": 6}, "max_arguments: expected 2 to 5, got 6"),
    ("lrt", {"valid": [1] * 14}, "valid: expected at most 13 numbers of pairs, got 14"),
]


@pytest.mark.parametrize(
    ("name", "settings", "message"), [row for row in OUT_OF_RANGE if row[0] in GENERATORS]
)
def test_settings_out_of_range_write_nothing(
    tmp_path: Path, name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        GENERATORS[name](tmp_path / "out", **settings)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "out").exists()


def test_load_plans_gives_the_plans_of_the_files(tmp_path: Path) -> None:
    files = GENERATORS["plans"](tmp_path, train=20, valid=0, test=0, seed=3)
    lines = map(json.loads, files["train"].read_text().splitlines())
    plans, seconds = load_plans(np.int64(20), random_state=np.int32(3), return_X_y=True)
    assert list(lines) == [
        {"plan": plan, "seconds": each, "speed": "slow" if each > SLOW else "fast"}
        for plan, each in zip(plans, seconds.tolist())
    ]
    bunch = load_plans(20, random_state=3, as_frame=True)
    assert bunch.data == plans
    assert [*bunch.frame] == ["plan", *bunch.target_names]
    assert bunch.frame["seconds"].tolist() == bunch.target.tolist()
    assert load_plans(1).frame is None
    names = {key for node in walk(plans, lambda node: node.get("Plans")).objects for key in node}
    assert names == {*bunch.feature_names, "Plans"}
    assert all(f"``{name}``" in bunch.DESCR for name in names)
    with pytest.raises(ConfigError, match="n_samples to be an integer of at least 1, got 2.5"):
        load_plans(2.5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="random_state to be an integer of at least 0, got -1"):
        load_plans(2, random_state=-1)

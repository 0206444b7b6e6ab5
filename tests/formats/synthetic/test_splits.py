from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import splits
from dgltrees.formats.synthetic.plans import make_plans

HEADER = {"generator": "none", "version": 1, "settings": {"seed": 0}}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_manifest_describes_every_file(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    paths = splits.write_folder(out, {"x.tsv": ["é", "2"], "empty": []}, HEADER)
    assert paths == {"x": out / "x.tsv", "manifest": out / "manifest.json"}
    assert names(out) == ["manifest.json", "x.tsv"]
    assert names(out.parent) == ["b"]
    data = paths["x"].read_bytes()
    assert data == "é\n2\n".encode()
    manifest = json.loads(paths["manifest"].read_text(encoding="utf-8"))
    entry = {"lines": 2, "bytes": 5, "sha256": hashlib.sha256(data).hexdigest()}
    assert manifest == {**HEADER, "files": {"x.tsv": entry}}


def test_a_second_run_removes_what_the_first_one_wrote_and_nothing_else(tmp_path: Path) -> None:
    splits.write_folder(tmp_path, {"train0": ["1"], "train1": ["2"]}, HEADER)
    (tmp_path / "notes").write_text("mine")
    splits.write_folder(tmp_path, {"train1": ["3"]}, HEADER)
    assert names(tmp_path) == ["manifest.json", "notes", "train1"]
    assert (tmp_path / "train1").read_text() == "3\n"


@pytest.mark.parametrize("exists", [False, True])
def test_a_failure_leaves_nothing(tmp_path: Path, exists: bool) -> None:
    out = tmp_path / "out"
    if exists:
        splits.write_folder(out, {"train": ["old"]}, HEADER)
    before = names(out) if exists else []
    with pytest.raises(UnicodeEncodeError):
        splits.write_folder(out, {"train": ["new"], "test": ["\ud800"]}, HEADER)
    assert out.exists() == exists
    assert (names(out) if exists else []) == before
    assert names(tmp_path) == (["out"] if exists else [])
    if exists:
        assert (out / "train").read_text() == "old\n"


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="expected a folder to write to, found a file"):
        splits.check_folder(tmp_path / "file", overwrite=True)
    with pytest.raises(ConfigError, match="expected a new or an empty folder, found files in it"):
        splits.check_folder(tmp_path, overwrite=False)
    assert splits.check_folder(tmp_path, overwrite=True) == tmp_path


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"files": {"../x": {}}}'])
def test_a_foreign_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ConfigError, match="expected the manifest of a generated data set"):
        splits.write_folder(tmp_path, {"train": ["1"]}, HEADER)
    assert names(tmp_path) == ["manifest.json"]


def test_settings_are_checked_before_anything_is_drawn_or_written(tmp_path: Path) -> None:
    make_plans(tmp_path, train=3, valid=0, test=0)
    with pytest.raises(ConfigError, match="found files in it"):
        make_plans(tmp_path, train=10**7)
    assert names(tmp_path) == ["manifest.json", "train.jsonl"]

import hashlib
from pathlib import Path

import pytest

from dgltrees.errors import ConfigError
from dgltrees.tasks.files import data_files, find_files, fingerprint
from dgltrees.tasks.settings import DataSettings


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder ``data`` with ``lrt/train0`` to ``train2``, in an otherwise empty directory."""
    monkeypatch.delenv("DGLTREES_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "lrt"
    folder.mkdir(parents=True)
    for n in range(3):
        (folder / f"train{n}").write_text(f"{n}\n")
    return tmp_path / "data"


def _names(settings: DataSettings) -> list[str]:
    return [path.name for path in data_files(settings, "train")]


def test_patterns_and_lists_are_looked_for_under_the_root(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = DataSettings(dir=str(root), train="lrt/train*")
    assert _names(pattern) == ["train0", "train1", "train2"]
    monkeypatch.setenv("DGLTREES_DATA", str(root))
    assert _names(DataSettings(train=["lrt/train2", "lrt/train0"])) == ["train2", "train0"]
    assert data_files(DataSettings(), "train") == []
    twice = DataSettings(train=["lrt/train2", "lrt/train*"])
    assert _names(twice) == ["train2", "train0", "train1"]  # each is read once


def test_the_working_directory_comes_before_the_root(root: Path) -> None:
    (root.parent / "lrt").mkdir()
    (root.parent / "lrt" / "train0").write_text("mine\n")
    (path,) = data_files(DataSettings(dir=str(root), train="lrt/train0"), "train")
    assert path.read_text() == "mine\n"


def test_a_name_is_no_pattern_where_a_file_has_it(root: Path) -> None:
    (root / "set[1].tsv").write_text("1\n")
    assert _names(DataSettings(dir=str(root), train="set[1].tsv")) == ["set[1].tsv"]


def test_a_missing_file_is_named_with_the_places_where_it_was_looked_for(root: Path) -> None:
    with pytest.raises(ConfigError, match=r"data.valid to name a file.*set data.dir"):
        data_files(DataSettings(valid="lrt/dev"), "valid")
    with pytest.raises(ConfigError, match="none at .*; make it: dgltrees make-data plans x/plans$"):
        find_files(["plans/train.jsonl"], "x", "data.train")
    with pytest.raises(ConfigError, match=r"--input to name a file, found none at .*lrt/dev$"):
        find_files(["lrt/dev"], None, "--input")
    with pytest.raises(ConfigError, match=r"none at .*lrt/dev and .*data/lrt/dev$"):
        data_files(DataSettings(dir=str(root), valid="lrt/dev"), "valid")


def test_a_fingerprint_is_of_a_file_or_of_all_files_in_a_folder(root: Path) -> None:
    expected = {"name": "train1", "bytes": 2, "sha256": hashlib.sha256(b"1\n").hexdigest()}
    assert fingerprint(root / "lrt" / "train1") == expected
    folder = fingerprint(root / "lrt")
    assert folder["bytes"] == 6
    (root / "lrt" / "train1").rename(root / "lrt" / "train10")  # the order is the same
    assert fingerprint(root / "lrt")["sha256"] != folder["sha256"]

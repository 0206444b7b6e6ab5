"""Forests in folders: what was saved comes back, and nothing else does."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import Forest, TreeError, Vocabulary
from dgltrees._files import with_checksum

Damage = Callable[[Path], Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    words = Vocabulary(["a", "b", "c"])
    columns = {"x": np.array([1, 2, 3]), "word": np.array([0, 2, 1])}
    Forest.build([-1, 0, 0], columns=columns, vocabs={"word": words}).save(tmp_path / "f")
    return tmp_path / "f"


def _write(name: str, data: bytes) -> Damage:
    return lambda folder: (folder / name).write_bytes(data)


def _flip(name: str, old: bytes, new: bytes) -> Damage:
    def damage(folder: Path) -> None:
        content = (folder / name).read_bytes()
        assert old in content
        (folder / name).write_bytes(content.replace(old, new))

    return damage


def _index(**values: Any) -> Damage:
    """Other values in forest.json, with a right checksum: somebody meant it."""

    def damage(folder: Path) -> None:
        path = folder / "forest.json"
        index = {**json.loads(path.read_text()), **values}
        del index["checksum"]
        path.write_text(json.dumps(with_checksum(index)))

    return damage


def _pipe(name: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return damage


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("parent.npy", _npy([-1, 0, 0]))
    return file.getvalue()


DAMAGES: list[tuple[Damage, str]] = [
    (_write("column.x.npy", b""), "a damaged one"),
    (_write("parent.npy", b"garbage"), "a damaged one"),
    (_write("forest.json", b"{"), "a damaged one"),
    (_write("forest.json", b"{}"), "a damaged one"),
    (_write("forest.json", b"[1]"), "a damaged one"),
    (_write("forest.json", b"[" * 100_000), "a damaged one"),
    (_write("forest.json", b"\xff"), "a damaged one"),
    (lambda folder: (folder / "pos.npy").unlink(), "got one without pos.npy"),
    (_flip("forest.json", b'"x"', b'"y"'), "it has changed since it was written"),
    (_index(version=2), "expected a forest of version 3, got version 2; write it again"),
    (_index(columns=["../x"]), "got one without column...%2Fx.npy"),
    (_index(vocabs=["../../etc/passwd"]), "got one without vocab"),
    (_index(columns=[["x"]]), "expected a list of names as 'columns'"),
    (_index(vocabs={"word": 1}), "expected a list of names as 'vocabs'"),
    (_pipe("parent.npy"), "it is not a file"),
    (_pipe("forest.json"), "it is not a file"),
    (_pipe("vocab.word.txt"), "it is not a file"),
    (_write("parent.npy", _zip()), "a damaged one"),
    (_write("parent.npy", _npy([1, 0, 0])), "expected exactly one root, got 0"),
    (_write("parent.npy", _npy([-1.0, 0, 0])), "expected a row of integers as parent"),
    (_write("parent.npy", _npy([[-1, 0, 0]])), "expected a row of integers as parent"),
    (_write("parent.npy", _npy(-1)), "expected a row of integers as parent"),
    (_write("parent.npy", _npy(np.array([{}], object))), "a damaged one"),
    (_write("parent.npy", _npy([-1, 0, 0]).replace(b"(3,)", b"(3,(")), "a damaged one"),
    (_write("parent.npy", _npy([-1, 0, 0]).replace(b"{", b"\n")), "a damaged one"),
    (_write("parent.npy", _npy([-1, 0, 0]).replace(b"(3,)", b"9**9")), "a damaged one"),
    (_write("depth.npy", _npy([0, 1, 2])), "expected the depths of the nodes, got others"),
    (_write("depth.npy", _npy([0, 1])), "expected the depths of the nodes, got others"),
    (_write("column.x.npy", _npy([1, 2])), "expected column 'x' to have 3 rows, one per node"),
    (_write("column.word.npy", _npy([0, 7, 1])), "ids of the 3 names"),
    (_write("column.word.npy", _npy(["a", "b", "c"])), "ids of its vocabulary"),
    (_write("vocab.word.txt", b"a\nb\nc\n"), "expected a vocabulary whose first line"),
]


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_a_damaged_folder_is_refused(
    folder: Path, damage: Damage, message: str, mmap: bool
) -> None:
    damage(folder)
    with pytest.raises(TreeError) as caught:
        Forest.load(folder, mmap=mmap)
    assert message in str(caught.value)


def test_a_forest_that_cannot_be_saved_leaves_the_one_before(folder: Path) -> None:
    forest = Forest.load(folder, mmap=False)
    with pytest.raises(TreeError, match="expected column 'x' to hold numbers"):
        Forest(forest.parent, forest.pos, forest.offsets, {"x": np.array([{}] * 3)}).save(folder)
    assert Forest.load(folder).columns["x"].tolist() == [1, 2, 3]


def test_columns_that_differ_in_case_have_files_of_their_own_on_every_disk(tmp_path: Path) -> None:
    columns = {name: [k, k] for k, name in enumerate(("Cost", "cost", "COST", "Ä", "ä"))}
    Forest.build([-1, 0], columns=columns).save(tmp_path)
    files = [path.name for path in tmp_path.iterdir()]
    assert len({name.casefold() for name in files}) == len(files) == 10
    again = Forest.load(tmp_path).columns
    assert {name: column.tolist() for name, column in again.items()} == columns


@pytest.mark.parametrize("name", ["a/b", "../x", "..", "a%2Fb", "(numbers)", "Node Type", "é:?*"])
def test_names_of_columns_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    words = Vocabulary(["a", "b"])
    forest = Forest.build([-1, 0], columns={name: [0, 1]}, vocabs={name: words})
    forest.save(tmp_path / "f")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    again = Forest.load(tmp_path / "f")
    assert again.columns[name].tolist() == [0, 1]
    assert again.vocabs == {name: words}


def test_strings_in_an_array_of_objects(tmp_path: Path) -> None:
    forest = Forest.build([-1, 0, 0])
    forest.with_columns({"x": np.array(["b", None, ""], object)}).save(tmp_path / "f")
    loaded = Forest.load(tmp_path / "f")
    assert (loaded.columns["x"].tolist(), loaded.vocabs["x"].names) == ([0, -1, 1], ["b", ""])
    for wrong in (3, [1], b"a"):
        column = np.empty(3, object)
        column[:] = ["b", None, wrong]
        with pytest.raises(TreeError, match="column 'x' to hold numbers or strings, got object"):
            forest.with_columns({"x": column}).save(tmp_path / "g")

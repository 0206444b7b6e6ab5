"""Vocabularies."""

from pathlib import Path

import pytest

from dgltrees import TreeError, Vocabulary


def test_grows_until_frozen() -> None:
    words = Vocabulary(["a"])
    assert words.encode(["b", "a", "c", "b"]).tolist() == [1, 0, 2, 1]
    assert words.decode([2, 0]) == ["c", "a"]
    with pytest.raises(TreeError, match="expected ids from 0 to 2, got -1"):
        words.decode([0, -1])
    assert "c" in words
    assert "d" not in words
    words.freeze()
    with pytest.raises(
        TreeError, match="expected one of the 3 known names .'a', 'b', 'c'., got 'd'"
    ):
        words.encode(["a", "d"])


def test_unknown_names() -> None:
    words = Vocabulary(["a", "b"], unknown="<unk>", frozen=True)
    assert words.encode(["b", "x", "y"]).tolist() == [1, 2, 2]
    assert len(words) == 3


def test_an_unknown_name_may_be_added_when_a_vocabulary_is_frozen() -> None:
    words = Vocabulary(["a", "b"]).freeze("<unk>")
    assert words.names == ["a", "b", "<unk>"]
    assert words.encode(["x", None, "a"]).tolist() == [2, -1, 0]
    assert words.freeze("?").unknown == "<unk>"  # it has one
    assert Vocabulary(["<unk>", "a"]).freeze("<unk>").encode(["x"]).tolist() == [0]


def test_save_and_load(tmp_path: Path) -> None:
    words = Vocabulary(["a b", "ü", "\n", '"'], unknown="?")
    words.save(tmp_path / "v.txt")
    again = Vocabulary.load(tmp_path / "v.txt")
    assert again == words
    assert again.frozen
    assert (tmp_path / "v.txt").read_text(encoding="utf-8").splitlines()[2] == '"ü"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "dgltrees vocabulary 1 {\n",
            "v.txt:1: expected dgltrees vocabulary 1 and a JSON object with 'unknown'",
        ),
        ("a\n", "v.txt:1: expected a vocabulary whose first line begins with"),
        (
            'dgltrees vocabulary 1 {"unknown": null}\n"a"\nb\n',
            "v.txt:3: expected a JSON string, got 'b'",
        ),
        ('dgltrees vocabulary 1 {"unknown": null}\n"a"\n"a"\n', "expected different names"),
    ],
)
def test_load_refuses_other_files(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(TreeError) as caught:
        Vocabulary.load(tmp_path / "v.txt")
    assert message in str(caught.value)

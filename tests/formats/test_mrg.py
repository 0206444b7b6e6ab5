from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import ConfigError, TreeError, Vocabulary
from dgltrees.formats import FORMATS, read
from tests.trees.nested import (
    Constituent,
    constituent_rows,
    constituents,
    in_brackets,
    names_of,
    write,
)

NEWS = """
( (S
    (NP-SBJ (NNP Mr.) (NNP Vinken) )
    (VP (VBZ is)
      (NP-PRD old (NN chairman) ))
    (. .) ))
( (S (VB Go) ))
(FRAG (UH Yes))
"""


def test_a_file_by_hand(tmp_path: Path) -> None:
    examples = read(write(tmp_path, NEWS), "mrg")
    forest = examples.forest
    assert not examples.columns
    assert forest.sizes.tolist() == [10, 2, 2]
    assert forest.parent.tolist() == [-1, 0, 1, 1, 0, 4, 4, 6, 6, 0, -1, 0, -1, 0]
    assert forest.pos.tolist() == [0, 0, 0, 1, 1, 0, 1, 0, 1, 2, 0, 0, 0, 0]
    assert names_of(forest, "label") == [
        *("S", "NP-SBJ", "NNP", "NNP", "VP", "VBZ", "NP-PRD", None, "NN", "."),
        *("S", "VB", "FRAG", "UH"),
    ]
    assert names_of(forest, "word") == [
        *(None, None, "Mr.", "Vinken", None, "is", None, "old", "chairman", "."),
        *(None, "Go", None, "Yes"),
    ]


TREES = constituents(["S", "NP", "NP-SBJ=1", "-NONE-", ","], ["a", "NP", "*T*-1", "\xe9t\xe9"])


@given(
    trees=st.lists(TREES, min_size=1, max_size=4),
    space=st.sampled_from([" ", "\n  ", "\r\n"]),
    wrap=st.booleans(),
)
def test_reads_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, trees: list[Constituent], space: str, wrap: bool
) -> None:
    texts = [in_brackets(tree, space) for tree in trees]
    path = write(tmp_path_factory.mktemp("d"), "\n\n".join(f"( {t})" if wrap else t for t in texts))
    forest = read(path, "mrg").forest
    got = zip(names_of(forest, "label"), names_of(forest, "word"), forest.degree.tolist())
    assert list(got) == [row for tree in trees for row in constituent_rows(tree)]


def test_files_share_their_vocabularies(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    one, two = write(tmp_path, NEWS), write(tmp_path / "a", "(S (VB Stop) (. .))")
    together = read([one, two], "mrg")
    assert len(together) == 4
    assert names_of(together.forest, "word")[-2:] == ["Stop", "."]
    with pytest.raises(ConfigError, match="expected at least one file"):
        read([], "mrg")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("( (S (NP x))", 1, "expected a ')' for every '(', got 1 left open at the end of the text"),
        ("\n(S (A x))\n(B y\n(C d)\n", 3, "got 1 left open at the end of the text; is it cut off?"),
        ("(S (A x))\n(S (A x)))\n", 2, "got a ')' that closes nothing"),
        ("(S (A x))\nhello", 2, "expected a tree in brackets, got 'hello'"),
        ("( )", 1, "expected a tree in a bracket without a label, got none"),
        ("(S\n((A b)) x)", 2, "missing a label at the beginning of a bracket"),
        ("(S (A x)\n (B))", 2, "expected a word or constituents after a label, got none"),
        (b"(S (A x)\n (B \xe9))", 2, "expected UTF-8 text, got the byte 0xe9"),
    ],
)
@pytest.mark.parametrize("trees", [1, 100])
def test_bad_lines(tmp_path: Path, text: str | bytes, line: int, message: str, trees: int) -> None:
    path = write(tmp_path, text)
    with pytest.raises(TreeError) as caught:
        list(FORMATS["mrg"].chunks(path, trees=trees))
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_a_tag_that_a_frozen_vocabulary_lacks(tmp_path: Path) -> None:
    path = write(tmp_path, NEWS)
    vocabs = {"label": Vocabulary(["S", "NP-SBJ", "NNP", "VP"], frozen=True)}
    with pytest.raises(TreeError, match=r":4: expected one of the 4 known names .*, got 'VBZ'"):
        read(path, "mrg", vocabs=vocabs)

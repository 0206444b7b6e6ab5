from __future__ import annotations

import pytest

from dgltrees import Forest, TreeError
from dgltrees.papers.top_down.tasks.reading import ending, shape, with_spelling
from dgltrees.trees import Vocabulary


@pytest.mark.parametrize(
    ("word", "end", "form"),
    [
        ("Walking", "ing", "Xx"),
        ("at", "at", "x"),
        ("U.S.", ".s.", "X.X."),
        ("1,214", "214", "d,d"),
        ("McKay's", "y's", "XxXx'x"),
        ("ÉCOLE", "ole", "X"),
        ("--", "--", "--"),
    ],
)
def test_endings_and_shapes_of_words(word: str, end: str, form: str) -> None:
    assert ending(word) == end
    assert shape(word) == form


def test_columns_follow_the_words() -> None:
    words = Vocabulary(["<root>", "Running", "sewing", "7"])
    forest = Forest.build([-1, 0, 1, 1], columns={"word": [0, 2, 1, 3]}, vocabs={"word": words})
    endings = Vocabulary(["<unk>", "ing"], unknown="<unk>", frozen=True)
    spelled = with_spelling(forest, {"ending": endings, "shape": Vocabulary()})
    assert endings.decode(spelled.columns["ending"]) == ["<unk>", "ing", "ing", "<unk>"]
    assert spelled.vocabs["shape"].decode(spelled.columns["shape"]) == ["<x>", "x", "Xx", "d"]
    assert (spelled.columns["word"] == forest.columns["word"]).all()
    with pytest.raises(TreeError, match="expected a vocabulary 'word'"):
        with_spelling(Forest.build([-1]), {})

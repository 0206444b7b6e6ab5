from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dgltrees import TreeError
from dgltrees.papers.top_down.data.kbest import read_kbest
from tests.trees.nested import write


def analysis(words: str, heads: Sequence[int], **comments: object) -> str:
    lines = [f"# {key} = {value}" for key, value in comments.items()]
    lines += [
        f"{i}\t{word}\t_\t_\t_\t_\t{head}\t_\t_\t_"
        for i, (word, head) in enumerate(zip(words.split(), heads), start=1)
    ]
    return "\n".join(lines) + "\n\n"


BY_ID = (
    analysis("a b", [0, 1], sent_id="x", score=-1.5)
    + analysis("a b", [2, 0], sent_id="x", score=-12)
    + analysis("a b", [0, 1], sent_id="y")
)
BY_NUMBER = (
    analysis("a b", [0, 1], analysis=1, score=-1.5)
    + analysis("a b", [2, 0], analysis=2, score=-12)
    + analysis("a b", [0, 1], analysis=1)
)


@pytest.mark.parametrize(("text", "ids"), [(BY_ID, ["x", "y"]), (BY_NUMBER, [None, None])])
def test_analyses_of_a_sentence_share_an_id_or_are_numbered(
    tmp_path: Path, text: str, ids: list[str | None]
) -> None:
    lists = read_kbest(write(tmp_path, text))
    assert len(lists) == 2
    assert lists.ids == ids
    assert lists.offsets.tolist() == [0, 2, 3]
    np.testing.assert_array_equal(lists.score, [-1.5, -12, np.nan])
    assert lists.forest.parent.tolist() == [-1, 0, 1, -1, 2, 0, -1, 0, 1]


def test_files_are_joined(tmp_path: Path) -> None:
    path = write(tmp_path, BY_ID)
    lists = read_kbest([path, path], lower=True)
    assert lists.offsets.tolist() == [0, 2, 3, 5, 6]
    assert lists.ids == ["x", "y", "x", "y"]


@pytest.mark.parametrize(
    ("more", "line", "message"),
    [
        (analysis("a c", [0, 1], sent_id="y"), 17, "first analysis (line 11), got 'c' for 'b'"),
        (analysis("a", [0], sent_id="y"), 15, "first analysis (line 11), got 1 for 2 words"),
        (analysis("a", [0], sent_id="x"), 15, "one after the other, got 'x' again"),
        (analysis("a", [0]), 15, "expected the comment '# sent_id = ...' or '# analysis = 1'"),
        (analysis("a", [0], analysis=2), 15, "'# analysis = 1', got # analysis = 2"),
        (analysis("a", [0], sent_id="z", score="high"), 15, "expected a number in '# score = ...'"),
        (analysis("a", [0], sent_id="z", score="nan"), 15, "expected a number in '# score = ...'"),
        (analysis("a b", [2, 1], sent_id="z"), 16, "got no root"),
    ],
)
def test_bad_files(tmp_path: Path, more: str, line: int, message: str) -> None:
    path = write(tmp_path, BY_ID + more)
    with pytest.raises(TreeError) as caught:
        read_kbest(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_a_number_that_is_skipped_is_an_error(tmp_path: Path) -> None:
    text = BY_NUMBER + analysis("a b", [0, 1], analysis=3)
    with pytest.raises(TreeError, match=r":15: .* '# analysis = 2', got # analysis = 3"):
        read_kbest(write(tmp_path, text))
    for numbers, got in ((2, 1), 2), ((1, 3), 3):
        text = "".join(analysis("a b", [0, 1], sent_id="x", analysis=each) for each in numbers)
        number = numbers.index(got) + 1
        with pytest.raises(TreeError, match=f"'# analysis = {number}', got .* {got}"):
            read_kbest(write(tmp_path, text))

from pathlib import Path

import pytest

from dgltrees import LabeledTrees, TreeError, read
from dgltrees.papers.nti.data.pairs import WordRules
from dgltrees.papers.nti.data.wikiqa import stream_wikiqa
from tests.trees.nested import assert_same, write

HEAD = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
TEXT = "who is it ?\tIt is Ada .\t1\nwho  is it ? \tno\t0\nwhy ?\tno\t0\nhow ?\ta\t0\n"


def test_a_file_of_plain_lines(tmp_path: Path) -> None:
    data = read(write(tmp_path, TEXT), "wikiqa")
    assert data.columns["question"].tolist() == [0, 0, 1, 2]  # spaces do not matter
    assert data.columns["sentence"].tolist() == [0, 1, 0, 0]
    assert data.columns["target"].tolist() == [1, 0, 0, 0]
    assert data.forest.sizes.tolist() == [4, 4, 4, 1, 2, 1, 2, 1]
    shared = data.forest.columns["shared"][:8].tolist()
    assert shared == [False, True, True, False, True, True, False, False]  # is it, It is


def test_the_official_file(tmp_path: Path) -> None:
    rows = [
        ("Q0", "Who's it?", "D1", "Ada", "D1-9", 'It\'s "Ada".', "1"),
        ("Q0", "Who's it?", "D1", "Ada", "D1-10", "No.", "0"),
        ("Q1", "Who's it?", "D2", "Bob", "D2-0", "Yes.", "0"),
    ]
    data = read(write(tmp_path, HEAD + "".join("\t".join(row) + "\n" for row in rows)), "wikiqa")
    assert data.columns["question"].tolist() == [0, 0, 1]
    assert data.columns["rank"].tolist() == [1, 0, 0]  # "D1-10" before "D1-9"
    words = data.forest.vocabs["word"].decode(data.forest.columns["word"])
    assert words[:9] == ["Who", "'s", "it", "?", "It", "'s", '"', "Ada", '"']


def test_sentences_without_ids_are_ranked_by_their_numbers(tmp_path: Path) -> None:
    data = read(write(tmp_path, "".join(f"q\ts\t{i % 2}\n" for i in range(12))), "wikiqa")
    assert data.columns["rank"].tolist() == [0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 2, 3]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_question_is_in_one_chunk(tmp_path: Path, size: int) -> None:
    path = write(tmp_path, TEXT)
    chunks = list(stream_wikiqa(path, size))
    assert [len(chunk) for chunk in chunks] == {1: [2, 1, 1], 2: [2, 2], 3: [3, 1]}[size]
    assert_same(LabeledTrees.concat(chunks), read(path, "wikiqa"))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("q\ts\t0\nq\ts\n", 2, "question TAB sentence TAB 0/1, 3 fields, got 2; is the line"),
        ("q\ts\t2\n", 1, "one of the 2 known names .*, got '2'"),
        ("q\t \t0\n", 1, "at least one word in a sentence"),
        ("QuestionID\tQuestion\n", 1, "expected the fields QuestionID, Question, SentenceID"),
        (HEAD + "Q1\twhy\tD1\n", 2, "expected 7 fields, got 3"),
        ("q\ts\t0\nr\ts\t0\nq \tt\t1\n", 3, "all sentences of a question together, got 'q' again"),
        ("q\ts t u v\t0\n", 1, "at most 3 words, got 4"),
    ],
)
def test_bad_lines(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(TreeError, match=message) as caught:
        read(path, "wikiqa", rules=WordRules(max_words=3))
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_words_that_are_cut_off_are_not_shared(tmp_path: Path) -> None:
    path = write(tmp_path, "a b c\tc\t0\n")
    data = read(path, "wikiqa", rules=WordRules(max_words=2, truncate=True))
    assert not data.forest.columns["shared"].any()

from pathlib import Path

import pytest

from dgltrees import TreeError
from dgltrees.papers.top_down.data.questions import read_answers, read_questions
from tests.trees.nested import write

HEADER = "id,question,a),b),c),d),e)\n"
ROWS = (
    '7,"She _____ it, twice.",saw,sea,see,sew,sun\n8,_____ it is.,Now,Never,Here,So,"Then, too"\n'
)


def test_questions(tmp_path: Path) -> None:
    one, two = read_questions(write(tmp_path, HEADER + ROWS))
    assert one.id == "7"
    assert one.sentences[:2] == ["She saw it, twice.", "She sea it, twice."]
    assert two.candidates[4] == "Then, too"


def test_a_row_over_two_lines(tmp_path: Path) -> None:
    text = HEADER + '7,"She _____ it,\r\ntwice.",saw,sea,see,sew,sun\r\n' + "8,dots,a,b,c,d,e\n"
    with pytest.raises(TreeError, match=":4: expected one blank"):
        read_questions(write(tmp_path, text))


def test_answers_in_any_order(tmp_path: Path) -> None:
    questions = read_questions(write(tmp_path, HEADER + ROWS))
    assert read_answers(write(tmp_path, "id,answer\n8,e\n7,B)\n"), questions) == [1, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the columns id,question"),
        (HEADER, "expected a question below the names of the columns, got none"),
        ("id,question\n", r":1: expected the columns id,question,a\),.*got 'id,question'"),
        (HEADER + "1,a _____,b,c,d,e\n", ":2: expected 7 columns .* got 6"),
        (HEADER + "1,no blank,a,b,c,d,e\n", ":2: expected one blank _____ .* got 'no blank'"),
        (HEADER + "1,_____ and _____,a,b,c,d,e\n", ":2: expected one blank"),
        (HEADER + "1,_______,a,b,c,d,e\n", ":2: expected one blank"),
        (HEADER + ROWS + "9,_____,a,,c,d,e\n", ":4: expected five candidates.* one is missing"),
        (HEADER + ROWS + ROWS, ":4: expected every question once, got '7' again"),
        (HEADER + '1,"_____,a,b,c,d,e\n', "expected CSV, got"),
    ],
)
def test_bad_questions(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        read_questions(write(tmp_path, text))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("7,a\n", ":2: expected an answer to each of 2 questions, got none to '8'"),
        ("", ":1: .*got none to '7' and 1 more"),
        ("7,a\n8,f\n", ":3: expected a letter from a to e, got 'f'"),
        ("7,a\n8,\n", ":3: expected a letter from a to e, got ''"),
        ("7,a\n8,b\n9,c\n", ":4: expected one answer to each question, got one of another .* '9'"),
        ("7,a\n7,a\n", ":3: .* got a second one, '7'"),
    ],
)
def test_bad_answers(tmp_path: Path, rows: str, message: str) -> None:
    questions = read_questions(write(tmp_path, HEADER + ROWS))
    with pytest.raises(TreeError, match=message):
        read_answers(write(tmp_path, "id,answer\n" + rows), questions)


def test_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    path.write_bytes(HEADER.encode() + "1,_____ caf\xe9,a,b,c,d,e\n".encode("latin-1"))
    with pytest.raises(TreeError, match=r"questions\.csv:2: expected UTF-8 .* byte 0xe9"):
        read_questions(path)

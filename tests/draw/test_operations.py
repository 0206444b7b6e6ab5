"""Reading drawn step by step, against a stack of lists."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings

from dgltrees import TreeError
from dgltrees.draw import OperationsDrawing, draw_operations
from dgltrees.draw.operations_text import HIGHEST
from tests.trees.operations.sequences import MERGE, RECUR, SPLIT, Sequences, sequences

SVG = "{http://www.w3.org/2000/svg}"
BRACKETS = {"(": SPLIT, ")": MERGE}


def expression(text: str, **options: object) -> OperationsDrawing:
    return draw_operations([BRACKETS.get(char, RECUR) for char in text], text, **options)


def by_a_stack(operations: list[int], tokens: list[str]) -> list[list[str]]:
    """What has been read of each open sub-tree and nothing below it, after each step."""
    stack, states = [""], []
    for operation, token in zip(operations, tokens):
        if operation == SPLIT:
            stack.append("")
        stack[-1] += token
        if operation == MERGE:
            inner = stack.pop()
            stack[-1] += inner
        states.append(list(stack))
    return states


def boxes(drawing: OperationsDrawing) -> list[list[tuple[str, float, float]]]:
    """Of each step its boxes: class, left and right."""
    steps = [g for g in ET.fromstring(drawing.svg).iter(f"{SVG}g") if g.get("class") == "step"]
    return [
        [
            (r.get("class"), float(r.get("x")), float(r.get("x")) + float(r.get("width")))
            for r in step.iter(f"{SVG}rect")
        ]
        for step in steps
    ]


@settings(max_examples=40)
@given(sequences(max_sequences=1, max_opens=0))
def test_parts_are_what_a_stack_holds(drawn: Sequences) -> None:
    operations = drawn[0][1:]
    if not operations:
        return
    tokens = [chr(ord("a") + place) for place in range(len(operations))]
    drawing = draw_operations(operations, tokens)
    found = [["".join(tokens) for _, tokens in step.parts] for step in drawing.steps]
    assert found == by_a_stack(operations, tokens)
    for step, rects in zip(drawing.steps, boxes(drawing)):
        assert [name for name, *_ in rects] == ["stack"] * (len(step.parts) - 1) + ["current"]
        for (*_, right), (_, left, _) in zip(rects, rects[1:]):
            assert left - right == pytest.approx(2, abs=0.21)  # side by side


def test_text() -> None:
    assert expression("(1+(2*3))", title="nine").text.splitlines() == [
        "nine",
        "step  token  operation  open  stack │ sub-tree",
        "   1  (      SPLIT      1     · │ (",
        "   2  1      RECUR      1     · │ ( 1",
        "   3  +      RECUR      1     · │ ( 1 +",
        "   4  (      SPLIT      2     · │ ( 1 + │ (",
        "   5  2      RECUR      2     · │ ( 1 + │ ( 2",
        "   6  *      RECUR      2     · │ ( 1 + │ ( 2 *",
        "   7  3      RECUR      2     · │ ( 1 + │ ( 2 * 3",
        "   8  )      MERGE      1     · │ ( 1 + ( 2 * 3 )",
        "   9  )      MERGE      0     ( 1 + ( 2 * 3 ) )",
    ]


def test_steps_without_tokens() -> None:
    drawing = draw_operations([RECUR, SPLIT, RECUR, MERGE], ["a", "b"], recur_only=True)
    assert [line.rstrip() for line in drawing.text.splitlines()[1:]] == [
        "   1  a      RECUR      0     a",
        "   2         SPLIT      1     a │ ·",
        "   3  b      RECUR      1     a │ b",
        "   4         MERGE      0     a b",
    ]
    assert [len(rects) for rects in boxes(drawing)] == [1, 2, 2, 1]


def test_lines_stay_short() -> None:
    deep = expression("(" * 500)
    *_, last = deep.lines()
    assert f"⋯{500 - HIGHEST} │ (" in last
    assert len(last) < 100
    long = expression("1+" * 500)
    assert long.text.splitlines()[-1].endswith("0     1 … +")
    assert f"...{500 - HIGHEST} | (" in [*deep.lines(ascii_only=True)][-1]


def test_ascii() -> None:
    drawing = draw_operations([RECUR, SPLIT], ["é", "\x1b"], title="→")
    assert "".join(drawing.lines(ascii_only=True)).isascii()
    assert "\x1b" not in drawing.text


def test_the_picture_is_a_page_of_its_own(tmp_path) -> None:
    drawing = expression("((9+(2+6))+(1*3))", title="<&>")
    page = ET.fromstring(drawing.svg)
    rights = [right for rects in boxes(drawing) for *_, right in rects]
    assert max(rights) <= float(page.get("width"))
    assert page.get("aria-label") == "17 steps of reading, with up to 3 entries on the stack"
    assert next(page.iter(f"{SVG}text")).text == "<&>"
    drawing.save(tmp_path / "a.svg")
    drawing.save(tmp_path / "a.txt")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == drawing.svg == drawing._repr_svg_()
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == str(drawing) + "\n"


def test_a_picture_too_large() -> None:
    drawing = expression("1+2", svg_limit=5)
    assert drawing._repr_svg_() is None
    assert "3 steps of reading" in repr(drawing)
    with pytest.raises(TreeError, match="at most 5 nodes to draw as SVG, got 6"):
        _ = drawing.svg


@pytest.mark.parametrize(
    ("operations", "tokens", "options", "message"),
    [
        ([], [], {}, r"expected operations SPLIT, RECUR or MERGE \(1 to 3\), got \[\]"),
        ([0, 1], "ab", {}, r"SPLIT, RECUR or MERGE .*, got \[0, 1\]"),
        ([1, 3, 3], "abc", {}, "node 2: expected a split for every merge"),
        ([1, 2], "a", {}, "expected a token for each of 2 steps, got 1"),
        ([1, 2], "ab", {"recur_only": True}, "expected a token for each of 1 steps, got 2"),
    ],
)
def test_what_cannot_be_drawn(operations, tokens, options, message) -> None:
    with pytest.raises(TreeError, match=message):
        draw_operations(operations, tokens, **options)

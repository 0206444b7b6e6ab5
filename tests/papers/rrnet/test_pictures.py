"""Operation sequences drawn step by step, against a stack of strings."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from dgltrees import TreeError
from dgltrees.papers.rrnet.pictures import MAX_ENTRIES, OperationsDrawing, draw_operations
from tests.cells.sequences import MERGE, RECUR, SPLIT, Sequences, sequences
from tests.draw.laws import every_law
from tests.draw.svg import SVG, canvas_size, of_class, rectangle

BRACKETS = {"(": SPLIT, ")": MERGE}


def expression(text: str, **options: Any) -> OperationsDrawing:
    return draw_operations([BRACKETS.get(char, RECUR) for char in text], text, **options)


def by_a_stack(operations: list[int], tokens: list[str]) -> list[list[str]]:
    """The tokens of each open sub-tree, without those of open sub-trees in it, after each step."""
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
    """The boxes of each step: class, left and right."""
    return [
        [
            (rect.get("class", ""), rectangle(rect)[0], rectangle(rect)[2])
            for rect in step.iter(f"{SVG}rect")
        ]
        for step in of_class(drawing.svg, "step")
    ]


@settings(max_examples=40)
@given(sequences(max_sequences=1, max_opens=0))
def test_segments_are_the_entries_of_a_stack(sequence: Sequences) -> None:
    operations = sequence[0][1:]
    if not operations:
        return
    tokens = [chr(ord("a") + place) for place in range(len(operations))]
    drawing = draw_operations(operations, tokens)
    segments = [["".join(tokens) for _, tokens in step.segments] for step in drawing.steps]
    assert segments == by_a_stack(operations, tokens)
    for step, rects in zip(drawing.steps, boxes(drawing)):
        assert [name for name, *_ in rects] == ["stack"] * (step.stack_size) + ["current"]
        for (*_, right), (_, left, _) in itertools.pairwise(rects):
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
    deep = expression("(" * 200)
    *_, last = deep.lines()
    assert f"⋯{200 - MAX_ENTRIES} │ (" in last
    assert len(last) < 100
    long = expression("1+" * 100)
    assert long.text.splitlines()[-1].endswith("0     1 … +")
    assert f"...{200 - MAX_ENTRIES} | (" in [*deep.lines(ascii_only=True)][-1]


def test_control_characters_are_escaped() -> None:
    assert "\x1b" not in draw_operations([RECUR], ["\x1b"]).text


def test_boxes_stay_on_the_canvas() -> None:
    drawing = expression("((9+(2+6))+(1*3))")
    right_ends = [right for rects in boxes(drawing) for *_, right in rects]
    assert max(right_ends) <= canvas_size(drawing.svg)[0]


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
def test_what_cannot_be_drawn(
    operations: list[int], tokens: Sequence[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TreeError, match=message):
        draw_operations(operations, tokens, **options)


@every_law
def test_a_drawing_keeps_the_laws(law: Callable[..., None], tmp_path: Path) -> None:
    law(
        lambda title="", **limit: draw_operations([1, 2, 3], "(a)", title=title, **limit),
        6,
        "OperationsDrawing(3 steps of reading, with up to 1 entries on the stack: print it for "
        "text, .svg for a picture of up to {} tokens)",
        tmp_path,
    )

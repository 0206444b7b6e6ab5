"""The scanner of bracketed text, against a machine with a stack."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import TreeError, Vocabulary
from dgltrees.trees.builders.scan import scan

TOKENS = st.lists(st.sampled_from(["(", ")", "a", "bc", "\u00e9"]), max_size=30)


def balance(tokens: list[str]) -> list[str]:
    """Leave out what closes nothing, close what is left open."""
    balanced, depth = [], 0
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if depth < 0:
            depth = 0
        else:
            balanced.append(token)
    return balanced + [")"] * depth


def slow(tokens: list[str]) -> list[tuple[int, int, int, str | None]]:
    """``(depth, parent, place, name)`` of every item, with a stack."""
    rows: list[tuple[int, int, int, str | None]] = []
    stack: list[int] = []
    counts = [0]
    for token in tokens:
        if token == ")":
            stack.pop()
            counts.pop()
            continue
        name = None if token == "(" else token
        rows.append((len(stack), stack[-1] if stack else -1, counts[-1], name))
        counts[-1] += 1
        if token == "(":
            stack.append(len(rows) - 1)
            counts.append(0)
    return rows


@given(tokens=TOKENS.map(balance), spaces=st.lists(st.sampled_from(["", " ", "\n", "\t "])))
def test_items_equal_a_stack_machine(tokens: list[str], spaces: list[str]) -> None:
    text = ""
    for i, token in enumerate(tokens):
        space = spaces[i % len(spaces)] if spaces else ""
        words = text[-1:] not in ("", "(", ")", " ", "\n") and token not in "()"
        text += (space or " " * words) + token
    items = scan(text.encode(), by_line=False)
    names = [None if i < 0 else items.names[i] for i in items.name]
    got = zip(items.depth.tolist(), items.parent.tolist(), items.place.tolist(), names)
    assert list(got) == slow(tokens)
    suffixes = [text.encode()[start:].decode() for start in items.start]
    assert all(suffix.startswith(name or "(") for suffix, name in zip(suffixes, names))


def test_depths_beyond_16_bits() -> None:
    items = scan(b"(" * 40_000 + b"a" + b")" * 40_000)
    np.testing.assert_array_equal(items.parent, np.arange(-1, 40_000))
    np.testing.assert_array_equal(items.depth, np.arange(40_001))


def test_lines_count_from_the_first() -> None:
    items = scan(b"a\n\n(b\nc)", by_line=False, first_line=10)
    assert items.line(np.arange(4)).tolist() == [10, 12, 12, 13]


def test_white_space_is_what_bytes_split_at() -> None:
    assert scan(b"a\x0bb\x0cc\x1cd\r\ne").names == ["a", "b", "c\x1cd", "e"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a)", 1, "a ')' that closes nothing"),
        ("(a)\n)(", 2, "a ')' that closes nothing"),
        ("(a\n(b", 1, "got 1 left open at the end of the line"),
        ("(a\nb))", 1, "got 1 left open at the end of the line"),
        ("a\n((b)", 2, "got 1 left open at the end of the line"),
    ],
)
def test_every_line_is_balanced(text: str, line: int, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        scan(text.encode())
    assert str(caught.value).startswith(f"line {line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("(a\nb)\n)", 3, "a ')' that closes nothing"),
        ("(a)\n\n(b\n(c)\n", 3, "got 1 left open at the end of the text"),
        ("((((\n", 1, "got 4 left open at the end of the text"),
    ],
)
def test_all_lines_are_balanced(text: str, line: int, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        scan(text.encode(), by_line=False)
    assert str(caught.value).startswith(f"line {line}: ")
    assert message in str(caught.value)


@given(words=st.lists(st.sampled_from("abcd"), max_size=12), data=st.data())
def test_names_enter_a_vocabulary_in_the_order_of_their_use(
    words: list[str], data: st.DataObject
) -> None:
    items = scan(" ".join(words).encode())
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words))))
    vocab, expected = Vocabulary(["d"]), Vocabulary(["d"])
    ids = items.encode(chosen.astype(bool), vocab)
    used = [word for word, use in zip(words, chosen) if use]
    np.testing.assert_array_equal(ids[chosen.astype(bool)], expected.encode(used))
    np.testing.assert_array_equal(ids[~chosen.astype(bool)], -1)
    assert vocab == expected

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic.draws import stream
from dgltrees.papers.rrnet.data import generate_mee as mee
from dgltrees.papers.rrnet.data.arithmetic import SYMBOLS
from dgltrees.papers.rrnet.data.generate_mee import make_mee
from tests.formats.synthetic.generated import fields

LENGTHS = [1, 2, 4, 7]


Files = dict[str, list[list[str]]]  # [value, expression] per line


def values_of_brackets(expression: str) -> list[int]:
    """The values of all brackets of an expression, the outermost last."""
    values: list[int] = []
    while "(" in expression:
        inner = re.search(r"\((-?\d+)([-+*%])(-?\d+)\)", expression)
        assert inner is not None
        values.append(eval(inner[0]))
        expression = expression[: inner.start()] + str(values[-1]) + expression[inner.end() :]
    return values


def left_size(expression: str) -> int:
    """The number of operators to the left of the root."""
    depth = 0
    for place, letter in enumerate(expression):
        depth += (letter == "(") - (letter == ")")
        if depth == 1 and letter in SYMBOLS:
            return len(re.findall(r"[-+*%]", expression[:place]))
    raise AssertionError(expression)


def texts(drawn: mee.Expressions) -> Iterator[str]:
    """The text of every expression, joined digit by digit."""
    rows = zip(*(column.tolist() for column in drawn[:4]))
    for digits, operators, opens, closes in rows:
        signs = [SYMBOLS[o] for o in operators] + [""]
        pieces = zip(opens, digits, closes, signs)
        yield "".join(f"{'(' * o}{d}{')' * c}{sign}" for o, d, c, sign in pieces)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    out = tmp_path_factory.mktemp("mee")
    paths = make_mee(out, train=60, valid=10, test=30, lengths=LENGTHS, seed=5)
    return {name: fields(path) for name, path in paths.items()}


def test_the_expressions_of_all_splits_are_distinct(files: Files) -> None:
    assert {name: len(lines) for name, lines in files.items()} == {
        f"{split}{n}": size
        for n in LENGTHS
        for split, size in (("train", 60), ("valid", 10), ("test", 30))
    }
    expressions = [expression for lines in files.values() for _, expression in lines]
    assert len(set(expressions)) == len(expressions)


def test_every_bracket_has_one_operator_and_values_two_digits(files: Files) -> None:
    form = r"\((?:\d|@)[-+*%](?:\d|@)\)"
    for name, lines in files.items():
        n = int(name.lstrip("trainvldes"))
        for value, expression in lines:
            assert int(value) == eval(expression) in range(10, 100)
            assert len(expression) == 4 * n + 1
            reduced, count = expression, 0
            while reduced != "@":
                reduced, brackets = re.subn(form, "@", reduced)
                assert brackets
                count += brackets
            assert count == n


def test_brackets_within_an_expression_may_be_negative(files: Files) -> None:
    expressions = [expression for _, expression in files["train7"]]
    assert any(min(values_of_brackets(expression)) < 0 for expression in expressions)


def test_no_bracket_is_negative_with_positive(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"train": 200, "valid": 0, "test": 0, "lengths": [2, 5]}
    paths = make_mee(tmp_path, positive=True, **sizes)
    for n in (2, 5):
        for value, expression in fields(paths[f"train{n}"]):
            values = values_of_brackets(expression)
            assert values[-1] == int(value) == eval(expression)
            assert min(values) >= 0


@pytest.mark.parametrize("n", [1, 3, 6, 18])
def test_values_are_those_of_python(n: int) -> None:
    drawn = mee.draw_expressions(stream("test", n), n, 300)
    for i, expression in enumerate(texts(drawn)):
        try:
            assert eval(expression) == drawn.value[i]
            assert drawn.defined[i]
            assert drawn.negative[i] == (min(values_of_brackets(expression)) < 0)
        except ZeroDivisionError:
            assert not drawn.defined[i]


def test_the_number_of_operators_left_of_the_root_is_uniform() -> None:
    drawn = mee.draw_expressions(stream("left"), 5, 5_000)
    counts = Counter(map(left_size, texts(drawn)))
    assert sorted(counts) == [0, 1, 2, 3, 4]
    assert all(900 < count < 1_100 for count in counts.values())
    # and within the bracket on the left, here of three operators
    lefts = [text for text in texts(drawn) if left_size(text) == 3]
    inner = Counter(left_size(text[1:]) for text in lefts)
    assert sorted(inner) == [0, 1, 2]
    assert all(270 < count < 400 for count in inner.values())


def test_operators_and_digits_are_uniform() -> None:
    drawn = mee.draw_expressions(stream("even"), 7, 2_000)
    for column, kinds in ((drawn.operators, 4), (drawn.digits, 10)):
        share = np.bincount(column.ravel(), minlength=kinds) / column.size
        np.testing.assert_allclose(share, 1 / kinds, atol=0.015)


def test_length_1_gives_all_its_expressions_and_no_more(tmp_path: Path) -> None:
    expected = {
        f"({a}{sign}{b})"
        for a, sign, b in itertools.product(range(10), SYMBOLS, range(10))
        if not (sign == "%" and b == 0) and 10 <= eval(f"{a}{sign}{b}") < 100
    }
    sizes: dict[str, Any] = {"valid": 2, "test": 3, "lengths": [1]}
    paths = make_mee(tmp_path / "all", train=len(expected) - 5, **sizes)
    assert {text for path in paths.values() for _, text in fields(path)} == expected
    with pytest.raises(ConfigError) as caught:
        make_mee(tmp_path / "more", train=len(expected) - 4, **sizes)
    assert str(caught.value) == (
        f"expected at most {len(expected)} expressions of length 1 in all splits together, since "
        f"50,000 more draws gave no other, got {len(expected) + 1}; reduce train, valid or test"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["all"]


def test_a_length_depends_neither_on_the_others_nor_on_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: dict[str, Any] = {"train": 30, "valid": 0, "test": 20}
    one = make_mee(tmp_path / "one", lengths=[5], **sizes)
    monkeypatch.setattr(mee, "BLOCK", 77)
    two = make_mee(tmp_path / "two", lengths=[3, 5], **sizes)
    for name in ("train5", "test5"):
        assert one[name].read_bytes() == two[name].read_bytes()

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter

import numpy as np
import pytest

from dgltrees.errors import ConfigError
from dgltrees.formats.arithmetic import SYMBOLS
from dgltrees.formats.synthetic import make_mee, mee
from dgltrees.formats.synthetic.draws import stream

LENGTHS = [1, 2, 4, 7]


def read(path):
    """The (value, expression) pairs of a file."""
    return [tuple(line.split("\t")) for line in path.read_text(encoding="ascii").splitlines()]


def parts(expression):
    """The values of all parts of an expression that are in brackets, the whole's last."""
    values = []
    while "(" in expression:
        inner = re.search(r"\((-?\d+)([-+*%])(-?\d+)\)", expression)
        values.append(eval(inner[0]))
        expression = expression[: inner.start()] + str(values[-1]) + expression[inner.end() :]
    return values


def left_size(expression):
    """How many operators stand on the left of the root."""
    depth = 0
    for place, letter in enumerate(expression):
        depth += (letter == "(") - (letter == ")")
        if depth == 1 and letter in SYMBOLS:
            return len(re.findall(r"[-+*%]", expression[:place]))
    raise AssertionError(expression)


def texts(drawn):
    """All drawn expressions, put together digit by digit."""
    rows = zip(*(column.tolist() for column in drawn[:4]))
    for digits, operators, opens, closes in rows:
        signs = [SYMBOLS[o] for o in operators] + [""]
        pieces = zip(opens, digits, closes, signs)
        yield "".join(f"{'(' * o}{d}{')' * c}{sign}" for o, d, c, sign in pieces)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("mee")
    paths = make_mee(out, train=60, valid=10, test=30, lengths=LENGTHS, seed=5)
    del paths["manifest"]
    return {name: read(path) for name, path in paths.items()}


def test_sizes_and_distinctness_over_all_splits(made):
    assert {name: len(lines) for name, lines in made.items()} == {
        f"{split}{n}": size
        for n in LENGTHS
        for split, size in (("train", 60), ("valid", 10), ("test", 30))
    }
    expressions = [expression for lines in made.values() for _, expression in lines]
    assert len(set(expressions)) == len(expressions)


def test_the_rule(made):
    form = r"\((?:\d|@)[-+*%](?:\d|@)\)"
    for name, lines in made.items():
        n = int(name.lstrip("trainvldes"))
        for value, expression in lines:
            assert int(value) == eval(expression) in range(10, 100)
            assert len(expression) == 4 * n + 1
            reduced, count = expression, 0
            while reduced != "@":
                reduced, found = re.subn(form, "@", reduced)
                assert found
                count += found
            assert count == n


def test_only_the_whole_has_to_be_positive(made):
    signs = [value < 0 for _, expression in made["train7"] for value in parts(expression)]
    assert any(signs)


def test_every_part_can_be_wanted_positive(tmp_path):
    sizes = {"train": 200, "valid": 0, "test": 0, "lengths": [2, 5]}
    paths = make_mee(tmp_path, positive=True, **sizes)
    for n in (2, 5):
        for value, expression in read(paths[f"train{n}"]):
            values = parts(expression)
            assert values[-1] == int(value) == eval(expression)
            assert min(values) >= 0


@pytest.mark.parametrize("n", [1, 3, 6, 18])
def test_what_is_drawn_is_what_python_finds(n):
    drawn = mee.draw_expressions(stream("test", n), n, 300)
    for i, expression in enumerate(texts(drawn)):
        try:
            assert eval(expression) == drawn.value[i]
            assert drawn.defined[i]
            assert drawn.negative[i] == (min(parts(expression)) < 0)
        except ZeroDivisionError:
            assert not drawn.defined[i]


def test_the_left_side_is_as_large_as_any():
    drawn = mee.draw_expressions(stream("left"), 5, 5_000)
    counts = Counter(map(left_size, texts(drawn)))
    assert sorted(counts) == [0, 1, 2, 3, 4]
    assert all(900 < count < 1_100 for count in counts.values())
    # and within a part: of three operators on the left, 0 to 2 stand on the left of theirs
    lefts = [text for text in texts(drawn) if left_size(text) == 3]
    inner = Counter(left_size(text[1:]) for text in lefts)
    assert sorted(inner) == [0, 1, 2]
    assert all(270 < count < 400 for count in inner.values())


def test_operators_and_digits_are_equally_likely():
    drawn = mee.draw_expressions(stream("even"), 7, 2_000)
    for column, kinds in ((drawn.operators, 4), (drawn.digits, 10)):
        share = np.bincount(column.ravel(), minlength=kinds) / column.size
        np.testing.assert_allclose(share, 1 / kinds, atol=0.015)


def test_every_expression_of_length_1_can_be_had_and_not_one_more(tmp_path):
    expected = {
        f"({a}{sign}{b})"
        for a, sign, b in itertools.product(range(10), SYMBOLS, range(10))
        if not (sign == "%" and b == 0) and 10 <= eval(f"{a}{sign}{b}") < 100
    }
    sizes = {"valid": 2, "test": 3, "lengths": [1]}
    paths = make_mee(tmp_path / "all", train=len(expected) - 5, **sizes)
    del paths["manifest"]
    assert {text for path in paths.values() for _, text in read(path)} == expected
    with pytest.raises(ConfigError) as caught:
        make_mee(tmp_path / "more", train=len(expected) - 4, **sizes)
    assert str(caught.value) == (
        f"{len(expected) + 1} distinct expressions of length 1 were asked for in all splits "
        f"together, but after {len(expected)} the next 50,000 draws gave nothing new; ask for fewer"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["all"]


def test_a_length_depends_neither_on_the_others_nor_on_the_block(tmp_path, monkeypatch):
    sizes = {"train": 30, "valid": 0, "test": 20}
    one = make_mee(tmp_path / "one", lengths=[5], **sizes)
    monkeypatch.setattr(mee, "BLOCK", 77)
    two = make_mee(tmp_path / "two", lengths=[3, 5], **sizes)
    for name in ("train5", "test5"):
        assert one[name].read_bytes() == two[name].read_bytes()


def test_the_bytes_are_fixed_by_the_seed(tmp_path):
    sizes = {"train": 30, "valid": 10, "test": 10, "lengths": [4, 7]}
    paths = make_mee(tmp_path / "0", seed=0, **sizes)
    again = make_mee(tmp_path / "again", seed=0, **sizes)
    other = make_mee(tmp_path / "1", seed=1, **sizes)
    everything = hashlib.sha256()
    for name, path in paths.items():
        assert path.read_bytes() == again[name].read_bytes()
        assert path.read_bytes() != other[name].read_bytes()
        everything.update(path.read_bytes())
    assert (
        everything.hexdigest() == "5273ee6384668203360fc03a7c58c8737dac170287c078a56785328a31259d1e"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"valid": -1}, "valid: expected 0 expressions or more, got -1"),
        ({"train": 0, "valid": 0, "test": 0}, "train, valid and test are all 0: "),
        ({"lengths": []}, "lengths: expected different numbers of operators from 1 to 18, got []"),
        ({"lengths": [4, 4]}, "lengths: expected different numbers of operators from 1 to 18, got"),
        ({"lengths": [0]}, "lengths: expected different numbers of operators from 1 to 18, got"),
        ({"lengths": [19]}, "lengths: expected different numbers of operators from 1 to 18, got"),
    ],
)
def test_settings_out_of_range(tmp_path, settings, message):
    with pytest.raises(ConfigError) as caught:
        make_mee(tmp_path / "out", **settings)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "out").exists()

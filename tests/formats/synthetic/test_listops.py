from __future__ import annotations

import hashlib
import re
from collections import Counter

import numpy as np
import pytest

from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import make_listops


def slow_value(words):
    """The value of an n-ary tree, by rewriting innermost brackets until one digit is left."""
    text = " ".join(words)
    while "[" in text:
        text = re.sub(r"\[(MAX|MIN|MED|SM)((?: \d)+) \]", innermost, text)
    return int(text)


def innermost(match):
    values = [int(digit) for digit in match[2].split()]
    return str(
        {
            "MAX": lambda: np.max(values),
            "MIN": lambda: np.min(values),
            "MED": lambda: int(np.median(values)),
            "SM": lambda: np.sum(values) % 10,
        }[match[1]]()
    )


def without_rounds(tree):
    return [word for word in tree.split(" ") if word not in "()"]


def arities(words):
    """The number of arguments of every operator."""
    pending, found = [0], []
    for word in words:
        if word == "]":
            found.append(pending.pop())
        else:
            pending[-1] += 1
            if word.startswith("["):
                pending.append(0)
    assert pending == [1]
    return found


def levels(words):
    """How many levels of nodes a tree has."""
    steps = [(word.startswith("[")) - (word == "]") for word in words]
    return 1 + int(np.max(np.cumsum(steps)))


def read(paths):
    """Every split as (label, tree) pairs."""
    splits = {}
    for split in ("train", "valid", "test"):
        lines = paths[split].read_text(encoding="ascii").splitlines()
        splits[split] = [tuple(line.split("\t")) for line in lines]
    return splits


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("listops")
    return read(make_listops(out, train=3000, valid=500, test=1500, seed=5))


def test_sizes_and_distinctness_over_all_splits(made):
    assert {split: len(lines) for split, lines in made.items()} == {
        "train": 3000,
        "valid": 500,
        "test": 1500,
    }
    trees = [tree for lines in made.values() for _, tree in lines]
    assert len(set(trees)) == len(trees)


def test_every_label_is_what_a_slow_interpreter_finds(made):
    for lines in made.values():
        for label, tree in lines:
            assert slow_value(without_rounds(tree)) == int(label)


def test_the_rule(made):
    trees = [without_rounds(tree) for lines in made.values() for _, tree in lines]
    assert max(map(levels, trees)) <= 20
    shapes = Counter(count for words in trees for count in arities(words))
    assert set(shapes) == {2, 3, 4, 5}
    operators = Counter(word for words in trees for word in words if word.startswith("["))
    assert set(operators) == {"[MAX", "[MIN", "[MED", "[SM"}
    digits = Counter(word for words in trees for word in words if word.isdigit())
    assert len(digits) == 10
    total = sum(operators.values())
    assert all(0.22 < count / total < 0.28 for count in operators.values())
    assert all(0.08 < count / sum(digits.values()) < 0.12 for count in digits.values())


def test_splits_are_alike(made):
    small = [
        np.mean([tree.count("[") <= 1 for _, tree in made[split]]) for split in ("train", "test")
    ]
    assert abs(small[0] - small[1]) < 0.05


def test_the_two_forms_hold_the_same_trees(tmp_path):
    sizes = {"train": 40, "valid": 0, "test": 0, "seed": 2}
    binary = make_listops(tmp_path / "binary", **sizes)["train"].read_text().splitlines()
    nary = make_listops(tmp_path / "nary", form="nary", **sizes)["train"].read_text().splitlines()
    for one, other in zip(binary, nary):
        label, tree = one.split("\t")
        assert other == f"{label}\t{' '.join(without_rounds(tree))}"
        assert rounds(other.split("\t")[1]) == tree


def rounds(tree):
    """The release's binarised form of an n-ary tree, by rewriting innermost brackets."""
    parts: list[str] = []
    while "[" in tree:
        match = re.search(r"\[(MAX|MIN|MED|SM)((?: [\d@]+)+) \]", tree)
        arguments = match[2].split()
        text = "( " * (len(arguments) + 1) + f"[{match[1]}"
        text += "".join(f" {argument} )" for argument in arguments) + " ] )"
        tree = tree[: match.start()] + f"@{len(parts)}" + tree[match.end() :]
        parts.append(text)
    while "@" in tree:
        tree = re.sub(r"@(\d+)", lambda match: parts[int(match[1])], tree)
    return tree


def test_the_depth_and_the_arguments_can_be_limited(tmp_path):
    paths = make_listops(
        tmp_path, train=200, valid=0, test=0, form="nary", max_depth=3, max_arguments=2
    )
    trees = [line.split("\t")[1].split() for line in paths["train"].read_text().splitlines()]
    assert max(map(levels, trees)) == 3
    assert {count for words in trees for count in arities(words)} == {2}


def test_one_level_is_the_ten_digits(tmp_path):
    paths = make_listops(tmp_path / "ten", train=5, valid=2, test=3, max_depth=1)
    lines = [line for lines in read(paths).values() for line in lines]
    assert sorted(lines) == [(str(digit), str(digit)) for digit in range(10)]
    with pytest.raises(ConfigError, match=r"11 distinct ListOps trees .* after 10 the next 10,000"):
        make_listops(tmp_path / "eleven", train=11, valid=0, test=0, max_depth=1)
    assert [path.name for path in tmp_path.iterdir()] == ["ten"]


def test_the_bytes_are_fixed_by_the_seed(tmp_path):
    sizes = {"train": 300, "valid": 50, "test": 50}
    paths = make_listops(tmp_path / "0", seed=0, **sizes)
    again = make_listops(tmp_path / "again", seed=0, **sizes)
    other = make_listops(tmp_path / "1", seed=1, **sizes)
    for name, path in paths.items():
        assert path.read_bytes() == again[name].read_bytes()
        assert path.read_bytes() != other[name].read_bytes()
    digests = {n: hashlib.sha256(path.read_bytes()).hexdigest() for n, path in paths.items()}
    assert digests == {
        "train": "04fa1773f3a009216a4bea58d4aa0294c87d996565b419221d5cabba3f2c27f9",
        "valid": "f44af1152d996ea30d40615b672a6944188ba41cd815f7c3e7c64f462160d62b",
        "test": "9212a4a9292a8e2961fc47e68b05d17dec06577a4e662c6f3afa611901e663b5",
        "manifest": "013e0b6427ae314accc984333fde2c03c2285594097858eb21d7fe60bcecd95b",
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"valid": -1}, "valid: expected 0 trees or more, got -1"),
        ({"train": 0, "valid": 0, "test": 0}, "train, valid and test are all 0: "),
        ({"form": "ternary"}, "form: expected 'binary' or 'nary', got 'ternary'"),
        ({"max_depth": 0}, "max_depth: expected 1 level or more, got 0"),
        ({"max_arguments": 1}, "max_arguments: expected 2 to 5, got 1"),
        ({"max_arguments": 6}, "max_arguments: expected 2 to 5, got 6"),
    ],
)
def test_settings_out_of_range(tmp_path, settings, message):
    with pytest.raises(ConfigError) as caught:
        make_listops(tmp_path / "out", **settings)
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "out").exists()

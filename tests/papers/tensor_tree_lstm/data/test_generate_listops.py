import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees.errors import ConfigError
from dgltrees.papers.tensor_tree_lstm.data.generate_listops import make_listops
from tests.formats.synthetic.generated import fields


def slow_value(words: Sequence[str]) -> int:
    """The value of an n-ary tree, by rewriting innermost brackets until one digit is left."""
    text = " ".join(words)
    while "[" in text:
        text = re.sub(r"\[(MAX|MIN|MED|SM)((?: \d)+) \]", innermost, text)
    return int(text)


def innermost(match: re.Match[str]) -> str:
    values = [int(digit) for digit in match[2].split()]
    results = {"MAX": max(values), "MIN": min(values), "SM": sum(values) % 10}
    return str(results.get(match[1], int(np.median(values))))


def without_rounds(tree: str) -> list[str]:
    return [word for word in tree.split(" ") if word not in "()"]


def arities(words: Sequence[str]) -> list[int]:
    """The number of arguments of every operator."""
    pending, counts = [0], []
    for word in words:
        if word == "]":
            counts.append(pending.pop())
        else:
            pending[-1] += 1
            if word.startswith("["):
                pending.append(0)
    assert pending == [1]
    return counts


def levels(words: Sequence[str]) -> int:
    """The number of levels of nodes of a tree."""
    steps = [(word.startswith("[")) - (word == "]") for word in words]
    return 1 + int(np.max(np.cumsum(steps)))


Splits = dict[str, list[list[str]]]  # [label, tree] per line


def read(paths: Mapping[str, Path]) -> Splits:
    return {split: fields(paths[split]) for split in ("train", "valid", "test")}


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Splits:
    out = tmp_path_factory.mktemp("listops")
    return read(make_listops(out, train=3000, valid=500, test=1500, seed=5))


def test_the_trees_of_all_splits_are_distinct(splits: Splits) -> None:
    assert {split: len(lines) for split, lines in splits.items()} == {
        "train": 3000,
        "valid": 500,
        "test": 1500,
    }
    trees = [tree for lines in splits.values() for _, tree in lines]
    assert len(set(trees)) == len(trees)


def test_labels_are_those_of_a_slow_interpreter(splits: Splits) -> None:
    for lines in splits.values():
        for label, tree in lines:
            assert slow_value(without_rounds(tree)) == int(label)


def test_trees_follow_the_rule_of_the_release(splits: Splits) -> None:
    trees = [without_rounds(tree) for lines in splits.values() for _, tree in lines]
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


def test_splits_have_the_same_distribution(splits: Splits) -> None:
    small = [
        np.mean([tree.count("[") <= 1 for _, tree in splits[split]]) for split in ("train", "test")
    ]
    assert abs(small[0] - small[1]) < 0.05


def test_both_forms_hold_the_same_trees(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"train": 40, "valid": 0, "test": 0, "seed": 2}
    binary = make_listops(tmp_path / "binary", **sizes)["train"].read_text().splitlines()
    nary = make_listops(tmp_path / "nary", form="nary", **sizes)["train"].read_text().splitlines()
    for one, other in zip(binary, nary):
        label, tree = one.split("\t")
        assert other == f"{label}\t{' '.join(without_rounds(tree))}"
        assert rounds(other.split("\t")[1]) == tree


def rounds(tree: str) -> str:
    """The release's binarised form of an n-ary tree, by rewriting innermost brackets."""
    parts: list[str] = []
    while "[" in tree:
        match = re.search(r"\[(MAX|MIN|MED|SM)((?: [\d@]+)+) \]", tree)
        assert match is not None
        arguments = match[2].split()
        text = "( " * (len(arguments) + 1) + f"[{match[1]}"
        text += "".join(f" {argument} )" for argument in arguments) + " ] )"
        tree = tree[: match.start()] + f"@{len(parts)}" + tree[match.end() :]
        parts.append(text)
    while "@" in tree:
        tree = re.sub(r"@(\d+)", lambda match: parts[int(match[1])], tree)
    return tree


def test_depth_and_arguments_can_be_limited(tmp_path: Path) -> None:
    paths = make_listops(
        tmp_path, train=200, valid=0, test=0, form="nary", max_depth=3, max_arguments=2
    )
    trees = [line.split("\t")[1].split() for line in paths["train"].read_text().splitlines()]
    assert max(map(levels, trees)) == 3
    assert {count for words in trees for count in arities(words)} == {2}


def test_one_level_has_the_ten_digits(tmp_path: Path) -> None:
    paths = make_listops(tmp_path / "ten", train=5, valid=2, test=3, max_depth=1)
    lines = [line for lines in read(paths).values() for line in lines]
    assert sorted(lines) == [[str(digit), str(digit)] for digit in range(10)]
    with pytest.raises(ConfigError, match=r"11 distinct ListOps trees .* after 10 the next 10,000"):
        make_listops(tmp_path / "eleven", train=11, valid=0, test=0, max_depth=1)
    assert [path.name for path in tmp_path.iterdir()] == ["ten"]

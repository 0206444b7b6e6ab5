"""Classes and numbers of pairs of custom trees, from a file to predictions."""

import json
from pathlib import Path
from typing import Any

import pytest

from dgltrees import ConfigError, Forest, TreeError, TreePairs, load
from dgltrees.settings.layers import Settings
from dgltrees.training.run import train
from tests.training.samples import PLANS as OWN
from tests.training.samples import SAMPLES, short

RECORDS = [
    json.loads(line)
    for line in (SAMPLES / "sick" / "relatedness_train.jsonl").read_text().splitlines()
]


def settings(preset: str, **data: Any) -> Settings:
    """A small, short run on the sample of pairs."""
    return short(preset, {**OWN["regress-pairs"], **data})


def forests(records: list[dict[str, Any]]) -> TreePairs:
    """The pairs of some records."""
    sides = ([record[key] for record in records] for key in ("first", "second"))
    return TreePairs(*(Forest.from_objects(roots, columns=["word"]) for roots in sides))


@pytest.mark.filterwarnings("ignore:trees with children under")
@pytest.mark.parametrize(
    ("preset", "data", "message"),
    [
        (
            "regress-pairs",
            {"tree_path": "first"},
            "pairs of trees .* --data.tree_path first second",
        ),
        ("regress", {}, "expected single trees for the task regress, got 2 .* regress-pairs"),
        ("regress-pairs", {"tree_path": ["first", "third"]}, "l:1: .* root under 'third'"),
        ("regress-pairs", {"target": "entailment_label"}, "train.jsonl:1: tree 0: .* a number"),
    ],
)
def test_wrong_data_are_refused(
    tmp_path: Path, preset: str, data: dict[str, Any], message: str
) -> None:
    with pytest.raises((TreeError, ConfigError), match=message):
        train(settings(preset, **{"target": "relatedness_score", **data}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_of_pairs_refuses_single_trees(tmp_path: Path) -> None:
    train(settings("regress-pairs"), tmp_path / "run")
    with pytest.raises(TreeError, match="expected pairs of trees for the task .*, got 1"):
        list(load(tmp_path / "run").predict(forests(RECORDS).first))

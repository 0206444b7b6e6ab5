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


@pytest.mark.parametrize(
    ("preset", "target", "keys"),
    [
        ("classify-pairs", "entailment_label", {"example", "prediction", "probability"}),
        ("classify-pairs", ["same", "long"], {"example", "same", "long"}),
        ("regress-pairs", "relatedness_score", {"example", "prediction"}),
        ("regress-pairs", ["relatedness_score", "long"], {"example", "relatedness_score", "long"}),
    ],
)
def test_a_run_predicts_pairs_that_have_no_target(
    tmp_path: Path, preset: str, target: str | list[str], keys: set[str]
) -> None:
    path, bare = tmp_path / "pairs.jsonl", tmp_path / "bare.jsonl"
    named = [{**r, "same": i % 2 == 0, "long": i % 3 == 0} for i, r in enumerate(RECORDS)]
    path.write_text("".join(json.dumps(record) + "\n" for record in named))
    trees = [{key: record[key] for key in ("first", "second")} for record in RECORDS]
    bare.write_text("".join(json.dumps(record) + "\n" for record in trees))
    chosen = settings(preset, train=str(path), target=target, test_fraction=0.2)
    result = train(chosen, tmp_path / "run")
    assert result["test"]["examples"] > 0
    assert set(result.get("baselines", ())) == (
        {"linear", "boosting"} if isinstance(target, str) else set()
    )
    run = load(tmp_path / "run")
    lines = list(run.predict([bare]))
    assert len(lines) == len(RECORDS)
    assert all(set(line) == keys for line in lines)
    assert [*run.predict(forests(RECORDS))] == lines
    assert run.encode(forests(RECORDS[:3])).shape == (3, 2 * 8)


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

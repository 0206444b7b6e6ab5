"""The order of custom trees within groups, from a file to scores and ranks."""

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import ConfigError, Forest, LabeledTrees, TreeError, TreeRanker, load
from dgltrees.cli import main
from dgltrees.commands.runs import _load
from dgltrees.settings.layers import Settings
from dgltrees.tasks.custom_trees.baselines import _places
from dgltrees.tasks.custom_trees.ranks import RANK
from dgltrees.tasks.splits import load_splits
from dgltrees.training.loading import automatic_batch_size, training_sampler
from dgltrees.training.run import train
from tests.tasks.custom_trees.test_numbers import without, write
from tests.training.samples import PLANS as OWN
from tests.training.samples import SAMPLES, short

PLANS = [
    json.loads(line)
    for line in (SAMPLES / "plans" / "queries" / "train.jsonl").read_text().splitlines()
]


def settings(data: dict[str, Any], **training: Any) -> Settings:
    """A small, short run on the sample."""
    return short("rank", {**OWN["rank"], **data}, **training)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rank") / "run"
    result = train(settings({"test_fraction": 0.2}), path)
    assert result["test"]["groups"] > 0
    assert set(result["baselines"]) == {"chance", "linear", "boosting"}
    assert set(result["baselines"]["linear"]) == {"valid", "test"}
    return path


def test_trees_without_a_target_have_a_score_and_a_rank_in_their_group(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = load(run)
    bare = write(tmp_path / "bare.jsonl", [without(r, "seconds", "speed") for r in PLANS])
    lines = list(loaded.predict([bare]))
    assert [line["group"] for line in lines] == [record["query"] for record in PLANS]
    for _, group in groupby(lines, key=lambda line: line["group"]):
        ranked = sorted(group, key=lambda line: line["rank"])
        assert [line["rank"] for line in ranked] == list(range(1, len(ranked) + 1))
        scores = [line["score"] for line in ranked]
        assert scores == sorted(scores, reverse=True)
    near = [{**line, "score": pytest.approx(line["score"], abs=1e-5)} for line in lines]
    for batch in (1, 3, 7):  # a group is never cut
        assert list(loaded.predict([bare], batch=batch)) == near
    with bare.open() as stdin, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", stdin)
        assert main(["predict", str(run), "--input", "-"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == near
    columns = ["Node Type", "Table", "Plan Rows", "Plan Width"]
    forest = Forest.from_objects([r["plan"] for r in PLANS], children="Plans", columns=columns)
    groups = np.array([r["query"] for r in PLANS])
    order = np.random.default_rng(0).permutation(len(PLANS))  # in Python in any order
    mixed = loaded.examples(LabeledTrees(forest, {"query": groups}).select(order), labeled=False)
    assert [line["rank"] for line in loaded.predict(mixed)] == [lines[i]["rank"] for i in order]
    assert loaded.encode(forest).shape == (len(PLANS), 8)
    why = loaded.explain([bare], 5)
    assert why.prediction == pytest.approx(lines[5]["score"], abs=1e-4)


def test_trees_without_a_group_have_a_score_alone(run: Path, tmp_path: Path) -> None:
    records = [without(r, "seconds", "query") for r in PLANS[:5]]
    records[1:3] = [{**r, "query": 3} for r in records[1:3]]
    lines = list(load(run).predict([write(tmp_path / "f.jsonl", records)], batch=2))
    assert [set(line) - {"example", "score"} for line in lines] == [
        *(set(), {"group", "rank"}, {"group", "rank"}, set(), set())
    ]
    assert {line["group"] for line in lines[1:3]} == {"3"}


def test_what_is_measured_has_groups_and_targets(run: Path, tmp_path: Path) -> None:
    for name, message in (
        ("query", "f.jsonl: missing groups in a column 'query'; .* data.group"),
        ("seconds", "expected examples with a target 'seconds', got none"),
    ):
        path = write(tmp_path / "f.jsonl", [without(r, name) for r in PLANS])
        with pytest.raises(TreeError, match=message):
            load(run).evaluate([str(path)])


@pytest.mark.filterwarnings("ignore:the nodes have categories")
def test_an_ensemble_ranks_whole_groups(tmp_path: Path) -> None:
    records = [{**record["plan"], "group": record["query"]} for record in PLANS]
    path = write(tmp_path / "f.jsonl", records[:9])
    plans, seconds, groups = ([r[key] for r in PLANS] for key in ("plan", "seconds", "query"))
    small = {"model.embedding": 4, "data.baselines": False, "data.min_freq": 1}
    model = TreeRanker(hidden_size=4, epochs=1, ensemble=2, settings=small)
    model.fit(plans, seconds, groups)
    model.save(tmp_path / "model")
    run = _load(str(tmp_path / "model"))
    whole = list(run.predict([path]))
    assert {line["rank"] for line in whole} > {1}
    for batch in (1, 2, 4):
        assert [line["rank"] for line in run.predict([path], batch=batch)] == [
            line["rank"] for line in whole
        ]
    write(path, [*records[:6], *records[2:3]])
    with pytest.raises(TreeError, match=r"jsonl: tree 6: expected consecutive trees"):
        list(run.predict([path]))


def test_the_trees_of_a_group_stand_in_a_row_in_what_is_predicted(
    run: Path, tmp_path: Path
) -> None:
    path = write(tmp_path / "f.jsonl", [*PLANS[:6], *PLANS[2:3]])
    for batch in (2, 100):
        with pytest.raises(TreeError, match=r"jsonl: tree 6: expected consecutive trees .* 'q0'"):
            list(load(run).predict([path], batch=batch))
    report = load(run).evaluate([str(write(tmp_path / "g.jsonl", PLANS[::2] + PLANS[1::2]))])
    assert report["groups"] + report["dropped"] == 12


def test_groups_that_teach_nothing_are_left_out_and_counted(tmp_path: Path) -> None:
    equal = [{**r, "seconds": 1.0} if r["query"] == "q1" else r for r in PLANS]
    alone = {**PLANS[0], "query": "alone"}
    some = settings(
        {"train": str(write(tmp_path / "f.jsonl", [*equal, alone])), "valid_fraction": 0}
    )
    with pytest.warns(UserWarning, match="^2 of 13 training groups are left out: they have"):
        train(some, tmp_path / "run")
    report = load(tmp_path / "run").evaluate([str(tmp_path / "f.jsonl")])
    assert (report["groups"], report["dropped"], report["examples"]) == (11, 2, 44)
    seen = np.concatenate(_batches(some))
    assert len(seen) == len({*seen.tolist()}) == 44


def _batches(chosen: Settings) -> list[Any]:
    """The training batches, of whole groups."""
    data = load_splits(chosen.task, chosen.data).train
    batches = training_sampler(chosen, data).batches()
    for ids in batches:
        names, counts = np.unique(data.columns["group"][ids], return_counts=True)
        assert (counts == 4).all()
        assert len(ids) <= (chosen.training.batch_size or automatic_batch_size(len(data)))
    return batches


def test_a_lower_target_ranks_higher_where_the_lowest_is_the_best() -> None:
    forest = Forest.from_objects(
        [{"x": i, "children": [{"x": 1}]} for i in range(3)], columns=["x"]
    )
    raw = LabeledTrees(forest, {"target": np.array([2.0, 1.0, 3.0]), "group": np.array([5, 5, 5])})
    for best, expected in (("highest", [2, 1, 3]), ("lowest", [-2, -1, -3])):
        data = RANK.examples(raw, RANK.data(best=best), None)
        assert RANK.targets(data).tolist() == expected
        assert data.columns["group"].tolist() == ["5"] * 3


def test_the_group_of_a_root_is_no_input() -> None:
    nodes = [{"x": i, "g": "a", "y": i, "children": [{"x": 1, "g": "a", "y": 0}]} for i in range(3)]
    raw = LabeledTrees(Forest.from_objects(nodes, columns=["x", "g", "y"]))
    data = RANK.examples(raw, RANK.data(target="y", group="g"), None)
    assert [column.name for column in data.inputs] == ["x"]
    assert RANK.groups(data).tolist() == [0, 0, 0]


def test_places_in_a_group_are_from_0_to_1() -> None:
    places = _places(np.array([5.0, 1.0, 1.0, 9.0, 2.0]), np.array([0, 0, 0, 1, 1]))
    assert places.tolist() == [1, 0.25, 0.25, 1, 0]


BAD: dict[str, tuple[dict[str, Any], Any, str]] = {
    "group that is missing in one tree": (
        *({}, lambda rs: [*rs[:5], without(rs[5], "query")]),
        r"plans.jsonl:6: tree 5: missing group 'query' of a training tree; add",
    ),
    "empty group": (
        *({}, lambda rs: [*rs[:5], {**rs[5], "query": ""}]),
        r"plans.jsonl:6: tree 5: missing group 'query' of a training tree; add",
    ),
    "groups that are rounded": (
        *({}, lambda rs: [{**r, "query": 2**63 + k} for k, r in enumerate(rs)]),
        "jsonl:1: expected integers of 64 bits in column 'query', or up to 2.53 where others",
    ),
    "group that is nowhere": (
        *({"group": "qery"}, lambda rs: rs),
        r"plans.jsonl: expected a column 'qery' with the group of each tree, got the "
        r"columns query, seconds, .*; did you mean query\?",
    ),
    "target that is missing in one tree": (
        *({}, lambda rs: [*rs[:5], without(rs[5], "seconds")]),
        "plans.jsonl:6: tree 5: missing target 'seconds' of a training tree; add it",
    ),
    "target with names": (
        *({"target": "speed"}, lambda rs: rs),
        "plans.jsonl:1: tree 0: expected a number as the target 'speed', got '(fast|slow)'",
    ),
    "target that is infinite": (
        *({}, lambda rs: [*rs[:2], {**rs[2], "seconds": float("inf")}]),
        "plans.jsonl:3: expected JSON, got Infinity, which is not a JSON number",
    ),
    "groups of one tree": (
        *({}, lambda rs: [{**r, "query": i} for i, r in enumerate(rs)]),
        r"expected training groups with different targets, got \d+ of one tree or with equal",
    ),
    "several targets": (
        *({"target": ["seconds", "speed"]}, lambda rs: rs),
        r"expected data.target to be .*, got \['seconds', 'speed'\]",
    ),
    "group as an input": (
        *({"features": ["query", "Table"]}, lambda rs: [_inside(r) for r in rs]),
        "expected data.features to name inputs, got 'query', a target .* or group; leave",
    ),
    "pairs": (
        *({"tree_path": ["plan", "other"]}, lambda rs: [{**r, "other": r["plan"]} for r in rs]),
        "expected single trees for the task rank, got 2 per example",
    ),
}


def _inside(record: dict[str, Any]) -> dict[str, Any]:
    return {**without(record, "query"), "plan": {**record["plan"], "query": record["query"]}}


@pytest.mark.parametrize("case", BAD)
def test_wrong_data_end_in_one_error_before_anything_is_written(tmp_path: Path, case: str) -> None:
    data, change, message = BAD[case]
    path = write(tmp_path / "plans.jsonl", change(PLANS))
    with pytest.raises((TreeError, ConfigError), match=message):
        train(settings({"train": str(path), **data}), tmp_path / "run")
    assert not (tmp_path / "run").exists()

"""Small data sets for runs, and settings that make runs short."""

import contextlib
import itertools
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from dgltrees.settings.catalog import preset_values
from dgltrees.settings.layers import Settings, layered
from dgltrees.training.loop import Trainer
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory

SAMPLES = Path(__file__).parents[2] / "datasets" / "samples"
SENTENCES = SAMPLES / "ud" / "sample.conllu"
PLANS_FILE = SAMPLES / "plans" / "train.jsonl"

_PLANS = {"train": "plans/train.jsonl", "tree_path": "plan", "children_key": "Plans", "min_freq": 1}
_QUERIES = {**_PLANS, "train": "plans/queries/train.jsonl"}
_PAIRS = {"train": "sick/relatedness_train.jsonl", "tree_path": ["first", "second"], "min_freq": 1}
PLANS: dict[str, dict[str, Any]] = {
    "classify": {**_PLANS, "target": "speed"},
    "classify-pairs": {**_PAIRS, "target": "entailment_label"},
    "regress-pairs": {**_PAIRS, "target": "relatedness_score"},
    "classify-nodes": {**_PLANS, "target": "Node Type"},
    "regress": {**_PLANS, "target": "seconds"},
    "regress-nodes": {**_PLANS, "target": "Plan Rows"},
    "rank": {**_QUERIES, "target": "seconds", "group": "query", "best": "lowest"},
}
"""Settings of the data of tasks on custom trees, by task."""


CLASSIFY = ["classify", "--data.train", str(PLANS_FILE), "--data.target", "speed"]
CLASSIFY += ["--data.tree_path", "plan", "--data.children_key", "Plans"]
CLASSIFY += ["--data.baselines", "false"]
"""Words of a command line that name a preset and its data."""


def quick(preset: str, data: dict[str, Any] | None = None, **training: Any) -> Settings:
    """The settings of a preset on the samples, one epoch of at most 40 examples.

    Arguments:
        preset: its name; presets of custom trees have the data of :data:`PLANS`.
        data: other data. Where they name files, settings of other files are left out.
        training: settings of the loop.
    """
    data = data or {}
    if preset in PLANS and "train" not in data:
        data = {**PLANS[preset], "baselines": False, **data}
    layer = {
        "data": {"dir": str(SAMPLES), "max_train_examples": 40, **data},
        "training": {"epochs": 1, "accelerator": "cpu", "threads": 1, **training},
    }
    return Settings(layered(preset_values(preset), layer))


def short(preset: str, data: dict[str, Any], **training: Any) -> Settings:
    """The settings of a preset on data, two epochs with small layers."""
    layer = {
        "data": {"dir": str(SAMPLES), **data},
        "model": {"hidden_size": 8, "embedding": 8},
        "training": {"epochs": 2, "accelerator": "cpu", **training},
    }
    return Settings(layered(preset_values(preset), layer))


def with_model(settings: Settings, **model: Any) -> Settings:
    """The same settings with another model."""
    return Settings(layered(settings.to_dict(), {"model": model}))


class Killed(BaseException):
    """As unkind as a signal: nothing of ours catches it."""


def train_killed(
    settings: Settings, run: Path, owner: type = Trainer, name: str = "_step", after: int = 0
) -> None:
    """Train until a method has been called ``after`` times; its next call is the end."""
    method, calls = getattr(owner, name), itertools.count()

    def dying(self: object, *args: Any) -> Any:
        if next(calls) == after:
            raise Killed
        return method(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, dying)
        with contextlib.suppress(Killed) if owner is RunDirectory else pytest.raises(Killed):
            train(settings, run)


def assert_same_runs(one: Path, two: Path) -> None:
    """Two runs have the same files, metrics, results and weights, and no temporary files."""
    differ = _names(one) ^ _names(two)
    assert not differ, differ
    for name in ("metrics.jsonl", "result.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    for name in ("weights.safetensors", "resume.safetensors"):
        left, right = load_file(one / name), load_file(two / name)
        assert left.keys() == right.keys()
        assert all(left[key].equal(right[key]) for key in left)


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}

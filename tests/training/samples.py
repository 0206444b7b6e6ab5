"""Small data sets for runs, and settings that make runs short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from dgltrees.training.catalog import load_preset, preset_values
from dgltrees.training.settings import Settings, layered

SAMPLES = Path(__file__).parents[2] / "datasets" / "samples"
SENTENCES = SAMPLES / "ud" / "sample.conllu"


_SENTENCES = {"train": "ud/sample.conllu", "valid": "ud/sample.conllu"}
_PLANS = {"train": "plans/train.jsonl", "tree": "plan", "children": "Plans", "min_count": 1}
_QUERIES = {**_PLANS, "train": "plans/queries/train.jsonl"}
_PAIRS = {"train": "sick/relatedness_train.jsonl", "tree": ["first", "second"], "min_count": 1}
PLANS: dict[str, dict[str, Any]] = {
    "classify": {**_PLANS, "target": "speed"},
    "classify-pairs": {**_PAIRS, "target": "entailment_label"},
    "regress-pairs": {**_PAIRS, "target": "relatedness_score"},
    "label": {**_PLANS, "target": "Node Type"},
    "regress": {**_PLANS, "target": "seconds"},
    "regress-nodes": {**_PLANS, "target": "Plan Rows"},
    "rank": {**_QUERIES, "target": "seconds", "group": "query", "best": "lowest"},
}
"""Settings of the data of tasks on one's own trees, by task."""


def quick(preset: str, data: dict[str, Any] | None = None, **training: Any) -> Settings:
    """The settings of a preset on the samples, one epoch of at most 40 examples."""
    layer = {
        "data": {"root": str(SAMPLES), "limit": 40, **(data or {})},
        "training": {"epochs": 1, "accelerator": "cpu", "threads": 1, **training},
    }
    return Settings(layered(preset_values(preset), layer))


def with_model(settings: Settings, **model: Any) -> Settings:
    """The same settings with another model."""
    return Settings(layered(settings.to_dict(), {"model": model}))


def small(preset: str, folder: Path) -> Settings:
    """A preset on a sample; with vectors of a few words where it reads some."""
    settings = load_preset(preset)
    name = settings.task.name
    data: dict[str, Any] = _SENTENCES if name in ("tree-lm", "parser") else PLANS.get(name, {})
    training: dict[str, Any] = {} if data else {"batch_size": 20}
    vectors = settings.sections["data"].get("vectors")
    if name == "tree-lm":
        data = {**data, "vectors": None}
    elif vectors:
        words = "".join(f"{word} {i} 1 1 1\n" for i, word in enumerate(("the", "A", "is", "good")))
        (folder / "vectors.txt").write_text(words, encoding="utf-8")
        data = {"vectors": str(folder / "vectors.txt")}
    if name == "ptb":
        data, training = {"window": 7}, {"batch_size": 10}
    small = quick(preset, data, **training)
    if name in ("snli", "wikiqa", "sst-phrases"):
        small = with_model(small, hidden_size=4, embedding=4, head=[8])
    return small


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

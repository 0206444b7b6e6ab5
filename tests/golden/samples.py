"""Settings by which every preset reads a few examples of the samples."""

from __future__ import annotations

from typing import Any

import yaml

from tests.golden.rows import SAMPLES, run

WITHOUT_DATA = "tree-shape"
"""The preset whose data are the states of another preset's run."""
_SENTENCES = {"train": "ud/sample.conllu", "valid": "ud/sample.conllu", "min_count": 1}
_PLANS = {"train": "plans/train.jsonl", "tree": "plan", "children": "Plans", "min_count": 1}
_PAIRS = {"train": "sick/relatedness_train.jsonl", "tree": ["first", "second"], "min_count": 1}
_QUERIES = {"train": "plans/queries/train.jsonl", "group": "query", "best": "lowest"}
_DATA: dict[str, dict[str, Any]] = {
    "classify": {**_PLANS, "target": "speed"},
    "classify-pairs": {**_PAIRS, "target": "entailment_label"},
    "label": {**_PLANS, "target": "Node Type"},
    "parser": _SENTENCES,
    "ptb": {"window": 7},
    "rank": {**_PLANS, **_QUERIES, "target": "seconds"},
    "regress": {**_PLANS, "target": "seconds"},
    "regress-nodes": {**_PLANS, "target": "Plan Rows"},
    "regress-pairs": {**_PAIRS, "target": "relatedness_score"},
    "tree-lm": _SENTENCES,
}
"""Settings of the data, by task; elsewhere the preset's own files are in the samples."""


def task_of(preset: str) -> str:
    """The name of a preset's task."""
    return str(yaml.safe_load(run(["show", preset])["out"])["task"])


def values(preset: str, limit: int, **training: Any) -> dict[str, Any]:
    """Settings above those of a preset, for a few examples; ``training`` are those of the loop."""
    data = {"root": str(SAMPLES), "limit": limit, **_DATA.get(task_of(preset), {})}
    return {"data": data, "training": {"accelerator": "cpu", "threads": 1, **training}}


def flags(layer: dict[str, Any]) -> list[str]:
    """The same settings as words of the command line."""
    words = []
    for section, settings in layer.items():
        for name, value in settings.items():
            several = value if isinstance(value, list) else ["null" if value is None else value]
            words += [f"--{section}.{name}", *map(str, several)]
    return words

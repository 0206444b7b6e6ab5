"""Train presets for two epochs on the samples: ``python tests/golden/presets.py OUT 0/1 NAME ...``.

Only the command line and the files of a run are used, so that this runs with other commits of the
package, which PYTHONPATH names. ``OUT/NAME`` is a run, and ``OUT/NAME.json`` has settings,
shapes of parameters and losses. ``0/2`` takes every other preset; no names are all.
"""

import contextlib
import io
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from safetensors.torch import load_file

from dgltrees.cli import main

sys.modules["matplotlib"] = None  # plots take longer than the runs

SAMPLES = Path(__file__).parents[2] / "datasets" / "samples"
_PLANS = {"train": "plans/train.jsonl", "tree_path": "plan", "children_key": "Plans"}
_PAIRS = {"train": "sick/relatedness_train.jsonl", "tree_path": ["first", "second"]}
DATA: dict[str, dict[str, Any]] = {
    "classify": {**_PLANS, "target": "speed"},
    "classify-nodes": {**_PLANS, "target": "Node Type"},
    "classify-pairs": {**_PAIRS, "target": "entailment_label"},
    "regress": {**_PLANS, "target": "seconds"},
    "regress-nodes": {**_PLANS, "target": "Plan Rows"},
    "regress-pairs": {**_PAIRS, "target": "relatedness_score"},
    "rank": {**_PLANS, "train": "plans/queries/train.jsonl", "target": "seconds", "group": "query"},
}
"""Settings of the data of a task, for presets without data."""
FEW = {
    "dir": str(SAMPLES),
    "max_train_examples": 8,
    "valid_fraction": 0.25,
    "window": 7,
    "baselines": "false",
}
LOOP = {"epochs": 2, "batch_size": 4, "accelerator": "cpu", "threads": 1, "compile": "false"}
"""Settings of all runs; a preset has those that it reads."""


def dgltrees(*words: str) -> tuple[int, str, str]:
    """Run a command in this process; return its status, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        with contextlib.redirect_stderr(err):
            status = main(words)
    return status, out.getvalue(), err.getvalue()


def preset_names() -> list[str]:
    """Return the names of all presets."""
    return [line.split()[0] for line in dgltrees("presets")[1].splitlines()[1:]]


def settings(preset: str) -> dict[str, Any]:
    """Return the settings of a preset as ``dgltrees show`` prints them, with full names."""
    return dict(_flat(yaml.safe_load(dgltrees("show", preset)[1])))


def _flat(row: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        inner = isinstance(value, dict) and value
        yield from _flat(value, f"{prefix}{name}.") if inner else [(prefix + name, value)]


def _enlarges_rounding(read: dict[str, Any]) -> bool:
    """Normalised states of a long text: the validation loss has other digits on other machines."""
    return bool(read["task"] == "ptb" and read.get("model.layer_norm"))


def training(preset: str) -> list[str]:
    """Return the words of the command that trains a preset on a few examples."""
    read, words = settings(preset), ["train", preset]
    if _enlarges_rounding(read):  # Adam divides gradients that are rounding alone by their size
        words += ["--training.optimizer_options.eps", "0.001"]
    keep = {} if read["training.schedule"] == "halve" else {"keep": "last"}
    data = FEW if read["data.train"] else {**FEW, **DATA.get(read["task"], {})}
    for section, short in (("data", data), ("training", {**LOOP, **keep})):
        for name, value in short.items():
            if f"{section}.{name}" in read:
                values = value if isinstance(value, list) else [value]
                words += [f"--{section}.{name}", *map(str, values)]
    return words


def described(preset: str, out: Path) -> dict[str, Any]:
    """Return the settings of a preset, and parameters and losses of a run, or the error instead."""
    row: dict[str, Any] = {"settings": {}, "parameters": {}}
    try:
        row["settings"] = settings(preset)
        status, _, error = dgltrees(*training(preset), "--out", str(out))
    except Exception as problem:  # whatever a change has broken; the other presets are compared too
        status, error = 1, f"{type(problem).__name__}: {problem}"
    if status:
        return {**row, "losses": error.strip()}
    weights = load_file(out / "weights.safetensors")
    row["parameters"] = {name: "x".join(map(str, each.shape)) for name, each in weights.items()}
    epochs = map(json.loads, (out / "metrics.jsonl").read_text("utf-8").splitlines())
    names = ("train_loss", *(() if _enlarges_rounding(row["settings"]) else ("valid_loss",)))
    row["losses"] = [epoch[name] for epoch in epochs for name in names]
    return row


if __name__ == "__main__":
    folder, (job, jobs) = Path(sys.argv[1]), map(int, sys.argv[2].split("/"))
    for name in [name for name in preset_names() if name in (sys.argv[3:] or [name])][job::jobs]:
        text = json.dumps(described(name, folder / name))
        (folder / f"{name}.json").write_text(text, encoding="utf-8")

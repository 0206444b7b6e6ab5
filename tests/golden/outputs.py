"""Outputs of commands and predictions of estimators, on the samples."""

import hashlib
import json
import os
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import dgltrees as package
from dgltrees import TreeClassifier, TreeEncoder, TreeRanker, TreeRegressor
from tests.golden.presets import SAMPLES, dgltrees, training

COMMANDS = """
presets
show regress
inspect samples/plans/train.jsonl
draw samples/ud/sample.conllu --trees 0:2
draw plans.jsonl --out plans.svg
make-data plans --out made/plans --train 4
make-data mee --out made/mee --train 4 --valid 2 --test 2
make-data listops --out made/listops --train 4 --valid 2 --test 2
make-data lrt --out made/lrt --train 4 --test 2
train classify
evaluate classify --test samples/plans/train.jsonl
predict classify --input plans.jsonl
encode classify --input plans.jsonl --out vectors.npy
explain classify --input plans.jsonl --tree 1
sweep listops --grid model.hidden_size=4,8
plot-aggregators sweep --lines hidden_size
train sst-phrases-small
similar sst-phrases-small --input samples/sst/dev.txt --query good
accuracy-by-padding sst-phrases-small --input samples/sst/dev.txt
train sick-fullmatching-global
attention sick-fullmatching-global --input samples/sick/SICK_trial_parsed.txt
train mee-reinforce
compare-trees mee-reinforce --test samples/mee/test4.tsv
train parser
parse parser --input samples/ud/sample.conllu --k 2 --out kbest.conllu
train tree-lm
rerank tree-lm --input kbest.conllu --tune samples/ud/sample.conllu --out best.conllu
cloze tree-lm --parser parser --questions questions.csv --answers answers.csv
train-edge-classifier tree-lm --epochs 1
sample tree-lm --number 3 --max_words 10 --unknown false
"""
"""Commands in a folder with :data:`FILES`; a run has the name of its preset. ``demo`` takes three
minutes, and only its help is recorded."""
FILES = {
    "plans.jsonl": "\n".join((SAMPLES / "plans" / "train.jsonl").read_text().split("\n")[:3]),
    "questions.csv": "id,question,a),b),c),d),e)\n1,Ada counted the _____.,stars,late,and,to,of\n",
    "answers.csv": "id,answer\n1,a\n",
}


def helps(presets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the help of every command, and the sentences of the settings of every task."""
    found = {"dgltrees": dgltrees("--help")[1]}
    for name in re.findall(r"(?m)^  ([a-z-]+)  ", found["dgltrees"]):
        found[name] = dgltrees(name, "--help")[1]
    for name in re.findall(r"(?m)^  ([a-z-]+)  ", found["make-data"]):
        found[f"make-data {name}"] = dgltrees("make-data", name, "--help")[1]
    sentences: dict[str, dict[str, list[str]]] = {}
    for task, preset in {row["task"]: name for name, row in presets.items()}.items():
        text = dgltrees("train", preset, "--help")[1]
        for flag, entry in re.findall(r"(?m)^  --(\w+\.\S+)\n((?: {6}.*\n?)+)", text):
            entry = re.sub(r"; default: [^;]*\)$", ")", " ".join(entry.split()))
            sentences.setdefault(flag, {}).setdefault(entry, []).append(task)
    return {**found, "settings": sentences}


def outputs() -> dict[str, str]:
    """Return what every command of :data:`COMMANDS` prints, and the checksums of its files."""
    before, found = os.getcwd(), {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, text in FILES.items():
                Path(name).write_text(text, encoding="utf-8")
            os.symlink(SAMPLES, "samples")
            for line in COMMANDS.strip().splitlines():
                found[line] = _clean(_output(line), folder)
        finally:
            os.chdir(before)
    return found


def _output(line: str) -> str:
    name, *words = shlex.split(line)
    if name in ("train", "sweep"):
        words += [*training(words[0])[2:], "--out", words[0] if name == "train" else name]
    old = {*Path().rglob("*")}
    status, out, err = dgltrees(name, *words)
    text = (f"status {status}\n" if status else "") + out + err
    new = {path for path in {*Path().rglob("*")} - old if path.is_file()}
    for path in sorted(new) if name in ("draw", "make-data") else ():
        text += f"{path}: sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}\n"
    return text


def _clean(text: str, folder: str) -> str:
    """Return a text without times and paths."""
    for path, name in ((str(SAMPLES), "samples"), (folder, "."), (os.path.realpath(folder), ".")):
        text = text.replace(path, name)
    text = re.sub(r" *\b\d+(\.\d+)? s\b", " TIME", text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def rounded(numbers: Iterable[float]) -> list[float]:
    """Return the numbers as they are recorded."""
    return [float(f"{number:.7g}") for number in numbers]


def predictions() -> dict[str, list[float]]:
    """Return predictions of estimators that have learned for two epochs, by their arguments."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: rounded(found.flat) for name, found in _predictions()}


def _records(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / file).read_text("utf-8").splitlines()]


def _predictions() -> Iterator[tuple[str, Any]]:
    loop = {"training.accelerator": "cpu", "training.threads": 1, "data.baselines": False}
    short: dict[str, Any] = {"epochs": 2, "children_key": "Plans", "settings": loop}
    variants: list[dict[str, Any]] = [{}, {"ensemble": 2}, {"ensemble": 2, "blend": True}]
    nodes = {"node_target": "Plan Rows"}
    rows, groups = _records("plans/train.jsonl"), _records("plans/queries/train.jsonl")
    trees, speed = [row["plan"] for row in rows], [row["speed"] for row in rows]
    for given in (*variants, {"cell": "gru", "hidden_size": 8}, {"additive": True}, nodes):
        model = TreeRegressor(**short, **given).fit(trees, [row["seconds"] for row in rows])
        yield f"TreeRegressor {given}", model.predict(trees[:8])
    yield f"TreeRegressor {nodes}, nodes", np.concatenate(model.predict_nodes(trees[:4]))
    for given in variants:
        model = TreeClassifier(**short, **given).fit(trees, speed)
        yield f"TreeClassifier {given}", model.predict_proba(trees[:4])
    yield "TreeEncoder", TreeEncoder(**short).fit(trees, speed).transform(trees[:2])[:, :8]
    trees, queries = [row["plan"] for row in groups], [row["query"] for row in groups]
    for given in variants[:2]:
        model = TreeRanker(**short, **given).fit(trees, [row["seconds"] for row in groups], queries)
        scores = model.predict(trees[:8])  # the loss does not determine their mean
        yield f"TreeRanker {given}", scores - scores[0]


def public_names() -> dict[str, Any]:
    """Return the public names with their members, and the names that users type."""
    file = json.loads((SAMPLES.parents[1] / "docs" / "public_api.json").read_text("utf-8"))
    rows = [row for group in file["groups"].values() for row in group["names"].items()]
    members = {name: text[1:] if isinstance(text, list) else [] for name, text in rows}
    word = re.compile(r"(?:(?:class|static)method )?([^(: ]+)")
    public = {name: [word.match(each)[1] for each in row] for name, row in members.items()}
    return {"dgltrees": sorted(package.__all__), "public": public, "lists": file["lists"]}

"""The laws of tasks, for language models over trees, a parser, and a classifier of edges."""

# ruff: noqa: F403

import math
from pathlib import Path
from typing import Any

import numpy as np

from dgltrees import Forest, LabeledTrees, TrainedModel, read
from dgltrees.papers.top_down.tasks.edge_classifier import decisions_forest
from tests.papers.samples import SENTENCES
from tests.tasks.table import Lines, Row
from tests.tasks.test_laws import *
from tests.training.samples import SENTENCES as FILE


def perplexities(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """The losses of a word, alone and with ends or START and STOP."""
    words = sum(line["words"] for line in lines)
    loss = -sum(line["log_prob"] for line in lines) / words
    found = {"loss": loss, "perplexity": math.exp(loss), "words": words, "examples": len(lines)}
    if "joint_log_prob" in lines[0]:
        found["joint_loss"] = -sum(line["joint_log_prob"] for line in lines) / words
        assert found["joint_loss"] > loss
    if "labels" in lines[0]:
        gold = data.forest.columns["deprel"][data.forest.parent >= 0]
        labels = data.forest.vocabs["deprel"].encode([x for line in lines for x in line["labels"]])
        found["label_accuracy"] = np.mean(labels == gold)
    return found


def attachment(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """Shares of words with the right head, and the right relation to it."""
    gold = read(FILE, "conllu").forest
    words = gold.parent >= 0
    relations = np.array(gold.vocabs["deprel"].decode(gold.columns["deprel"][words]))
    heads = np.concatenate([line["heads"] for line in lines]) == gold.parent[words]
    labels = np.concatenate([line["deprels"] for line in lines]) == relations
    return {"uas": heads.mean(), "las": (heads & labels).mean(), "words": words.sum()}


def edges(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """Shares of right decisions, and the loss of all."""
    names = ["LEFT", "RIGHT", "NX-LEFT", "NX-RIGHT"]
    p, y = [], []
    for line, added in zip(lines, data.forest.columns["added"]):
        decided = [name for name, each in zip(names, added) if each >= 0]
        assert [*line["probability"]] == decided
        p += line["probability"].values()
        y += [each for each in added if each >= 0]
    likely = np.where(y, p, 1 - np.array(p))
    found = {"accuracy": (likely > 0.5).mean(), "loss": -np.log(likely).mean()}
    return {**found, "decisions": len(y)}


def decisions(nodes: int) -> Forest:
    """Edges that the features tell; a node with a negative third feature decides on NX-RIGHT."""
    features = np.random.default_rng(0).normal(size=(nodes, 8)).astype(np.float32)
    left = features[:, 2] > 0
    edges = features[:, :2] > 0
    beyond = features[:, 3] > 0
    next_edges = np.stack([np.where(left, beyond, -1), np.where(left, -1, beyond)], 1)
    return decisions_forest(features, np.concatenate([edges, next_edges], 1).astype(np.int8))


def saved_decisions(folder: Path) -> dict[str, Any]:
    """Two folders of decisions."""
    for name, nodes in (("train", 40), ("valid", 30)):
        decisions(nodes).save(folder / name)
    return {name: str(folder / name) for name in ("train", "valid")}


_DATA = {**SENTENCES, "lower": True, "min_freq": 1}
_LOOP = {"batch_size": 2, "lr": 1.0}


def lm(name: str = "", **model: Any) -> Row:
    """A language model with a rate so large that some epochs are undone."""
    return Row("tree-lm", perplexities, _DATA, model, _LOOP, name=name)


_PARSER = {"batch_size": 2}
_NCE = {"objective": "nce", "noise": 3}
ROWS = [
    lm(),
    lm("ld", left_dependents=True, layers=2, output_dropout=0.2),
    lm("nce", **_NCE),
    lm("sequence", language_model="sequence", tied=True),
    lm("end", language_model="sequence", end=True),
    lm("bidirectional", language_model="bidirectional"),
    lm("labels nce", labels=True, **_NCE),
    lm("stops", stops=True, left_dependents=True, labels=True),
    lm("stops nce", stops=True, tied=True, **_NCE),
    Row("parser", attachment, _DATA, training=_PARSER),
    Row("parser", attachment, _DATA, {"tags": True}, _PARSER, name="tags"),
    Row(
        "edge-classifier",
        edges,
        model={"hidden_size": 4, "hidden": [8], "dropout": 0.0},
        training={"lr": 0.1},
        prepare=saved_decisions,
    ),
]

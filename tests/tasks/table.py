"""The table of tasks: what the laws are checked for. A task that is not here is not done."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn import metrics

from dgltrees import LabeledTrees
from dgltrees.settings.layers import Settings, layered
from dgltrees.training.trained import TrainedModel
from tests.training.samples import PLANS, SAMPLES, quick

Lines = list[dict[str, Any]]
Score = Callable[[TrainedModel, LabeledTrees, Lines], dict[str, Any]]
"""Entries of a report, computed from a run, the examples of a file and their predictions."""
Change = Callable[[str, str | None], str]
"""A function of a line and a label."""

SIZES = {"hidden_size": 8, "embedding": 8, "head_hidden_sizes": [8]}
LOOP: dict[str, Any] = {
    "epochs": 3,
    "batch_size": 8,
    "lr": 0.02,
    "save_every_n_steps": 1,
    "patience": None,
}


@dataclass(frozen=True)
class Row:
    """A task with a model, as a preset with small sizes.

    Arguments:
        preset: its name.
        score: the entries of a report that follow from examples and predictions.
            data, model, training: other settings.
        prepare: writes files into a folder, and returns settings of the data.
        unlabel: puts a text in the place of the labels of a line; None takes them off.
        unknown: whether an unknown label may be there, as it may not inside of brackets.
        texts: unlabeled texts, their format, and the number of examples in them.
        equal: one example as texts of several formats.
        errors: a text, its format, and a pattern of the error.
        name: what the row has that others of the task have not.
        learns: the metric that falls.
        fixed: parts of the names of parameters that do not learn.
    """

    preset: str
    score: Score
    data: dict[str, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    prepare: Callable[[Path], dict[str, Any]] | None = None
    unlabel: Change | None = None
    unknown: bool = True
    texts: tuple[tuple[list[str], str | None, int], ...] = ()
    equal: dict[str, list[str]] = field(default_factory=dict)
    errors: tuple[tuple[str, str | None, str], ...] = ()
    name: str = ""
    learns: str = "train_loss"
    fixed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.preset} {self.name}".strip()

    def settings(self, folder: Path) -> Settings:
        """A short run; ``folder`` is for files that the row writes."""
        data = {**self.data, **(self.prepare(folder) if self.prepare else {})}
        if self.preset in PLANS:
            data = {"valid": PLANS[self.preset]["train"], **data}
        settings = quick(self.preset, data)
        read = settings.sections
        sizes = {name: value for name, value in SIZES.items() if settings.model.get(name)}
        loop = {name: value for name, value in LOOP.items() if name in read["training"]}
        layer = {"model": {**sizes, **self.model}, "training": {**loop, **self.training}}
        return Settings(layered(settings.to_dict(), layer))


def classes(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """Metrics of classes of trees or nodes, by scikit-learn."""
    targets = run.task.targets(data)
    names = [line["prediction"] for line in lines]
    if run.task.nodes:
        names = [name for line in lines for name in line["nodes"]]
    y, predicted = np.array(data.targets.names)[targets], np.array(names)
    outputs = run.outputs(data)
    p = np.stack([outputs[f"probability_{k}"] for k in range(len(data.targets))], 1)
    assert (np.array(data.targets.names)[p.argmax(1)] == predicted).all()
    majority = data.targets.names[run.metadata["majority"]["node" if run.task.nodes else "root"]]
    return {
        "accuracy": metrics.accuracy_score(y, predicted),
        "macro_f1": metrics.f1_score(y, predicted, average="macro"),
        "loss": metrics.log_loss(targets, p / p.sum(1, keepdims=True), labels=range(p.shape[1])),
        "examples": len(targets),
        "majority_accuracy": (y == majority).mean(),
    }


def accuracies(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """Shares of right names, of all examples and by the values of a column, or of nodes."""
    task, targets, outputs = run.task, run.task.targets(data), run.outputs(data)
    roots = data.forest.roots if task.nodes else np.arange(len(data))
    right = np.array(
        [line["prediction"] == data.targets.names[y] for line, y in zip(lines, targets[roots])]
    )
    p = np.array([line["probability"] for line in lines])
    np.testing.assert_allclose(
        outputs["loss"][roots][right], -np.log(p[right]), rtol=1e-4, atol=2e-6
    )
    found: dict[str, Any] = {"accuracy": right.mean(), "examples": len(lines)}
    found["majority_accuracy"] = np.mean(targets[roots] == run.metadata["majority"]["root"])
    found["loss"] = outputs["loss"].mean()
    if task.nodes:
        names = [name for line in lines for name in line["nodes"]]
        of_nodes = np.array(names) == np.array(data.targets.names)[targets]
        found |= {"root_accuracy": right.mean(), "node_accuracy": of_nodes.mean()}
        always = np.mean(targets == run.metadata["majority"]["node"])
        found |= {"node_majority_accuracy": always, "nodes": len(targets)}
    if task.breakdown is not None:
        name, last = task.breakdown
        values = np.minimum(data.columns[name], last)
        found[f"accuracy_by_{name}"] = {
            f"{v}+" if v == last else f"{v}": right[values == v].mean() for v in np.unique(values)
        }
    return found


def numbers(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """Metrics of numbers of trees or nodes, by scikit-learn and scipy."""
    y = run.task.targets(data)[:, 0]
    x = np.array([line["prediction"] for line in lines])
    if run.task.nodes:
        x = np.array([value for line in lines for value in line["nodes"]])
    (mean,) = run.metadata["majority"].values()
    found = {
        "mae": metrics.mean_absolute_error(y, x),
        "rmse": metrics.mean_squared_error(y, x) ** 0.5,
        "r2": metrics.r2_score(y, x),
        "pearson": stats.pearsonr(y, x)[0],
        "spearman": stats.spearmanr(y, x)[0],
        "examples": len(y),
        "baseline_mean_mae": np.abs(y - mean).mean(),
    }
    if x.min() > 0 < y.min():
        q = np.maximum(x / y, y / x)
        found |= {"q_error_median": np.median(q), "q_error_95": np.quantile(q, 0.95)}
        found["r2_log"] = metrics.r2_score(np.log(y), np.log(x))
    return found


def several_numbers(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """Mean absolute errors of several targets."""
    y = run.task.targets(data)
    errors = {
        name: metrics.mean_absolute_error(y[:, k], [line[name] for line in lines])
        for k, name in enumerate(data.target_names)
    }
    return {"mae": np.mean([*errors.values()]), "examples": len(y)}


def several_of_nodes(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """Mean absolute errors of several targets of nodes."""
    names = data.target_names
    assert all(line[name] == line["nodes"][name][0] for line in lines for name in names)
    x = [[value for line in lines for value in line["nodes"][name]] for name in names]
    y = run.task.targets(data)
    return {"mae": np.mean([metrics.mean_absolute_error(y[:, k], x[k]) for k in range(len(names))])}


def flags(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """Metrics of binary targets, by scikit-learn."""
    y = run.task.targets(data)
    p = np.array([[line[name]["probability"] for name in data.target_names] for line in lines])
    yes = np.array([[line[name]["prediction"] for name in data.target_names] for line in lines])
    found = {"accuracy": (yes == y).mean(), "examples": len(y)}
    return {
        **found,
        "auroc": metrics.roc_auc_score(y, p),
        "average_precision": metrics.average_precision_score(y, p),
    }


def with_targets(preset: str, *names: str) -> Callable[[Path], dict[str, Any]]:
    """Write a sample with more targets, and return settings of the data with some of them."""

    def prepare(folder: Path) -> dict[str, Any]:
        lines = (SAMPLES / PLANS[preset]["train"]).read_text().splitlines()
        records = [
            {**json.loads(line), "even": i % 2 == 0, "third": i % 3 == 0, "width": 1 + i % 7}
            for i, line in enumerate(lines)
        ]
        path = folder / "several.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        files = {"train": str(path), "valid": str(path), "baselines": False}
        return {**PLANS[preset], **files, "target": [*names]}

    return prepare


def ranks(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """Metrics of an order within groups, pair by pair."""
    y, groups = run.task.targets(data), data.columns["group"]
    taus, right = [], []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        better = [(i, j) for i in rows for j in rows if y[i] > y[j]]
        right.append(np.mean([lines[i]["rank"] < lines[j]["rank"] for i, j in better]))
        taus.append(stats.kendalltau(y[rows], [-lines[i]["rank"] for i in rows])[0])
    return {"pair_accuracy": np.mean(right), "kendall": np.mean(taus), "examples": len(y)}


def member(key: str) -> Change:
    """Change the member of a JSON object, or of the plan in it."""

    def change(line: str, label: str | None) -> str:
        record = json.loads(line)
        where = record if key in record else record["plan"]
        where.pop(key) if label is None else where.update({key: label})
        return json.dumps(record)

    return change


def match(pattern: str) -> Change:
    """Change the parts of a line that match a pattern."""

    def change(line: str, label: str | None) -> str:
        return re.sub(pattern, lambda m: re.sub(r"[^\s_:]+", label, m[0]) if label else "", line)

    return change


ROWS = [
    Row("classify", classes, unlabel=member("speed")),
    Row("classify", classes, model={"encoder": "bilstm"}, name="bilstm"),
    Row("classify", flags, prepare=with_targets("classify", "even", "third"), name="flags"),
    Row("classify-pairs", classes, unlabel=member("entailment_label")),
    Row(
        "classify-pairs",
        flags,
        prepare=with_targets("classify-pairs", "even", "third"),
        name="flags",
    ),
    Row("classify-nodes", classes),
    Row("regress", numbers, model={"log_target": True}, unlabel=member("seconds")),
    Row("regress", numbers, model={"additive": True}, name="additive"),
    Row(
        "regress",
        several_numbers,
        prepare=with_targets("regress", "seconds", "width"),
        name="two targets",
    ),
    Row("regress-pairs", numbers, unlabel=member("relatedness_score")),
    Row("regress-nodes", numbers),
    Row(
        "regress-nodes",
        several_of_nodes,
        {"target": ["Plan Rows", "Plan Width"]},
        name="two targets",
    ),
    Row("rank", ranks, unlabel=member("seconds")),
    Row("rank", ranks, model={"objective": "listwise"}, name="listwise"),
]

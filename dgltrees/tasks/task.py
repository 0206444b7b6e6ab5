"""Base class of tasks: how data are read, the model is built, and metrics are computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats import format_by_suffix, guess_format
from dgltrees.formats.lines import gather
from dgltrees.metrics.classes import accuracy
from dgltrees.settings import Options
from dgltrees.tasks.settings import DataSettings
from dgltrees.trees import LabeledTrees, TreeBatch, Vocabulary
from dgltrees.trees.segments import rows_of

OF_CLASSES = ("targets", "labeled", "report", "predictions")
"""The methods of a task whose default treats targets as classes."""
Columns = Mapping[str, NDArray[Any]]
"""Outputs of a model: columns ``(R,)`` by name, with a value per row."""

Names = Mapping[str, Vocabulary] | None


class Reader(Protocol):
    """A function that reads a file of examples."""

    def __call__(
        self, path: PathLike, settings: Any, vocabs: Names, *, labeled: bool, trees: int
    ) -> Iterator[LabeledTrees]:
        """Yield the examples of a file, about ``trees`` at a time."""


def reader_of(stream: Callable[..., Iterator[LabeledTrees]]) -> Reader:
    """Return a reader of a format without settings, whose names have fixed ids."""

    def read(
        path: PathLike, settings: Any, vocabs: Names, *, labeled: bool, trees: int
    ) -> Iterator[LabeledTrees]:
        return stream(path, trees, labeled=labeled)

    return read


class Batches(Protocol):
    """The batches of every epoch."""

    def set_epoch(self, epoch: int) -> None:
        """Select the epoch, from 0, of the next batches."""

    def batches(self) -> list[NDArray[Any]]:
        """Return the batches of the epoch: the ``ids`` of :meth:`Task.batch`."""
        ...


@dataclass(frozen=True)
class Metric:
    """A metric that compares models.

    Arguments:
        name: its key in a report.
        higher_is_better: whether higher values are better.
        format: format of a printed value, as in ``format(value, ".4f")``.
        label: label of an axis or column; default: the name.
        scale: factor of values in tables (100 for per cent).
        baseline: key of the value of a trivial prediction in a report; default: none.
    """

    name: str
    higher_is_better: bool = True
    format: str = ".4f"
    label: str = ""
    scale: float = 100.0
    baseline: str = ""

    @property
    def title(self) -> str:
        """The label, or the name with spaces."""
        return self.label or self.name.replace("_", " ")


ACCURACY = Metric("accuracy", baseline="majority_accuracy")
LOSS = Metric("loss", higher_is_better=False, scale=1.0)
PERPLEXITY = Metric("perplexity", higher_is_better=False, format=".2f", scale=1.0)


def perplexity(loss: float) -> float:
    """Return the perplexity of a mean loss in nats; infinite beyond the range of a float."""
    return math.exp(loss) if loss < 700 else math.inf


@dataclass(frozen=True)
class Task:
    """An experiment on trees whose model predicts a class for each row: an example or a node.

    A task without classes overrides :meth:`targets`, :meth:`labeled`, :meth:`outputs`,
    :meth:`report` and :meth:`predictions`, and sets ``has_majority = False``.

    Arguments:
        name: the value of ``task:`` in a preset.
        data: the dataclass of the settings of its data.
        model: the class whose arguments are the settings of its models (see
            :mod:`dgltrees.settings`), and whose method ``build`` creates a model; see
            :meth:`build`.
        formats: the readers of data files by format. The first is the format of training; the
            others may contain examples to predict.
        nodes: whether rows are the nodes of the trees or the examples; both have the targets in
            their column ``"target"``, where -1 is no label.
        accuracy_over: whether ``accuracy`` is over the roots or over every ``"node"``.
        max_children: L of the task; default: the largest number in the training data.
        metrics: the metrics of a report that can compare models, the main one first.
        breakdown: an example column by whose values accuracy is also reported, and the value from
            which they are merged.
        stateful: whether a batch continues the previous one, so that order matters;
            :meth:`training_batches` and :meth:`evaluation_batches` then create the batches.
        whole_groups: whether batches contain whole groups of examples (see :meth:`groups`); groups
            without labeled rows are then in no training batch.
        reads: the content of its files as a sentence, for errors.
    """

    has_majority: ClassVar[bool] = True
    """Whether a report compares accuracy with that of the most frequent class."""
    calibrates: ClassVar[bool] = False
    """Whether :meth:`calibrate` changes a trained model."""
    numbered: ClassVar[tuple[str, ...]] = ("example",)
    """The entries of :meth:`predictions` that count from 0, over all files."""
    evaluate_more: ClassVar[str | None] = None
    """The function, as ``module:name``, of a model, test files and folder, whose entries
    ``evaluate`` adds to the report; None without one."""
    similar: ClassVar[str | None] = None
    """The function, as ``module:name``, of a model, files, queries, ``number=`` and ``of=``, which
    the command ``similar`` calls; None without one."""

    name: str
    data: type[DataSettings]
    model: Callable[..., Any]
    formats: Mapping[str, Reader]
    nodes: bool = False
    accuracy_over: str = "root"
    max_children: int | None = None
    metrics: tuple[Metric, ...] = (ACCURACY, LOSS)
    breakdown: tuple[str, int] | None = None
    stateful: bool = False
    whole_groups: bool = False
    reads: str = ""

    def stream(
        self,
        path: PathLike,
        settings: Any,
        vocabs: Names = None,
        *,
        file_format: str | None = None,
        labeled: bool = True,
        trees: int = 10_000,
    ) -> Iterator[LabeledTrees]:
        """Yield the examples of a file, about ``trees`` at a time.

        Arguments:
            path: the file.
            settings: settings of the data.
            vocabs: the vocabularies of the training examples; None for the first of these.
            file_format: a format of the task; default: that of training.
            labeled: whether every example must have its label; otherwise a missing label is -1.
            trees: number of examples per part.

        Returns:
            an iterator over parts.

        Raises:
            TreeError: the task cannot read the file.
            ConfigError: the task does not support the format.
        """
        own = next(iter(self.formats))
        if file_format is not None and file_format not in self.formats:
            raise ConfigError(
                f"expected a format of the task {self.name}, {' or '.join(self.formats)}, "
                f"got {file_format!r}"
            )
        reader = self.formats[file_format or own]
        return reader(path, settings, vocabs, labeled=labeled, trees=trees)

    def format_of(self, path: PathLike) -> str | None:
        """Return the format of a file to predict, inferred from its name or first line.

        If it cannot be inferred, it is plain text if the task supports that, else the format of
        training. A file whose name has the suffix of another format is never plain text.
        """
        try:
            guess = guess_format(path)
        except TreeError:
            guess = ""
        own = next(iter(self.formats))
        if format_by_suffix(path) not in (None, *self.formats):
            return own  # its reader refuses the file
        return guess if guess in self.formats else "text" if "text" in self.formats else own

    def inferred_settings(self, settings: Any) -> dict[str, Any]:
        """Return settings of the data that are inferred from the training files; default: none.

        Arguments:
            settings: settings of the data.
        """
        return {}

    def read(
        self, path: PathLike, settings: Any, vocabs: Names = None, *, labeled: bool = True
    ) -> LabeledTrees:
        """Return all examples of a file; see :meth:`stream`."""
        return gather(self.stream(path, settings, vocabs, labeled=labeled))

    def build(self, model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
        """Build the model of these settings, by the method ``build`` of the class ``model``.

        Arguments:
            model: the settings of the model.
            vocabs: the vocabularies of the training examples.
        """
        module: nn.Module = model.of(self.model).build(vocabs)
        return module

    def display_name(self, model: Options) -> str:
        """Return the name of a model with these settings, for tables and plots."""
        name: str = model.of(self.model).display_name
        return name

    def targets(self, data: LabeledTrees) -> NDArray[Any]:
        """Return the class, or other target, of every row, ``(R,)``."""
        columns = data.forest.columns if self.nodes else data.columns
        return np.asarray(columns["target"], dtype=np.int64)

    def labeled(self, data: LabeledTrees) -> NDArray[np.bool_]:
        """Return which rows have a class, ``(R,)``."""
        mask: NDArray[np.bool_] = self._classes(data) >= 0
        return mask

    def weights(self, data: LabeledTrees) -> NDArray[np.float64] | None:
        """Return the weight of every row in the training loss, ``(R,)``; None: all are equal."""
        return None

    def rows(self, data: LabeledTrees, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the examples ``ids``, in the order of the model's outputs."""
        return rows_of(data.forest.offsets, ids) if self.nodes else ids

    def batch(self, data: LabeledTrees, ids: NDArray[np.int64]) -> tuple[TreeBatch, Tensor]:
        """Return the trees of the examples ``ids`` and the classes of their rows, int64."""
        batch, columns = data.batch(ids)
        return batch, batch.ndata["target"] if self.nodes else columns["target"]

    def groups(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return the group of each example, ``(E,)``, from 0; splits keep groups together."""
        return np.arange(len(data))

    def held_out(self, data: LabeledTrees) -> LabeledTrees:
        """Return held-out examples of a training file as an evaluation file would have them."""
        return data

    def name_counts(self, data: LabeledTrees, column: str) -> NDArray[np.int64]:
        """Count each name of a column in training data, for the setting ``data.min_freq``."""
        return data.forest.name_counts(column)

    def training_batches(
        self, data: LabeledTrees, settings: Any, batch_size: int
    ) -> Batches | None:
        """Return the training batches of a task that defines their order; None for any order.

        Arguments:
            data: training examples.
            settings: settings of the data.
            batch_size: the setting ``training.batch_size``.
        """
        return None

    def evaluation_batches(self, data: LabeledTrees, max_nodes: int) -> list[NDArray[Any]] | None:
        """Return the evaluation batches of a task that defines their order; None for any order.

        Arguments:
            data: examples, whose rows must all be in a batch.
            max_nodes: largest number of nodes in a batch.

        Returns:
            the ``ids`` of each batch for :meth:`batch`, or None.
        """
        return None

    def extend_vocabularies(
        self, data: LabeledTrees, settings: DataSettings, paths: Sequence[Path]
    ) -> None:
        """Add names in the files ``paths`` to the vocabularies of the training examples."""

    def in_class_order(self, data: LabeledTrees, settings: Any) -> LabeledTrees:
        """Return the training examples with their classes in the order of the task."""
        return data

    def init_from_data(self, model: nn.Module, settings: DataSettings, data: LabeledTrees) -> None:
        """Initialise a new model from the training examples, for example its word vectors."""

    def calibrate(self, model: nn.Module, data: LabeledTrees, outputs: Columns) -> None:
        """Adapt the probabilities of a trained model to its outputs for validation examples."""

    def rollout(self, model: nn.Module, batch: TreeBatch) -> Any:
        """Return the input of :meth:`losses`: the batch, or a sample of the method ``rollout``."""
        rollout: Any = getattr(model, "rollout", None)
        return batch if rollout is None else rollout(batch)

    def losses(self, model: nn.Module, batch: Any, targets: Tensor) -> Tensor:
        """Return the training loss of every row, ``(R,)``, 0 for a row without class."""
        losses: Tensor = model(batch, targets)
        return losses

    def loss_denominator(self, examples: int, rows: int) -> int:
        """Return the divisor of a batch's summed losses; default: its rows with a class."""
        return rows

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> dict[str, Tensor]:
        """Return columns ``(R,)``: ``loss``, ``prediction`` (a class) and its ``probability``."""
        columns = model.outputs(batch, targets)  # type: ignore[operator]
        return dict(zip(("loss", "prediction", "probability"), columns))

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """Return the numbers of parameters of ``aggregator``, ``cell`` and ``model``.

        Word vectors count only for the model. A model without an aggregator has None for it.
        """
        total = sum(p.numel() for p in model.parameters())
        words = {id(p): p.numel() for p in self.word_parameters(model)}
        return {"aggregator": None, "cell": total - sum(words.values()), "model": total}

    def word_parameters(self, model: nn.Module) -> Iterable[Tensor]:
        """Return word vectors and output layers, which ``cell`` of :meth:`parameters` excludes."""
        return ()

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """Yield one dictionary per example.

        Its entries are ``example`` (its index), ``prediction`` (the name of a class) and
        ``probability``. If rows are nodes, these are the root's, and ``nodes`` has the names of all
        nodes' classes.

        Arguments:
            data: the examples.
            outputs: the columns of :meth:`outputs` for all rows.
        """
        names = data.targets.decode(outputs["prediction"])
        for example, row in enumerate(self._roots(data)):
            line: dict[str, Any] = {
                "example": example,
                "prediction": names[row],
                "probability": round(float(outputs["probability"][row]), 6),
            }
            if self.nodes:
                start, stop = data.forest.offsets[example : example + 2]
                line["nodes"] = names[start:stop]
            yield line

    def majority(self, data: LabeledTrees) -> dict[str, int]:
        """Return the most frequent class: over examples, and over nodes if rows are nodes."""
        if not self.has_majority:
            return {}
        targets = self._classes(data)
        classes = {"root": _most_frequent(targets[self._roots(data)])}
        if self.nodes:
            classes["node"] = _most_frequent(targets)
        return classes

    def baselines(
        self, settings: Any, splits: Any, test: LabeledTrees | None
    ) -> dict[str, dict[str, Any]]:
        """Return the metrics of simple models without trees, by name; default: none.

        Arguments:
            settings: settings of the data.
            splits: training and validation examples.
            test: test examples, if there are any.
        """
        return {}

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, int]
    ) -> dict[str, Any]:
        """Return the metrics of ``outputs`` on ``data``.

        ``accuracy`` is over the rows of ``accuracy_over``, ``loss`` is the mean over all rows with
        a class, and ``majority_accuracy`` is the accuracy of always predicting the most frequent
        class of the training examples. If rows are nodes, both accuracies are also reported for
        roots and for all nodes.

        Arguments:
            data: the examples.
            outputs: the columns of :meth:`outputs` for all rows.
            majority: the result of :meth:`majority` for the training examples.

        Returns:
            The metrics by name; accuracies are between 0 and 1.

        Raises:
            TreeError: there are no rows with a class.
        """
        targets, roots, predicted = self.targets(data), self._roots(data), outputs["prediction"]
        labeled = targets >= 0
        rows_by_kind = {"root": roots}
        if self.nodes:
            rows_by_kind["node"] = np.arange(len(targets))
        parts: dict[str, Any] = {}
        for kind, rows in rows_by_kind.items():
            if labeled[rows].any():
                parts[f"{kind}_accuracy"] = accuracy(predicted[rows], targets[rows])
                always = np.full(len(rows), majority[kind])
                parts[f"{kind}_majority_accuracy"] = accuracy(always, targets[rows])
        if f"{self.accuracy_over}_accuracy" not in parts:
            raise TreeError("missing examples with classes, which accuracy needs")
        report = {
            "accuracy": parts[f"{self.accuracy_over}_accuracy"],
            "loss": float(outputs["loss"][labeled].mean()),
            "examples": len(data),
            "majority_accuracy": parts[f"{self.accuracy_over}_majority_accuracy"],
            **({**parts, "nodes": int(labeled.sum())} if self.nodes else {}),
        }
        if self.breakdown is not None:
            name, last = self.breakdown
            values = np.minimum(np.asarray(data.columns[name]), last)
            report[f"accuracy_by_{name}"] = {
                f"{v}+" if v == last else f"{v}": accuracy(
                    predicted[values == v], targets[values == v]
                )
                for v in np.unique(values[labeled])
            }
        return report

    def separate_losses(self, model: Options) -> bool:
        """Return whether the training loss of a model has terms that the validation loss lacks.

        Learning curves then have separate scales.
        """
        return False

    def _classes(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return the targets, which must be classes."""
        targets = self.targets(data)
        if not np.issubdtype(targets.dtype, np.integer):
            raise ConfigError(
                f"expected the targets of the task {self.name} to be classes, got {targets.dtype}; "
                f"set has_majority = False in {type(self).__name__} and override "
                f"{', '.join(OF_CLASSES)}"
            )
        return targets

    def _roots(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return the row of each example, that of its root if rows are nodes."""
        return data.forest.roots if self.nodes else np.arange(len(data))


def _most_frequent(targets: NDArray[np.int64]) -> int:
    return int(np.bincount(targets[targets >= 0], minlength=1).argmax())


def wrong_task(name: str, task: Any) -> str:
    """Return an error about a task that is registered under a name; empty if it is valid."""
    if not isinstance(task, Task):
        return "it is not a Task"
    if task.name != name:
        return f"the name of the task is {task.name!r}"
    reads = task.formats or type(task).stream is not Task.stream
    return "" if reads else "it has no reader; set its formats"

"""The base class of tasks: how data are read, the model is built, and metrics are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError, TreeError
from dgltrees.formats import guess_format
from dgltrees.formats.lines import gather
from dgltrees.metrics.classes import accuracy
from dgltrees.models.fine_tuned import fine_tuned_parameters
from dgltrees.settings import Options
from dgltrees.tasks.settings import DataSettings
from dgltrees.trees import LabeledTrees, TreeBatch, Vocabulary
from dgltrees.trees.segments import rows_of

OF_CLASSES = ("targets", "labeled", "report", "predictions")
"""The methods of a task that take its targets for classes."""
Columns = Mapping[str, NDArray[Any]]
"""Predictions: named columns ``(R,)`` with a value per row."""

Names = Mapping[str, Vocabulary] | None


class Reader(Protocol):
    """Reads a file of examples."""

    def __call__(
        self, path: PathLike, settings: Any, vocabs: Names, *, labeled: bool, trees: int
    ) -> Iterator[LabeledTrees]:
        """The examples of a file, about ``trees`` at a time.

        Arguments:
            path: the file.
            settings: of the data.
            vocabs: with frozen vocabularies (``"target"`` is that of the classes) no names are
                added to them.
            labeled: whether every example must have its label; otherwise it is -1 without one, and
                no example is left out.
            trees: examples per chunk.
        """


class Batches(Protocol):
    """The batches of every epoch."""

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch, from 0, whose batches come next."""

    def batches(self) -> list[NDArray[Any]]:
        """The batches of the epoch: the ``ids`` that :meth:`Task.batch` takes."""
        ...


@dataclass(frozen=True)
class Metric:
    """A number by which models are compared.

    Arguments:
        name: its key in a report.
        higher_is_better: whether more is better.
        format: how a value is printed, as in ``format(value, ".4f")``.
        label: the text at an axis or above a column; by default the name.
        scale: the factor of values in tables (100 for per cent).
        baseline: key in a report of what predicting without a model reaches; by default none.
    """

    name: str
    higher_is_better: bool = True
    format: str = ".4f"
    label: str = ""
    scale: float = 100.0
    baseline: str = ""

    @property
    def title(self) -> str:
        """The label, or the name in words."""
        return self.label or self.name.replace("_", " ")


ACCURACY = Metric("accuracy", baseline="majority_accuracy")
LOSS = Metric("loss", higher_is_better=False, scale=1.0)
PERPLEXITY = Metric("perplexity", higher_is_better=False, format=".2f", scale=1.0)


@dataclass(frozen=True)
class Task:
    """An experiment on trees whose model predicts a class for each row: an example or a node.

    A task without classes has methods of its own: :meth:`targets`, :meth:`labeled`,
    :meth:`outputs`, :meth:`report` and :meth:`predictions`, and ``has_majority = False``.

    Arguments:
        name: what ``task:`` in a preset says.
        data: the dataclass of the settings of its data.
        model: the class whose arguments are the settings of its models (see
            :mod:`dgltrees.settings`), and whose method ``build`` makes one; see :meth:`build`.
        formats: reads a data file, by the name of its format. The first is that of training; the
            others may hold what is to be predicted.
        nodes: whether rows are all nodes of the trees (their column ``"target"`` is learned, -1
            is no label) or the examples (their column ``"target"``).
        accuracy_over: whether ``accuracy`` is over the roots or over every ``"node"``.
        max_children: L of the task; by default what the training data have.
        metrics: the metrics of a report by which models can be compared, the main one first.
        breakdown: an example column by whose values accuracy is reported too, and the value from
            which on they are counted together.
        stateful: whether a batch continues where the one before it ended, so that order matters;
            :meth:`training_batches` and :meth:`evaluation_batches` then make the batches.
        whole_groups: whether the examples of a group (see :meth:`groups`) are learned together, so
            that batches hold whole ones; those without labeled rows are then in no training batch.
        reads: what its files hold, in a sentence, for errors.
    """

    has_majority: ClassVar[bool] = True
    """Whether a report compares accuracy with that of the most frequent class."""
    numbered: ClassVar[tuple[str, ...]] = ("example",)
    """The entries of :meth:`predictions` that count from 0, and run on over files."""
    evaluate_more: ClassVar[str | None] = None
    """The function, as ``module:name``, of a run, test files and root, whose entries ``evaluate``
    adds to the report; None where there is none."""
    similar: ClassVar[str | None] = None
    """The function, as ``module:name``, of a run, files, queries, ``number=`` and ``of=``, that
    ``similar`` calls; None where there is none."""

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
        """The examples of a file, about ``trees`` at a time.

        Arguments:
            path: the file.
            settings: of the data.
            vocabs: those of the training examples; None for the first of these.
            file_format: a format of the task; by default that of training.
            labeled: whether every example must have its label; otherwise it is -1 without one.
            trees: examples per chunk.

        Raises:
            TreeError: the file is not what the task reads.
            ConfigError: the task does not read the format.
        """
        own = next(iter(self.formats))
        if file_format is not None and file_format not in self.formats:
            raise ConfigError(
                f"expected a format that the task {self.name} reads, {', '.join(self.formats)}, "
                f"got {file_format!r}"
            )
        reader = self.formats[file_format or own]
        return reader(path, settings, vocabs, labeled=labeled, trees=trees)

    def format_of(self, path: PathLike) -> str | None:
        """The format of a file to predict, by its name or first line.

        Where these do not tell, it is plain text if the task reads that, and else that of training.
        """
        try:
            guess = guess_format(path)
        except TreeError:
            guess = ""
        own = next(iter(self.formats))
        return guess if guess in self.formats else "text" if "text" in self.formats else own

    def companions(self, path: Path) -> list[Path]:
        """The files beside a data file that are read together with it."""
        return []

    def inferred_settings(self, settings: Any) -> dict[str, Any]:
        """Return settings of the data that are inferred from the training files; default: none.

        Arguments:
            settings: of the data.
        """
        return {}

    def read(self, path: PathLike, settings: Any, vocabs: Names = None) -> LabeledTrees:
        """All labeled examples of a file; see :meth:`stream`."""
        return gather(self.stream(path, settings, vocabs))

    def build(self, model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
        """The model of these settings, by the method ``build`` of the class ``model``.

        Arguments:
            model: the settings of the model.
            vocabs: the vocabularies of the training examples.
        """
        module: nn.Module = model.of(self.model).build(vocabs)
        return module

    def display_name(self, model: Options) -> str:
        """The name of a model with these settings, in tables and plots."""
        name: str = model.of(self.model).display_name
        return name

    def targets(self, data: LabeledTrees) -> NDArray[Any]:
        """``(R,)`` the class of every row, or what else is to be predicted."""
        columns = data.forest.columns if self.nodes else data.columns
        return np.asarray(columns["target"], dtype=np.int64)

    def labeled(self, data: LabeledTrees) -> NDArray[np.bool_]:
        """``(R,)`` which rows have a class."""
        mask: NDArray[np.bool_] = self._classes(data) >= 0
        return mask

    def rows(self, data: LabeledTrees, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the examples ``ids``, in the order in which the model predicts them."""
        return rows_of(data.forest.offsets, ids) if self.nodes else ids

    def batch(self, data: LabeledTrees, ids: NDArray[np.int64]) -> tuple[TreeBatch, Tensor]:
        """The trees of the examples ``ids`` and the classes of their rows, int64."""
        batch, columns = data.batch(ids)
        return batch, batch.ndata["target"] if self.nodes else columns["target"]

    def groups(self, data: LabeledTrees) -> NDArray[np.int64]:
        """The group of each example, ``(E,)``, from 0; splits keep groups together."""
        return np.arange(len(data))

    def training_batches(
        self, data: LabeledTrees, settings: Any, batch_size: int
    ) -> Batches | None:
        """The batches of training, where the task makes them; None: examples in any order.

        Arguments:
            data: training examples.
            settings: of the data.
            batch_size: the setting ``training.batch_size``.
        """
        return None

    def evaluation_batches(self, data: LabeledTrees, max_nodes: int) -> list[NDArray[Any]] | None:
        """The batches of evaluation, where the task makes them; None: examples in any order.

        Arguments:
            data: examples, all rows of which are to be in a batch.
            max_nodes: the largest number of nodes in a batch.
        """
        return None

    def extend_vocabularies(
        self, data: LabeledTrees, settings: DataSettings, paths: Sequence[Path]
    ) -> None:
        """Add names in the files ``paths`` to the vocabularies of the training examples."""

    def in_class_order(self, data: LabeledTrees, settings: Any) -> LabeledTrees:
        """The training examples with their classes in the order that the task wants."""
        return data

    def init_from_data(self, model: nn.Module, settings: DataSettings, data: LabeledTrees) -> None:
        """Initialise a new model from the training examples ``data``, such as by word vectors."""

    def rollout(self, model: nn.Module, batch: TreeBatch) -> Any:
        """The input of :meth:`losses`: the batch, or what a model's method ``rollout`` draws."""
        rollout: Any = getattr(model, "rollout", None)
        return batch if rollout is None else rollout(batch)

    def losses(self, model: nn.Module, batch: Any, targets: Tensor) -> Tensor:
        """The training loss of every row, ``(R,)``, 0 where a row has no class."""
        losses: Tensor = model(batch, targets)
        return losses

    def loss_denominator(self, examples: int, rows: int) -> int:
        """The divisor of a batch's summed losses: by default the number of rows with a class."""
        return rows

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> dict[str, Tensor]:
        """Columns ``(R,)``: ``loss``, ``prediction`` (the likeliest class), its ``probability``."""
        columns = model.outputs(batch, targets)  # type: ignore[operator]
        return dict(zip(("loss", "prediction", "probability"), columns))

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """Count parameters: those of the ``aggregator``, of the ``cell`` and of the ``model``.

        Word vectors count only for the model. A model without an aggregator has None for it.
        """
        total = sum(p.numel() for p in model.parameters())
        words = {
            id(p): p.numel()
            for p in chain(self.word_parameters(model), fine_tuned_parameters(model))
        }
        return {"aggregator": None, "cell": total - sum(words.values()), "model": total}

    def word_parameters(self, model: nn.Module) -> Iterable[Tensor]:
        """Word vectors and output layers, which ``cell`` of :meth:`parameters` excludes.

        So are those of a pretrained encoder.
        """
        return ()

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """One dictionary per example.

        ``example`` (its number), ``prediction`` (a class's name) and ``probability``; where rows
        are nodes, ``nodes`` has the names of all nodes' classes, and the others are the root's.
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
        """The most frequent class of ``data``: of examples, and of nodes where nodes are rows."""
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
        """What simple models without trees reach, by their names; by default there are none.

        Arguments:
            settings: of the data.
            splits: training and validation examples.
            test: test examples, if there are any.
        """
        return {}

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, int]
    ) -> dict[str, Any]:
        """The metrics of ``outputs`` on ``data``.

        ``accuracy`` is over the rows of ``accuracy_over``, ``loss`` is the mean over all rows with
        a class, and ``majority_accuracy`` is the accuracy of always predicting the most frequent
        class of the training examples. If rows are nodes, both accuracies are also reported for
        roots and for all nodes.

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
            raise TreeError("expected examples with classes, got none; accuracy needs them")
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
        """Whether the training loss of a model contains more than that of validation.

        Learning curves then have a scale for each.
        """
        return False

    def _classes(self, data: LabeledTrees) -> NDArray[np.int64]:
        """The targets, which are classes unless methods of the task say otherwise.

        Raises:
            ConfigError: they are no classes.
        """
        targets = self.targets(data)
        if not np.issubdtype(targets.dtype, np.integer):
            raise ConfigError(
                f"expected the targets of the task {self.name} to be classes, got {targets.dtype}; "
                f"{type(self).__name__} wants has_majority = False and methods of its own: "
                f"{', '.join(OF_CLASSES)}"
            )
        return targets

    def _roots(self, data: LabeledTrees) -> NDArray[np.int64]:
        """The row of each example."""
        return data.forest.roots if self.nodes else np.arange(len(data))


def _most_frequent(targets: NDArray[np.int64]) -> int:
    return int(np.bincount(targets[targets >= 0], minlength=1).argmax())


def wrong_task(name: str, task: Any) -> str:
    """What is wrong with a task that is announced under a name; empty if nothing is."""
    if not isinstance(task, Task):
        return "it is no Task"
    if task.name != name:
        return f"the task calls itself {task.name!r}"
    reads = task.formats or type(task).stream is not Task.stream
    return "" if reads else "it has no reader; give its formats"

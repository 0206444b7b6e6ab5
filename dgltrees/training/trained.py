"""Trained models: network with its best weights, task and vocabularies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees import _shortcuts
from dgltrees._files import Lines, PathLike, in_file, temporary_folder
from dgltrees.errors import ConfigError, TreeError, called
from dgltrees.formats.lines import gather
from dgltrees.formats.records import is_records, trees_of_records
from dgltrees.models.classifier import Classifier
from dgltrees.models.node_targets import NodeNumberTargets
from dgltrees.models.streaming import run_batched
from dgltrees.settings.layers import Settings
from dgltrees.settings.values import load_yaml
from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.tasks.files import data_files, find_files
from dgltrees.tasks.settings import Files
from dgltrees.tasks.splits import (
    check_children,
    limit_of_children,
    load_examples,
    load_splits,
    named_task,
)
from dgltrees.tasks.task import Columns, Task
from dgltrees.training.device import OneDevice, one_device, usable_cores
from dgltrees.training.evaluation import run_model
from dgltrees.training.files import checking, tensor_bytes
from dgltrees.training.loading import evaluation_batches
from dgltrees.training.rundir import BLEND, ESTIMATOR, RunDirectory, fingerprints, pretrained_files
from dgltrees.trees import Forest, LabeledTrees, TreePairs, Vocabulary
from dgltrees.trees.builders.walk import cure_for
from dgltrees.trees.schema import Schema
from dgltrees.trees.segments import rows_of

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from dgltrees.analyses.explain import Explanation


_PLACES = ("id", "file", "name", "line")
"""Example columns that identify or locate a tree."""
_BATCH = 1_000  # examples to read and predict at a time

Paths = PathLike | Sequence[PathLike]
"""A file, or several."""
Trees = LabeledTrees | Forest | TreePairs | Sequence[dict[str, Any]]
"""Trees, pairs of trees, or nested dictionaries."""
Source = Paths | Trees
"""Input of a trained model: files, trees, pairs of trees, or nested dictionaries."""


class TrainedModel:
    """A trained model with the weights of the kept epoch, in evaluation mode on one device.

    :func:`load` reads it from a run directory. It can be pickled, as text and weights.

    Arguments:
        settings: all its settings.
        vocabularies: the frozen vocabularies of its columns; ``"target"`` has the classes.
        model: its network.
        fabric: device and precision.
        metadata: the content of ``run.json``.
        directory: the files of the run; None if it was trained in memory.

    Attributes:
        task: its task.

    Example:
        >>> from dgltrees import Forest, TreeRegressor
        >>> rows = [{"op": "add", "children": [{"op": "one"}, {"op": "two"}]}, {"op": "one"}]
        >>> trees = Forest.from_objects(rows * 2, "children", ["op"])
        >>> model = TreeRegressor(epochs=2, validation_fraction=0.0).fit(trees, [3.0, 1.0] * 2).run_
        >>> model
        TrainedModel(task='regress', model='child_sum')
        >>> model.encode(trees).shape
        (4, 128)
        >>> [sorted(line) for line in model.predict(trees[:1])]
        [['example', 'prediction']]
    """

    def __init__(
        self,
        settings: Settings,
        vocabularies: Schema,
        model: nn.Module,
        fabric: Fabric | OneDevice,
        metadata: Mapping[str, Any],
        directory: RunDirectory | None = None,
    ) -> None:
        self.settings, self.vocabularies, self.model = settings, vocabularies, model
        self.task: Task = settings.task
        self.fabric, self.metadata, self._directory = fabric, metadata, directory
        vocabularies.reported.clear()  # each model warns once of new trees

    @property
    def directory(self) -> RunDirectory:
        """The files of the run.

        Raises:
            ConfigError: it was trained in memory.
        """
        if self._directory is None:
            raise ConfigError("expected a model in a directory, got one in memory; save it first")
        return self._directory

    @property
    def place(self) -> str:
        """``" at PATH"`` for errors; empty for a run in memory."""
        return "" if self._directory is None else f" at {self._directory.path}"

    def save(
        self, path: PathLike, history: list[dict[str, Any]], result: Mapping[str, Any]
    ) -> None:
        """Write a run directory, which :func:`load` reads.

        Arguments:
            path: the directory.
            history: the metrics of each epoch.
            result: the result of the training.
        """
        directory = RunDirectory(path)
        directory.start(self.settings, self.vocabularies, self.metadata)
        directory.save_weights(self.model.state_dict())
        directory.write_metrics(history)
        directory.write_values("result.json", result)

    def __getstate__(self) -> dict[str, Any]:
        """Return strings, weights as safetensors, and the files of a pretrained encoder."""
        names = {name: (v.names, v.unknown) for name, v in self.vocabularies.items()}
        files = pretrained_files(self.settings).values()
        return {
            "settings": self.settings.to_yaml(),
            "vocabularies": json.dumps(names),
            "schema": json.dumps(self.vocabularies.to_dict()),
            "metadata": json.dumps(self.metadata),
            "weights": tensor_bytes(self.model.state_dict(), {}),
            "pretrained": {path.name: path.read_bytes() for path in files},
        }

    @torch.inference_mode(False)
    def __setstate__(self, state: Mapping[str, Any]) -> None:
        settings = Settings(load_yaml(state["settings"]))
        if state["pretrained"]:
            folder = temporary_folder(self)
            for name, content in state["pretrained"].items():
                (folder / name).write_bytes(content)
            settings = settings.replace("data", pretrained=str(folder))
        vocabularies = {
            name: Vocabulary(names, unknown=unknown, frozen=True)
            for name, (names, unknown) in json.loads(state["vocabularies"]).items()
        }
        schema = Schema.from_dict(vocabularies, json.loads(state["schema"]))
        model = settings.task.build(settings.model, schema)
        fabric = _set_up(model, settings)
        model.load_state_dict(safetensors.torch.load(state["weights"]))
        TrainedModel.__init__(
            self, settings, schema, model.eval(), fabric, json.loads(state["metadata"])
        )

    @property
    def max_children(self) -> int | None:
        """The largest number of children that the model supports; None for any number."""
        return limit_of_children(self.settings.model)

    @cached_property
    def encoder(self) -> nn.Module:
        """The part of the model that encodes trees or sentences.

        Raises:
            ConfigError: the model has none.
        """
        encoder = getattr(self.model, "encoder", None)
        if not isinstance(encoder, nn.Module):
            raise ConfigError(
                f"expected a model that encodes trees or sentences{self.place}, "
                f"got one of the task {self.task.name}"
            )
        return encoder

    def __repr__(self) -> str:
        name = self.task.display_name(self.settings.model)
        path = "" if self._directory is None else f"{os.fspath(self.directory.path)!r}, "
        return f"TrainedModel({path}task={self.task.name!r}, model={name!r})"

    def read(self, files: Paths, *, flag: str = "files") -> LabeledTrees:
        """Read the examples of files, encoded by the vocabularies of the run.

        Arguments:
            files: a path, or several, or patterns such as ``data/*.tsv``.
            flag: the name of the argument in errors.

        Returns:
            The examples, encoded for the model.

        Raises:
            ConfigError: no file matches a pattern.
            TreeError: the task cannot read a file.
        """
        return self._read(self.settings, [Path(file) for file in self.files(files, flag=flag)])

    def _read(self, settings: Settings, paths: list[Path]) -> LabeledTrees:
        return load_examples(self.task, settings.data, paths, self.vocabularies, self.max_children)

    def files(self, patterns: Paths, *, flag: str = "files") -> list[PathLike]:
        """Return the files that match patterns, standard input (``-``) and lines in memory.

        Raises:
            ConfigError: no file matches a pattern.
        """
        folder = self.settings.data.dir
        files: list[PathLike] = []
        if isinstance(patterns, Mapping):
            raise ConfigError(f"expected {flag} or trees, got a dictionary; write [tree]")
        for pattern in [patterns] if isinstance(patterns, (str, os.PathLike)) else patterns:
            if not isinstance(pattern, (str, os.PathLike)):
                raise ConfigError(
                    f"expected {flag}, or trees as a Forest, got a {type(pattern).__name__}; "
                    f"{cure_for(pattern)}"
                )
            files += find_files([pattern], folder, flag) if in_file(pattern) else [pattern]
        return files

    def stream(
        self, source: Source, *, file_format: str | None = None, batch: int = _BATCH
    ) -> Iterator[LabeledTrees]:
        """Yield examples without their labels, ``batch`` at a time; see :meth:`predict`.

        Raises:
            ConfigError: no file matches a pattern, or the task does not support the format.
            TreeError: the task cannot read a file.
        """
        return (data for _, data in self._parts(source, file_format, batch))

    def _parts(
        self, source: Source, file_format: str | None, batch: int
    ) -> Iterator[tuple[PathLike | None, LabeledTrees]]:
        """Return the parts of :meth:`stream`, each with its file."""
        from_files = not isinstance(self.task, CustomTreesTask)
        if isinstance(source, LabeledTrees) and (source.inputs or from_files):
            self._check_encoding(source)
            return iter([(None, source)])
        if isinstance(source, (LabeledTrees, Forest, TreePairs)) or is_records(source):
            return iter([(None, self.examples(cast(Trees, source), labeled=False))])

        def of_file(path: PathLike) -> Iterator[tuple[PathLike, LabeledTrees]]:
            task, data = self.task, self.settings.data
            form, names = file_format or task.format_of(path), self.vocabularies
            with named_task(task, path):
                for part in task.stream(
                    path, data, names, file_format=form, labeled=False, trees=batch
                ):
                    check_children(part.forest, self.max_children, path)
                    yield path, part

        return chain.from_iterable(map(of_file, self.files(cast(Paths, source))))

    def examples(self, trees: Trees, *, labeled: bool = True) -> LabeledTrees:
        """Return trees encoded for the model, with the columns of the training trees.

        Arguments:
            trees: trees or pairs with their columns, or nested dictionaries; targets are optional.
            labeled: use targets that they have.

        Raises:
            ConfigError: the task reads trees only from files.
            TreeError: the trees lack columns of the training trees, or are pairs if those were not.
        """
        if not isinstance(self.task, CustomTreesTask):
            raise ConfigError(
                f"expected a model of custom trees, got one of the task {self.task.name}, "
                "which reads files; pass their names"
            )
        if isinstance(trees, TreePairs):
            trees = trees.examples()
        settings, schema = self.settings.data, self.vocabularies
        raw = LabeledTrees(trees) if isinstance(trees, Forest) else cast(LabeledTrees, trees)
        if is_records(trees):
            raw, _ = trees_of_records(cast(Any, trees), settings, inputs=schema.inputs)
        check_children(raw.forest, self.max_children)
        return self.task.examples(raw, settings, schema, labeled=labeled)

    def to_examples(self, source: Source) -> LabeledTrees:
        """Return the examples of :meth:`stream` at once."""
        return gather(self.stream(source))

    def outputs(self, data: LabeledTrees) -> Columns:
        """Return the model's output columns for all rows of ``data``; see ``Task.outputs``.

        Raises:
            ConfigError: another model has encoded the examples.
        """
        self._check_encoding(data)
        return run_model(self.model, self.task, data, self.fabric)

    def _check_encoding(self, data: LabeledTrees) -> None:
        """Raise ConfigError if examples have other ids or inputs than this model reads."""
        others = [
            f"names of {name!r}"
            for name, names in {**data.forest.vocabs, "target": data.targets}.items()
            if name in self.vocabularies
            and names is not self.vocabularies[name]
            and len(names)
            and names.names != self.vocabularies[name].names
        ]
        if data.inputs and data.inputs != self.vocabularies.inputs:
            others.append("input columns")
        if others:
            raise ConfigError(
                f"expected examples that this model{self.place} has encoded, got those of another "
                f"with other {' and '.join(others)}; pass the files or trees themselves"
            )

    def test_examples(self, test: Files = None, dir: str | None = None) -> LabeledTrees:
        """Read the examples of test files, or the held-out test examples of the run.

        Arguments:
            test: the files; default: those of the run, or the part ``data.test_fraction`` of its
                training files.
            dir: the folder of the data sets; default: that of the run.

        Returns:
            The examples, encoded for the model.

        Raises:
            ConfigError: there are neither test files nor held-out examples, or the training files
                have changed since.
            TreeError: the task cannot read a test file.
        """
        settings = self.settings
        if dir is not None:
            settings = settings.replace("data", dir=dir)
        if test:
            settings = settings.replace("data", test=test)
        files = data_files(settings.data, "test")
        if files:
            return self._read(settings, files)
        fraction = settings.data.test_fraction
        if not fraction:
            raise ConfigError("missing test files; pass them as test (--test FILE)")
        # other files would be split differently
        self.directory.check(settings, fingerprints(settings))
        held_out = load_splits(self.task, settings.data, self.max_children).test
        if held_out is None:
            raise ConfigError(
                f"missing test examples: {fraction} of the training examples is less than one; "
                "pass test files as test (--test FILE)"
            )
        return held_out

    def evaluate(self, test: Files = None, dir: str | None = None) -> dict[str, Any]:
        """Return the metrics on test files.

        Arguments:
            test, dir: see :meth:`test_examples`.

        Returns:
            The metrics of the task by name, and those of its ``evaluate_more``; those of numbers
            are in the unit of the target.
        """
        report = self.report(self.test_examples(test, dir))
        if self.task.evaluate_more is not None:
            report.update(resolve_name(self.task.evaluate_more)(self, test, dir))
        return report

    def report(self, data: LabeledTrees) -> dict[str, Any]:
        """Return the metrics of the task on examples, by name."""
        outputs, majority = self.outputs(data), self.metadata["majority"]
        try:
            return self.task.report(data, outputs, majority)
        except KeyError as error:
            raise ConfigError(
                f"run.json{self.place} is damaged: its majority has no {error}; train it again or "
                "restore it"
            ) from None

    def predict(
        self, source: Source, *, file_format: str | None = None, batch: int = _BATCH
    ) -> Iterator[dict[str, Any]]:
        """Yield predictions, one dictionary per example, in bounded memory.

        Labels are not needed, and are ignored.

        Arguments:
            source: files (``"-"`` is standard input), or trees; see :meth:`examples`.
            file_format: the format of the files; default: inferred from their names or first lines.
            batch: number of examples to read and predict at a time.

        Returns:
            An iterator over dictionaries, whose entries depend on the task; see
            :meth:`~dgltrees.tasks.task.Task.predictions`. Predicted numbers are in the unit of the
            target.

        Raises:
            ConfigError: no file matches a pattern, or the task does not support the format.
            TreeError: the task cannot read a file.
        """
        return prediction_lines(self, self._parts(source, file_format, batch))

    def predict_texts(
        self, texts: Iterable[str], *, file_format: str | None = None
    ) -> list[dict[str, Any]]:
        """Return a prediction for each string, such as a sentence, expression or tree in brackets.

        ``model.predict_texts(["a fine film", "what a bore"])``

        Arguments:
            texts: strings in the line format of the task; labels are optional.
            file_format: see :meth:`predict`.

        Raises:
            ConfigError: see :meth:`predict`; or ``texts`` is one string.
            TreeError: see :meth:`predict`; or a string is blank or has several lines, so that not
                every string has one prediction.
        """
        if isinstance(texts, str):
            raise ConfigError(f"expected a list of texts, got the string {texts[:40]!r}")
        texts = list(texts)
        lines = list(self.predict([Lines(texts, "<texts>")], file_format=file_format))
        if len(lines) != len(texts):
            raise TreeError(
                f"expected {len(texts)} texts of one line with words, got {len(lines)} "
                "predictions; leave blank texts out, and line breaks within texts"
            )
        return lines

    @property
    def predicts_nodes(self) -> bool:
        """Whether the model predicts numbers of nodes in addition to those of trees."""
        return isinstance(getattr(self.model, "head", None), NodeNumberTargets)

    def predict_nodes(self, source: Source) -> list[NDArray[np.float64]]:
        """Return the predicted number of each node, or what it contributes to an additive model.

        Arguments:
            source: files, or trees; see :meth:`examples`.

        Returns:
            an array per tree, in the order of its nodes: ``(n_nodes,)``, or ``(n_nodes,
            n_targets)`` contributions to several targets.

        Raises:
            ConfigError: the model has no node target and is not additive.
            TreeError: see :meth:`predict`.
        """
        if not self.predicts_nodes:
            raise ConfigError(
                f"expected a model with {called('data.node_target')} or {called('model.additive')} "
                "to predict nodes, got neither"
            )
        data, model = self.to_examples(source), cast(Classifier, self.model)
        head, forest = cast(NodeNumberTargets, model.head), data.forest

        def values(ids: NDArray[np.int64]) -> dict[str, Tensor]:
            batch, _ = self.task.batch(data, ids)
            with self.fabric.autocast():
                vectors = model.vectors(batch.to(self.fabric.device))
                return {"value": head.node_values(vectors).double().cpu()}

        batches = evaluation_batches(self.task, data, max_nodes=20_000)
        rows = partial(rows_of, forest.offsets)
        table = run_batched(values, batches, forest.num_nodes, rows=rows)["value"].numpy()
        return np.split(table if table.shape[1] > 1 else table[:, 0], forest.offsets[1:-1])

    def encode(
        self, source: Source, *, file_format: str | None = None, batch: int = _BATCH
    ) -> NDArray[np.float32]:
        """Return the vector of each tree or sentence, ``(T, c)``.

        Arguments:
            source, file_format, batch: see :meth:`predict`.

        Raises:
            ConfigError: the model does not encode trees, or see :meth:`predict`.
            TreeError: the task cannot read a file.
        """
        return np.concatenate(list(self.encode_parts(source, file_format=file_format, batch=batch)))

    def encode_parts(
        self, source: Source, *, file_format: str | None = None, batch: int = _BATCH
    ) -> Iterator[NDArray[np.float32]]:
        """Yield the rows of :meth:`encode` in parts, in bounded memory."""
        if self.task.stateful:
            raise ConfigError(
                f"expected a model of separate trees or sentences{self.place}, got one of the task "
                f"{self.task.name}, which reads running text"
            )
        return map(self._encode, self.stream(source, file_format=file_format, batch=batch))

    def _encode(self, data: LabeledTrees) -> NDArray[np.float32]:
        def vectors(ids: NDArray[np.int64]) -> dict[str, Tensor]:
            batch, _ = self.task.batch(data, ids)
            with self.fabric.autocast():
                roots = self.encoder(batch.to(self.fabric.device)).roots
            return {"vector": roots.float().cpu().reshape(len(ids), -1)}

        batches = evaluation_batches(self.task, data, max_nodes=20_000)
        return np.asarray(run_batched(vectors, batches, len(data))["vector"].numpy())

    def explain(self, source: Source, example: int = 0, **options: Any) -> Explanation:
        """Explain a prediction by the contributions of nodes and columns.

        Jupyter shows the result as a drawing; ``explanation.to_dict()`` is a table. Options and
        errors are those of :func:`dgltrees.analyses.explain.explain`.

        Arguments:
            source: files, or trees; see :meth:`examples`.
            example: index of the tree, from 0.
            options: ``target``, the class or target to explain; ``node``, for models that predict
                nodes; ``steps``.

        Returns:
            The contributions of nodes and columns.
        """
        return _shortcuts.explain(self, source, example, **options)


def prediction_lines(
    model: Any, parts: Iterable[tuple[PathLike | None, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the predictions for encoded examples; see :meth:`TrainedModel.predict`."""
    first = dict.fromkeys(model.task.numbered, 0)
    for path, part in parts:
        data = part if isinstance(part, LabeledTrees) else part[0]  # of the first member
        line: dict[str, Any] = {}
        places = {n: data.columns[n].tolist() for n in _PLACES if n in data.columns}
        if "file" in places and path is not None and os.path.isdir(path):
            places["file"] = [os.path.join(path, file) for file in places["file"]]
        try:
            outputs = model.outputs(part)
        except TreeError as error:  # the model cannot read it: sentences without trees, say
            raise TreeError(
                error.message, file=error.file or path, line=error.line, tree=error.tree
            ) from None
        nodes = model.predict_nodes(part) if model.predicts_nodes else []
        for line in model.task.predictions(data, outputs):
            if nodes:
                line["nodes"] = nodes[line["example"]].tolist()
            for name, column in places.items():
                if column[line["example"]] is not None:
                    line[name] = column[line["example"]]
            line.update({name: line[name] + first[name] for name in first if name in line})
            yield line
        first = {name: line.get(name, -1) + 1 for name in first}


def load(path: PathLike) -> TrainedModel:
    """Load a trained model from a run directory, to predict, evaluate and encode.

    Arguments:
        path: the run directory written by ``dgltrees train ... --out``.

    Returns:
        The model with the weights of the kept epoch, in evaluation mode.

    Raises:
        ConfigError: there is no run, it has another format version, it has no weights yet, one of
            its files is damaged, or it is a part of a blend.

    Example:
        >>> from dgltrees import Forest, TreeRegressor
        >>> rows = [{"op": "add", "children": [{"op": "one"}, {"op": "two"}]}, {"op": "one"}]
        >>> trees = Forest.from_objects(rows * 2, "children", ["op"])
        >>> _ = TreeRegressor(epochs=2).fit(trees, [3.0, 1.0] * 2, out="my_run")
        >>> model = load("my_run")
        >>> model
        TrainedModel('my_run', task='regress', model='child_sum')
        >>> len(list(model.predict(trees)))
        4
    """
    directory = RunDirectory(path)
    if (directory / BLEND).exists():
        kind = directory.values(ESTIMATOR)["class"]
        raise ConfigError(
            f"expected one network, got a blend with other models at {directory.path}; predict "
            f"in Python with {kind}.load({os.fspath(path)!r})"
        )
    return load_network(directory)


@torch.inference_mode(False)  # explanations and further training need gradients
def load_network(directory: RunDirectory) -> TrainedModel:
    """Load the network of a run directory; see :func:`load`."""
    metadata, settings = directory.metadata(), directory.settings()
    torch.set_num_threads(min(metadata["threads"], usable_cores()))
    if (encoder := directory.pretrained()) is not None:  # the run's own copy
        settings = settings.replace("data", pretrained=os.fspath(encoder))
    with checking(directory / "vocabulary"):
        schema = directory.schema()
    with checking(directory.path, with_code=True):
        model = settings.task.build(settings.model, schema)
    fabric, weights = _set_up(model, settings), directory.weights()
    with checking(directory / "weights.safetensors", with_code=True):
        model.load_state_dict(weights)
    return TrainedModel(settings, schema, model.eval(), fabric, metadata, directory)


def _set_up(model: nn.Module, settings: Settings) -> OneDevice:
    """Move a new model, whose weights are loaded afterwards, to its device."""
    device = one_device(settings.training)
    device.setup_module(model)
    return device

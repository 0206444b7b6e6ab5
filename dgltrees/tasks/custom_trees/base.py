"""The base class of tasks on custom trees: columns as inputs, named encoders, baselines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees._files import PathLike
from dgltrees.errors import RowError, TreeError, called
from dgltrees.formats import get_format, guess_format
from dgltrees.formats.lines import gather
from dgltrees.formats.nodes import USUAL
from dgltrees.formats.records import numbered
from dgltrees.formats.values import ID
from dgltrees.models.classifier import Classifier
from dgltrees.models.columns import ColumnsInput
from dgltrees.models.encoder import Encoder
from dgltrees.models.node_targets import NodeNumberTargets, WithNodes
from dgltrees.models.readout import EveryNode, make_readout
from dgltrees.models.targets import TargetHead
from dgltrees.settings import Options
from dgltrees.tasks.custom_trees.baselines import bag_baselines, some_examples
from dgltrees.tasks.custom_trees.leaks import warn_of_leaks
from dgltrees.tasks.custom_trees.reading import (
    error_at,
    input_examples,
    no_column,
    some_of,
    stream_raw,
    target_values,
    with_targets,
)
from dgltrees.tasks.files import data_files
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.task import Columns, Names, Task
from dgltrees.tasks.trees import cell_name
from dgltrees.trees import LabeledTrees, TreeBatch, Vocabulary
from dgltrees.trees.schema import NUMBERS, Schema
from dgltrees.trees.segments import locate

_PLACES = ("file", "name", "line")
"""Example columns with the place of a tree in a file."""


@dataclass(frozen=True)
class CustomTreesTask(Task):
    """A task on trees with columns, with targets of trees, pairs or nodes.

    Arguments:
        arity: number of trees per example: 1, or 2 for pairs.
    """

    arity: int = 1

    _baselines = bag_baselines

    def display_name(self, model: Options) -> str:
        """Return the name of the cell, or of an encoder without a cell."""
        return cell_name(model) if "cell" in model else str(model["encoder"])

    def encode_targets(
        self,
        values: Mapping[str, NDArray[Any]],
        settings: Any,
        classes: Vocabulary,
        error: RowError,
    ) -> NDArray[Any]:
        """Return the targets of rows from the values of the target columns.

        Arguments:
            values: the value of each row by column, None or NaN if missing.
            settings: settings of the data.
            classes: the names of the classes; extended by the values, unless it is frozen.
            error: builds the error from its message and a row.

        Returns:
            ``(R,)`` or ``(R, K)`` targets; integers, -1 if missing, or numbers, NaN if missing.

        Raises:
            TreeError: a value is not a target of the task.
        """
        raise NotImplementedError

    def targets(self, data: LabeledTrees) -> NDArray[Any]:
        """Return the target of every row, ``(R,)`` or ``(R, K)``."""
        columns = data.forest.columns if self.nodes else data.columns
        return np.asarray(columns["target"])

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
        """Read the examples of a file in any format; see :meth:`Task.stream`.

        The columns of training files are inferred from the whole file.
        """
        parts = stream_raw(
            path, settings, vocabs, file_format=file_format, labeled=labeled, trees=trees
        )
        if vocabs is None or not vocabs["target"].frozen:
            parts = iter([gather(parts)])
        for raw in parts:
            yield self.examples(raw, settings, vocabs, path, labeled=labeled)

    def whole_parts(self, parts: Iterator[LabeledTrees], path: PathLike) -> Iterator[LabeledTrees]:
        """Return parts of a file that can be predicted one after the other; default: the same."""
        return parts

    def inferred_settings(self, settings: Any) -> dict[str, Any]:
        """Return the key of the children and the path of the trees, if they can be inferred."""
        files = data_files(settings, "train")
        if not files:
            return {}
        form = get_format(settings.format or guess_format(files[0], settings), "data.format")
        layout = form.complete_layout(files, settings)
        return {"children_key": layout.children_key, "tree_path": layout.tree_path}

    def format_of(self, path: PathLike) -> str | None:
        """Return None: the format is a setting, or is inferred from the file."""
        return None

    def examples(
        self,
        raw: LabeledTrees,
        settings: Any,
        names: Names,
        file: PathLike | None = None,
        *,
        labeled: bool = True,
    ) -> LabeledTrees:
        """Encode the inputs and targets of trees with all their columns.

        Arguments:
            raw: the trees; targets are columns of the examples, of roots, or of nodes.
            settings: settings of the data.
            names: the schema of the training trees; None for the first training trees.
            file: the file, for errors.
            labeled: whether to read targets.

        Returns:
            Examples with encoded inputs, and with targets in the column ``"target"``.

        Raises:
            TreeError: a training tree has no target, or no group to rank it in, a value is not a
                target of the task, the trees do not have the columns of the schema, or they are
                single trees instead of pairs or pairs instead of single trees.
        """
        if raw.arity != self.arity:
            raise TreeError(self._wrong_arity(raw.arity), file=file)
        if names is None:
            raw = numbered(raw, settings.as_names)
        read = input_examples(raw, settings, names, nodes=self.nodes, file=file)
        rows = raw.forest.num_nodes if self.nodes else len(raw)
        error = partial(self._row_error, raw=raw, file=file)
        inputs = read.inputs
        values = {
            name: target_values(raw, name, nodes=self.nodes, inputs=inputs) if labeled else None
            for name in read.target_names
        }
        training = not read.targets.frozen
        for name, column in values.items():
            if training and column is None:
                cure = f"name one with {called('data.target')}"
                text = no_column(f"a target {name!r}", name, raw, cure, nodes=self.nodes)
                raise TreeError(text, file=file)
        if names is None:
            some = some_of(raw)
            answers = {n: v if v is None else v[: len(some)] for n, v in values.items()}
            answers = {} if self.nodes else answers
            warn_of_leaks(some, inputs, answers, [*values], settings.features)
        known = {n: np.full(rows, None) if v is None else v for n, v in values.items()}
        targets = self.encode_targets(known, settings, read.targets, error)
        if training and not self.nodes:
            missing = ~np.reshape(self.is_labeled(targets), (rows, -1)).any(1)
            if missing.any():
                cure = "add it, or remove the tree"
                if "file" in raw.columns and "label" in values and missing.all():
                    cure = "label is the name of a subfolder; name the folder above this one"
                wanted = ", ".join(map(repr, values))
                trees = "all training trees" if missing.all() else "a training tree"
                message = f"missing target {wanted} of {trees}; {cure}"
                raise error(message, int(missing.argmax()))
        if not labeled:  # predictions have the place of each tree
            found = {name: raw.columns[name] for name in _PLACES if name in raw.columns}
            texts = "file" in found and all(c.dtype.kind in "OUi" for c in found.values())
            places = found if texts else {}
            read = replace(read, columns={**read.columns, **places, **_ids(raw, settings)})
        read = with_targets(read, targets, nodes=self.nodes)
        return self._with_more(read, raw, settings, file, labeled)

    def _with_more(
        self, read: LabeledTrees, raw: LabeledTrees, settings: Any, file: Any, labeled: bool
    ) -> LabeledTrees:
        """Return the encoded examples with the columns that only this task has."""
        return read

    def _row_error(
        self, message: str, row: int, raw: LabeledTrees, file: PathLike | None
    ) -> TreeError:
        """Return an error with the tree of a row, the node if rows are nodes, and the line."""
        tree, node = locate(raw.forest.offsets, row) if self.nodes else (row * raw.arity, None)
        return error_at(raw, message, tree, node, file)

    def _wrong_arity(self, arity: int) -> str:
        if self.arity == 1:
            return (
                f"expected single trees for the task {self.name}, got {arity} per example; use a "
                "task on pairs, such as classify-pairs or regress-pairs"
            )
        return (
            f"expected pairs of trees for the task {self.name}, got {arity} per example; pass "
            "TreePairs, or name both trees of a record, such as --data.tree_path first second"
        )

    @staticmethod
    def is_labeled(targets: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which targets are known, as an array of the same shape."""
        return np.asarray(targets >= 0 if targets.dtype.kind == "i" else ~np.isnan(targets))

    def labeled(self, data: LabeledTrees) -> NDArray[np.bool_]:
        """Return which rows have a target, ``(R,)``."""
        targets = self.targets(data)
        return np.asarray(self.is_labeled(targets).reshape(len(targets), -1).any(1))

    def groups(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return the group of each example: the column ``group``, or by default each its own."""
        groups = data.columns.get("group", np.arange(len(data)))
        return np.asarray(np.unique(groups, return_inverse=True)[1])

    def weights(self, data: LabeledTrees) -> NDArray[np.float64] | None:
        """Return the column ``weight`` of the examples, scaled to the mean 1, if there is one."""
        weights = data.columns.get("weight")
        return None if weights is None else np.asarray(weights / weights.mean())

    def mean_loss(self, data: LabeledTrees, outputs: Columns, rows: NDArray[np.bool_]) -> float:
        """Return the mean of the losses of ``rows``, weighted if the rows have weights."""
        weights = self.weights(data)
        losses = outputs["loss"][rows]
        return float(losses.mean() if weights is None else np.average(losses, None, weights[rows]))

    def baselines(
        self, settings: Any, splits: Any, test: LabeledTrees | None
    ) -> dict[str, dict[str, Any]]:
        """Return the metrics of linear and boosted models over bags of nodes, if requested.

        A task with groups adds those of a random order.
        """
        if not settings.baselines:
            return {}
        train, valid, test = (some_examples(self, p) for p in (splits.train, splits.valid, test))
        return self._baselines(cast(LabeledTrees, train), {"valid": valid, "test": test})

    def init_from_data(self, model: nn.Module, settings: DataSettings, data: LabeledTrees) -> None:
        """Initialise means and standard deviations of inputs and targets."""
        inputs = cast(Encoder, model.encoder).input
        if NUMBERS in data.forest.columns:
            cast(ColumnsInput, inputs).standardise(np.asarray(data.forest.columns[NUMBERS]))
        targets = self.targets(data)
        known = self.is_labeled(targets).reshape(len(targets), -1).any(0)
        if not known.all():
            name = data.target_names[int(known.argmin())]
            raise TreeError(f"missing target {name!r} of all training trees; leave it out")
        cast(TargetHead, model.head).learn_scale(targets)

    def word_parameters(self, model: nn.Module) -> Iterable[Tensor]:
        """Return the parameters of the input, the readout and the head."""
        encoder = cast(Encoder, model.encoder)
        of_input = {id(each) for each in encoder.input.parameters()}
        own = {id(each) for each in encoder.parameters()} - of_input
        return [each for each in model.parameters() if id(each) not in own]

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> dict[str, Tensor]:
        """Return the columns of the head; see :class:`~dgltrees.models.TargetHead`."""
        classifier = cast(Classifier, model)
        return cast(TargetHead, classifier.head).columns(classifier.vectors(batch), targets)


def _ids(raw: LabeledTrees, settings: Any) -> dict[str, NDArray[Any]]:
    """Return the column ``id`` next to the trees, or that of the trees of a table, as ``id``."""
    for name in (ID, settings.tree_id, *USUAL["tree_id"]):
        if name in raw.columns and raw.columns[name].ndim == 1:
            return {ID: raw.columns[name]}
    return {}


def check_any_target(data: LabeledTrees, known: NDArray[np.bool_]) -> None:
    """Check that a row has a target, which metrics need."""
    if not known.any():
        wanted = " or ".join(map(repr, data.target_names))
        raise TreeError(
            f"expected examples with a target {wanted}, got none; give the trees a column of this "
            "name with their targets, which the metrics need"
        )


def make_model(model: Options, schema: Schema, head: type[TargetHead], **sizes: Any) -> Classifier:
    """Build a model of targets from columns."""
    inputs = ColumnsInput(
        schema,
        model["embedding"],
        dropout=model["input_dropout"],
        sibling_positions=model["sibling_positions"],
    )
    encoder = model.part("encoder")(inputs=inputs)
    readout: nn.Module = EveryNode()
    size = encoder.size
    if "readout" in model:
        readout = make_readout(model["readout"], encoder.size)
        size *= 2 if model["readout"] == "root_max" else 1
    if head is NodeNumberTargets:
        readout = WithNodes(readout)
        sizes["node_size"] = None if schema.node_target is None else encoder.size
    dropout = model["head_dropout"]
    targets = model.of(head, size=size, hidden=model["head_hidden_sizes"], dropout=dropout, **sizes)
    return Classifier(encoder, readout, targets)

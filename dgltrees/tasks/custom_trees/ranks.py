"""The order of custom trees within groups: the task ``rank``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees._files import PathLike
from dgltrees.errors import RowError, TreeError, called
from dgltrees.metrics.ranks import TOP, ndcg, order_metrics, rank_within
from dgltrees.models.classifier import Classifier
from dgltrees.models.ranks import RankTarget
from dgltrees.settings import Options
from dgltrees.tasks.custom_trees.base import CustomTreesTask, check_any_target, make_model
from dgltrees.tasks.custom_trees.baselines import rank_baselines
from dgltrees.tasks.custom_trees.numbers import read_numbers
from dgltrees.tasks.custom_trees.reading import no_column, target_values
from dgltrees.tasks.custom_trees.settings import RankData, RankModel
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.task import LOSS, Columns, Metric, Names
from dgltrees.trees import LabeledTrees, TreeBatch, Vocabulary
from dgltrees.trees.columns import names_of
from dgltrees.trees.schema import Schema
from dgltrees.trees.segments import run_offsets

METRICS = (
    Metric("pair_accuracy"),
    Metric("kendall", label="tau", scale=1.0),
    Metric("ndcg", label="NDCG", baseline="chance_ndcg"),
    Metric(f"ndcg_{TOP}", label=f"NDCG at {TOP}"),
    Metric("map", label="MAP"),
    Metric("mrr", label="MRR"),
    LOSS,
)


@dataclass(frozen=True)
class RankTask(CustomTreesTask):
    """A task with a score of each tree that orders the trees of a group.

    Examples have the column ``"group"``, the name of each tree's group, empty if missing. Groups of
    one tree, or with equal targets, have no order: training and metrics leave them out.
    """

    has_majority = False
    _baselines = rank_baselines

    def build(self, model: Options, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """Build the model; see :meth:`Task.build`."""
        return make_model(model, cast(Schema, vocabs), RankTarget)

    def encode_targets(
        self,
        values: Mapping[str, NDArray[Any]],
        settings: RankData,
        classes: Vocabulary,
        error: RowError,
    ) -> NDArray[Any]:
        """Return the targets, ``(E,)``, the highest the best, NaN if missing.

        See :meth:`CustomTreesTask.encode_targets`.
        """
        ((column, array),) = values.items()
        numbers = read_numbers(array, column, error)
        return -numbers if settings.best == "lowest" else numbers

    def _with_more(
        self, read: LabeledTrees, raw: LabeledTrees, settings: Any, file: Any, labeled: bool
    ) -> LabeledTrees:
        """Add the groups of the trees; raise TreeError if a training tree has none."""
        values = target_values(raw, settings.group, nodes=False, inputs=read.inputs)
        training = not read.targets.frozen
        if training and values is None:
            what = f"a column {settings.group!r} with the group of each tree"
            cure = f"name one with {called('data.group')}"
            raise TreeError(no_column(what, settings.group, raw, cure), file=file)
        error = partial(self._row_error, raw=raw, file=file)
        listed = [None] * len(raw) if values is None else names_of(values, settings.group, error)
        groups = np.array([name or "" for name in listed], np.str_)
        if training and (groups == "").any():
            row = int((groups == "").argmax())
            message = (
                f"missing group {settings.group!r} of a training tree; add it, or remove the tree"
            )
            raise error(message, row)
        return replace(read, columns={**read.columns, "group": groups})

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
        """Read the examples of a file; see :meth:`Task.stream`.

        If labels are not needed, each chunk has whole groups, whose trees must be consecutive.

        Raises:
            TreeError: the trees of a group are not consecutive; or labels are needed and no tree
                has a group.
        """
        parts = super().stream(
            path, settings, vocabs, file_format=file_format, labeled=labeled, trees=trees
        )
        return _grouped(parts, settings.group, path) if labeled else self.whole_parts(parts, path)

    def whole_parts(self, parts: Iterator[LabeledTrees], path: PathLike) -> Iterator[LabeledTrees]:
        """Yield parts with whole groups; raise TreeError if a group's trees are apart."""
        waiting: list[LabeledTrees] = []  # the trees so far of a group that may go on
        ended: set[int] = set()  # hashes of the names of groups
        trees = 0  # before the part
        for part in parts:
            names = part.columns["group"].tolist()
            begins = run_offsets(part.columns["group"])[:-1].tolist()
            goes_on = bool(waiting and names) and waiting[0].columns["group"][0] == names[0]
            for at in begins[1:] if goes_on else begins:
                if names[at] and hash(names[at]) in ended:
                    raise TreeError(
                        f"expected consecutive trees of the group {names[at]!r}, got others "
                        "between them; sort the file by group",
                        file=path,
                        tree=trees + at,
                    )
                ended.add(hash(names[at]))
            trees += len(part)
            last = begins[-1] if begins else 0
            if last or not goes_on:
                whole = [*waiting, *([part[:last]] if last else [])]
                if whole:
                    yield LabeledTrees.concat(whole)
                waiting, part = [], part[last:]
            waiting += [part] if len(part) else []
        if waiting:
            yield LabeledTrees.concat(waiting)

    def groups(self, data: LabeledTrees) -> NDArray[np.int64]:
        """Return the group of each tree, ``(E,)``; a tree without a group is a group by itself."""
        names = np.asarray(data.columns["group"])
        _, numbers = np.unique(names, return_inverse=True)
        alone = names == ""
        numbers[alone] = len(names) + np.arange(int(alone.sum()))
        return np.unique(numbers, return_inverse=True)[1]

    def labeled(self, data: LabeledTrees) -> NDArray[np.bool_]:
        """Return which trees, ``(E,)``, have a target, in a group with different targets."""
        targets, groups = self.targets(data), self.groups(data)
        known = ~np.isnan(targets)
        low, high = np.full(len(data), np.inf), np.full(len(data), -np.inf)
        np.minimum.at(low, groups[known], targets[known])
        np.maximum.at(high, groups[known], targets[known])
        return np.asarray(known & (low < high)[groups])

    def batch(self, data: LabeledTrees, ids: NDArray[np.int64]) -> tuple[TreeBatch, Tensor]:
        """Return the trees, and their targets with the indices of their groups, ``(B, 2)``."""
        batch, _ = replace(data, columns={}).batch(ids)
        _, groups = np.unique(np.asarray(data.columns["group"])[ids], return_inverse=True)
        return batch, torch.from_numpy(np.stack([self.targets(data)[ids], groups], 1))

    def init_from_data(self, model: nn.Module, settings: DataSettings, data: LabeledTrees) -> None:
        """Initialise the scales of inputs and targets; warn if groups are left out.

        Raises:
            TreeError: no group has different targets.
        """
        groups, labeled = self.groups(data), self.labeled(data)
        count, learned = len(np.unique(groups)), len(np.unique(groups[labeled]))
        if not learned:
            raise TreeError(
                f"expected training groups with different targets, got {count} of one tree or with "
                f"equal targets; see {called('data.group')} and {called('data.target')}"
            )
        if learned < count:
            warnings.warn(
                f"{count - learned} of {count} training groups are left out: they have one tree, "
                "or equal targets",
                stacklevel=2,
            )
        super().init_from_data(model, settings, data)

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """Yield ``example``, ``score`` and, for a tree in a group, its ``group`` and ``rank``.

        Ranks begin at 1. If scores are equal, the first tree ranks first.
        """
        rank = rank_within(outputs["score"], self.groups(data), -np.arange(len(data)))
        for example, group in enumerate(data.columns["group"].tolist()):
            line = {"example": example, "score": float(outputs["score"][example])}
            yield {**line, "group": group, "rank": int(rank[example])} if group else line

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the metrics of :func:`~dgltrees.metrics.ranks.order_metrics`, and the loss.

        ``groups`` is the number of groups with different targets, ``dropped`` that of the others.
        ``chance_ndcg`` is the expected NDCG of a random order.

        Raises:
            TreeError: no group has different targets.
        """
        rows, groups = self.labeled(data), self.groups(data)
        check_any_target(data, ~np.isnan(self.targets(data)))
        if not rows.any():
            raise TreeError(
                "expected groups of examples with different targets, got none; the metrics need "
                f"them, see {called('data.group')} and {called('data.target')}"
            )
        _, numbers = np.unique(groups[rows], return_inverse=True)
        report = order_metrics(self.targets(data)[rows], outputs["score"][rows], numbers)
        chance = ndcg(self.targets(data)[rows], np.zeros(int(rows.sum())), numbers)
        return {
            **report,
            "chance_ndcg": float(chance.mean()),
            "dropped": len(np.unique(groups)) - report["groups"],
            "loss": float(outputs["loss"][rows].mean()),
            "examples": int(rows.sum()),
        }


def _grouped(parts: Iterable[LabeledTrees], group: str, path: PathLike) -> Iterator[LabeledTrees]:
    """Yield the parts of a file, and check that a tree has a group."""
    grouped = False
    for part in parts:
        grouped = grouped or bool((part.columns["group"] != "").any())
        yield part
    if not grouped:
        raise TreeError(
            f"missing groups in a column {group!r}; name the column with {called('data.group')}",
            file=path,
        )


RANK = RankTask("rank", RankData, RankModel, {}, metrics=METRICS, whole_groups=True)
"""The task ``rank``: the order of the trees in a group."""

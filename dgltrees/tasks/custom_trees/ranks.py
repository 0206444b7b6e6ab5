"""The order of custom trees within groups: the task ``rank``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees._files import PathLike
from dgltrees.errors import TreeError, called
from dgltrees.metrics.ranks import TOP, ndcg, order_metrics, rank_within
from dgltrees.models.classifier import Classifier
from dgltrees.models.ranks import RankTarget
from dgltrees.settings import Options
from dgltrees.tasks.custom_trees.base import CustomTreesTask, RowError, check_any_target, make_model
from dgltrees.tasks.custom_trees.baselines import rank_baselines, some_examples
from dgltrees.tasks.custom_trees.numbers import read_numbers
from dgltrees.tasks.custom_trees.reading import target_values
from dgltrees.tasks.custom_trees.settings import RankData, RankModel
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.task import LOSS, Columns, Metric, Names
from dgltrees.trees import LabeledTrees, TreeBatch, Vocabulary
from dgltrees.trees.columns import name_of
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
    """A score of each tree, by which the trees of a group are ordered.

    Examples have the column ``"group"``, the name of each tree's group, empty where there is none.
    Only groups with unlike targets are learned and measured: of one tree, or of trees that are all
    as good, every order is right.
    """

    has_majority = False

    def build(self, model: Options, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """The model of these settings."""
        return make_model(model, cast(Schema, vocabs), RankTarget)

    def encode_targets(
        self,
        values: Mapping[str, NDArray[Any]],
        settings: RankData,
        classes: Vocabulary,
        error: RowError,
    ) -> NDArray[Any]:
        """Float64 ``(E,)``, the higher the better, NaN where there is none."""
        ((column, array),) = values.items()
        numbers = read_numbers(array, column, error)
        return -numbers if settings.best == "lowest" else numbers

    def examples(
        self,
        raw: LabeledTrees,
        settings: Any,
        names: Names,
        file: PathLike | None = None,
        *,
        labeled: bool = True,
    ) -> LabeledTrees:
        """Examples with their groups; see :meth:`CustomTreesTask.examples`.

        Raises:
            TreeError: a training tree has no group, too.
        """
        read = super().examples(raw, settings, names, file, labeled=labeled)
        values = target_values(raw, settings.group, nodes=False, inputs=read.inputs)
        training = not read.targets.frozen
        if training and values is None:
            columns = ", ".join([*raw.forest.columns, *raw.columns]) or "none"
            raise TreeError(
                f"expected a column {settings.group!r} that says to which group a tree belongs, "
                f"got the columns {columns}; name one with {called('data.group')}",
                file=file,
            )
        listed = [None] * len(raw) if values is None else values.tolist()
        groups = np.array([name_of(value) or "" for value in listed], np.str_)
        if training and (groups == "").any():
            row = int((groups == "").argmax())
            message = (
                f"expected a group {settings.group!r} for every training tree, got none; give it, "
                "or leave the tree out"
            )
            raise self._row_error(message, row, raw, file)
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
        """The examples of a file; see :meth:`Task.stream`.

        Where no labels are needed, no group is cut between two parts; its trees stand in a row.

        Raises:
            TreeError: they do not; or where labels are needed, no tree has a group.
        """
        parts = super().stream(
            path, settings, vocabs, file_format=file_format, labeled=labeled, trees=trees
        )
        return _grouped(parts, settings.group, path) if labeled else _uncut(parts, path)

    def groups(self, data: LabeledTrees) -> NDArray[np.int64]:
        """The group of each tree, ``(E,)``; a tree without a group is one by itself."""
        names = np.asarray(data.columns["group"])
        _, numbers = np.unique(names, return_inverse=True)
        alone = names == ""
        numbers[alone] = len(names) + np.arange(int(alone.sum()))
        return np.unique(numbers, return_inverse=True)[1]

    def labeled(self, data: LabeledTrees) -> NDArray[np.bool_]:
        """``(E,)`` which trees have a target, and others in their group to be ordered with."""
        targets, groups = self.targets(data), self.groups(data)
        known = ~np.isnan(targets)
        low, high = np.full(len(data), np.inf), np.full(len(data), -np.inf)
        np.minimum.at(low, groups[known], targets[known])
        np.maximum.at(high, groups[known], targets[known])
        return np.asarray(known & (low < high)[groups])

    def batch(self, data: LabeledTrees, ids: NDArray[np.int64]) -> tuple[TreeBatch, Tensor]:
        """The trees, and ``(B, 2)`` their targets beside the numbers of their groups."""
        batch, _ = replace(data, columns={}).batch(ids)
        _, groups = np.unique(np.asarray(data.columns["group"])[ids], return_inverse=True)
        return batch, torch.from_numpy(np.stack([self.targets(data)[ids], groups], 1))

    def init_from_data(self, model: nn.Module, settings: DataSettings, data: LabeledTrees) -> None:
        """Take means and deviations from the training examples; a warning counts idle groups.

        Raises:
            TreeError: no group has an order to be learned.
        """
        groups, labeled = self.groups(data), self.labeled(data)
        count, learned = len(np.unique(groups)), len(np.unique(groups[labeled]))
        if not learned:
            raise TreeError(
                f"expected training groups of trees with unlike targets, got {count} of one tree "
                f"or of equal targets; see {called('data.group')} and {called('data.target')}"
            )
        if learned < count:
            warnings.warn(
                f"{count - learned} of {count} training groups are left out: of one tree, or of "
                "equal targets, they have no order to be learned",
                stacklevel=2,
            )
        super().init_from_data(model, settings, data)

    def baselines(
        self, settings: Any, splits: Any, test: LabeledTrees | None
    ) -> dict[str, dict[str, Any]]:
        """What chance and models over bags of nodes reach, if the settings ask for it."""
        if not settings.baselines:
            return {}
        train, valid, test = (some_examples(self, p) for p in (splits.train, splits.valid, test))
        return rank_baselines(self, cast(LabeledTrees, train), {"valid": valid, "test": test})

    def predictions(self, data: LabeledTrees, outputs: Columns) -> Iterator[dict[str, Any]]:
        """``example``, ``score``, and where there are groups ``group`` and the ``rank`` from 1.

        Of equal scores the first tree ranks first.
        """
        rank = rank_within(outputs["score"], self.groups(data), -np.arange(len(data)))
        for example, group in enumerate(data.columns["group"].tolist()):
            line = {"example": example, "score": float(outputs["score"][example])}
            yield {**line, "group": group, "rank": int(rank[example])} if group else line

    def report(
        self, data: LabeledTrees, outputs: Columns, majority: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The measures of :func:`~dgltrees.metrics.ranks.order_metrics`, and the loss.

        ``groups`` are those measured, ``dropped`` those of one tree or of equal targets.
        ``chance_ndcg`` is the NDCG to be expected of an order at random.

        Raises:
            TreeError: no group can be measured.
        """
        rows, groups = self.labeled(data), self.groups(data)
        check_any_target(data, ~np.isnan(self.targets(data)))
        if not rows.any():
            raise TreeError(
                "expected examples with groups of trees with unlike targets, got none; the metrics "
                "need them"
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
    """The parts of a file, some tree of which has a group."""
    grouped = False
    for part in parts:
        grouped = grouped or bool((part.columns["group"] != "").any())
        yield part
    if not grouped:
        raise TreeError(
            f"expected a column {group!r} that says to which group a tree belongs, got none; name "
            f"one with {called('data.group')}",
            file=path,
        )


def _uncut(parts: Iterable[LabeledTrees], path: PathLike) -> Iterator[LabeledTrees]:
    """Parts of a file cut anew, so that each has whole groups.

    Raises:
        TreeError: the trees of a group do not stand in a row.
    """
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
                    f"expected the trees of the group {names[at]!r} in a row, got others between "
                    "them; sort the file by its groups",
                    file=path,
                    tree=trees + at,
                )
            ended.add(hash(names[at]))
        trees += len(part)
        last = begins[-1] if begins else 0
        if last or not goes_on:
            whole = [*waiting, *([part.select(np.arange(last))] if last else [])]
            if whole:
                yield LabeledTrees.concat(whole)
            waiting, part = [], part.select(np.arange(last, len(part)))
        waiting += [part] if len(part) else []
    if waiting:
        yield LabeledTrees.concat(waiting)


RANK = RankTask("rank", RankData, RankModel, {}, metrics=METRICS, whole_groups=True)
"""The task ``rank``: the order of the trees of a group."""

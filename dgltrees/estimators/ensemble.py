"""Ensembles: networks that are trained on folds of the trees, and averaged."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import tee
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import _safe_indexing, check_random_state

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.estimators.blend import (
    MODELS,
    Blend,
    blend_members,
    mean_outputs,
    predicts_logarithms,
    without_loss,
)
from dgltrees.formats.format import RecordLayout
from dgltrees.formats.lines import gather
from dgltrees.settings.layers import Settings
from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.tasks.custom_trees.leaks import WARNING as LEAKS
from dgltrees.tasks.custom_trees.reading import stream_raw
from dgltrees.tasks.custom_trees.settings import CustomTreesData
from dgltrees.tasks.files import find_files
from dgltrees.tasks.splits import named_task
from dgltrees.tasks.task import Columns
from dgltrees.training.trained import Paths, prediction_lines
from dgltrees.trees import LabeledTrees

OF_MEMBERS = frozenset({"members_", "folds_", "out_of_fold_", "targets_", "blend_weights_"})
"""The fitted attributes of an estimator with members."""


class Ensemble:
    """Networks that predict together; it has the methods of a trained model that estimators use.

    A predicted number is the mean of the members' numbers, or of their logarithms with
    ``log_target`` (not of additive models), and a probability is the mean of their probabilities.

    Arguments:
        members: the fitted estimators, whose models have the same targets.
        seed: the seed from which those of the members were drawn.
    """

    def __init__(self, members: Sequence[Any], seed: int) -> None:
        self.members, first = members, members[0].run_
        self.settings = first.settings.replace("training", seed=seed)
        self.task: CustomTreesTask = first.task
        self.vocabularies, self.metadata = first.vocabularies, first.metadata
        reported: set[str] = set()  # one warning of new trees for all members
        for member in members:
            member.run_.vocabularies.reported = reported

    def __reduce__(self) -> tuple[Any, ...]:
        return Ensemble, (self.members, self.settings.training.seed)

    def examples(self, trees: LabeledTrees, *, labeled: bool = True) -> list[LabeledTrees]:
        """Return the trees, encoded for each member, whose vocabularies differ."""
        return [member.run_.examples(trees, labeled=labeled) for member in self.members]

    def outputs(self, data: Sequence[LabeledTrees]) -> dict[str, NDArray[Any]]:
        """Return the output columns, from the trees as encoded for each member."""
        return self._mean(self.outputs_of_folds(data))

    def _mean(self, of_members: Sequence[Columns]) -> dict[str, NDArray[Any]]:
        return mean_outputs(of_members, logarithms=self._averages_logarithms)

    @property
    def _averages_logarithms(self) -> bool:
        # in an additive model the sum of mean contributions is the mean of the sums
        return predicts_logarithms(self.settings) and not self.settings.model.get("additive")

    def predict_nodes(self, data: Sequence[LabeledTrees]) -> list[NDArray[Any]]:
        """Return the predicted numbers of the nodes of each tree; see ``TrainedModel``."""
        each = [member.run_.predict_nodes(part) for member, part in zip(self.members, data)]
        means = self._mean([{"prediction": np.concatenate(trees)} for trees in each])
        return np.split(means["prediction"], data[0].forest.offsets[1:-1])

    def outputs_of_folds(self, data: Sequence[LabeledTrees]) -> list[Columns]:
        """Return the output columns of the models that have not seen each fold."""
        return [member.run_.outputs(each) for member, each in zip(self.members, data)]

    @property
    def predicts_nodes(self) -> bool:
        """Whether the members predict numbers of nodes; see ``TrainedModel``."""
        return bool(self.members[0].run_.predicts_nodes)

    def files(self, patterns: Paths, *, flag: str = "files") -> list[PathLike]:
        """Return the files that match patterns; see ``TrainedModel``."""
        files: list[PathLike] = self.members[0].run_.files(patterns, flag=flag)
        return files

    def predict(
        self, source: Paths, *, file_format: str | None = None, batch: int = 1_000
    ) -> Iterator[dict[str, Any]]:
        """Yield predictions for the trees of files, one dictionary each; see ``TrainedModel``."""

        def parts() -> Iterator[tuple[PathLike, list[LabeledTrees]]]:
            for path in self.files(source):
                options = {"file_format": file_format, "labeled": False, "trees": batch}
                encoded = (self.examples(raw, labeled=False) for raw in self._raw(path, **options))
                of_members = [
                    self.task.whole_parts(map(itemgetter(k), each), path)
                    for k, each in enumerate(tee(encoded, len(self.members)))
                ]
                with named_task(self.task, path):
                    for whole in zip(*of_members):
                        yield path, [*whole]

        return prediction_lines(self, parts())

    def evaluate(self, test: Paths | None = None, dir: str | None = None) -> dict[str, Any]:
        """Return the metrics on test files; see ``TrainedModel``."""
        if not test:
            raise ConfigError("missing test files; pass them as test (--test FILE)")
        patterns = [test] if isinstance(test, (str, os.PathLike)) else test
        paths = find_files(patterns, dir, "--test")
        with named_task(self.task, ", ".join(map(str, paths))):
            raw = gather(part for path in paths for part in self._raw(path))
            data = self.examples(raw)
        return self.report(data)

    def _raw(self, path: PathLike, **options: Any) -> Iterator[LabeledTrees]:
        data = cast(CustomTreesData, self.settings.data)
        return stream_raw(path, data, self.vocabularies, **options)

    def report(self, data: Sequence[LabeledTrees]) -> dict[str, Any]:
        """Return the metrics of the predictions, without the loss."""
        report = self.task.report(data[0], self.outputs(data), self.metadata["majority"])
        return without_loss(report)

    def encode(self, data: Sequence[LabeledTrees]) -> NDArray[np.float32]:
        """Raise ConfigError: the vectors of different networks have no mean."""
        raise ConfigError(
            f"expected one network to encode trees, got an ensemble of {len(data)}; use one of "
            "them, members_[0].encode(X)"
        )

    def explain(
        self, data: Sequence[LabeledTrees], example: int, *, target: str | None = None, **more: Any
    ) -> Any:
        """Return the mean of the members' explanations of one example."""
        names = self.vocabularies["target"].names
        if target is None and names:
            self.members[0].run_.explain(data[0], example, **more)  # checks the example
            one = [part.select([example]) for part in data]
            target = names[int(self.outputs(one)["prediction"][0])]
        each = [
            member.run_.explain(part, example, target=target, **more)
            for member, part in zip(self.members, data)
        ]
        return _mean_explanation(each, logarithms=self._averages_logarithms)

    def save(self, path: PathLike, *_: Any) -> None:
        """Write each member to a folder in ``path``."""
        for k, member in enumerate(self.members):
            member.save(member_folder(path, k))


def member_folder(path: PathLike, k: int) -> Path:
    """Return the folder of member k in the folder of its ensemble."""
    return Path(path) / f"member-{k}"


def _mean_explanation(each: Sequence[Any], *, logarithms: bool) -> Any:
    """Return the mean of explanations, or the one whose logarithms are the mean of theirs.

    A contribution to a number becomes one to its logarithm, and back, by the slope of the logarithm
    between baseline and prediction, so that the contributions still sum to the difference.
    """
    first = each[0]

    def mean(values: Callable[[Any], Any]) -> Any:
        numbers = np.array([values(one) for one in each])
        return np.exp(np.log(numbers).mean(0)) if logarithms else numbers.mean(0)

    def slope(one: Any) -> float:
        if not logarithms:
            return 1.0
        gain = one.prediction - one.baseline
        return float(np.log(one.prediction / one.baseline) / gain if gain else 1 / one.prediction)

    def table(one: Any) -> NDArray[np.float64]:  # members may order the columns by other kinds
        order = [one.column_names.index(name) for name in first.column_names]
        return np.asarray(one.columns[:, order]) * slope(one)

    def occluded(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        rest = mean(lambda one: one.prediction - one._occlude(masks))
        return np.asarray(prediction - rest)

    prediction = float(mean(lambda one: one.prediction))
    baseline = float(mean(lambda one: one.baseline))
    whole = replace(first, prediction=prediction, baseline=baseline, _occlude=occluded)
    return replace(whole, columns=np.mean([table(one) for one in each], 0) / slope(whole))


def fit_members(
    estimator: Any,
    trees: LabeledTrees,
    targets: list[str],
    y: ArrayLike,
    layout: RecordLayout,
    columns: Callable[[], Mapping[str, NDArray[Any]]],
    arguments: Mapping[str, Any],
    *,
    validation: tuple[Any, ...] | None,
    on_epoch: Callable[[dict[str, Any]], None] | None,
    out: PathLike | None,
) -> Any:
    """Fit the members of an estimator, each on all folds but one."""
    count = _checked_count(estimator)
    seed = estimator.random_state
    if not isinstance(seed, numbers.Integral):
        seed = check_random_state(seed).randint(2**31 - 1)
    seed = int(seed)
    single = clone(estimator).set_params(ensemble=None, blend=False, random_state=seed)
    with estimator._names_of_settings():
        settings = single._settings(trees, targets, layout)
        learned = single._learned(trees, settings, None)
    learned = replace(learned, columns={**learned.columns, **columns()})
    classes = learned.targets.names
    random = np.random.RandomState(seed % 2**32)
    if estimator.blend:
        _check_blend(settings, learned)
    folds = _folds(count, settings.task.groups(learned), learned, random)

    more = {"data.baselines": False, **({"data.classes": list(classes)} if classes else {})}
    more |= {"data.tree_path": layout.tree_path} if layout.tree_path is not None else {}
    single.set_params(settings={**more, **single._more_settings()})
    if single.children_key is None:
        single.set_params(children_key=layout.children_key)
    given = {name: values for name, values in arguments.items() if values is not None}
    members: list[Any] = []
    for k, drawn in enumerate(random.randint(2**31 - 1, size=count).tolist()):
        rows = np.flatnonzero(folds != k)
        member = clone(single).set_params(random_state=drawn)
        if classes:  # one that occurs in one fold alone is a class of all members
            member.classes_ = np.unique(np.asarray(y))
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", LEAKS)  # all trees have been checked
                member.fit(
                    trees.select(rows),
                    _safe_indexing(y, rows),
                    **{name: _safe_indexing(values, rows) for name, values in given.items()},
                    validation=validation,
                    on_epoch=None if on_epoch is None else _with_member(on_epoch, k),
                    out=None if out is None else member_folder(out, k),
                )
        except KeyboardInterrupt:
            if not members:
                raise
            break
        members.append(member)
        if member.result_.get("interrupted"):
            break
    if len(members) < count:
        warnings.warn(
            f"the training of the ensemble was interrupted; it has {len(members)} of {count} "
            "members, and out_of_fold_ is NaN for the trees of the other folds",
            stacklevel=3,
        )
    if estimator.blend:
        blend_members(members, folds, trees, learned, random)
    unweighted = learned.columns.get("weight", np.ones(len(folds))) == 0
    estimator.members_, estimator.folds_ = members, np.where(unweighted, -1, folds)
    estimator.targets_ = settings.task.targets(learned)
    estimator.out_of_fold_ = _out_of_fold(members, folds, trees)
    _take_members(estimator, members, seed)
    return estimator


def restore_members(estimator: Any, members: Sequence[Any], values: Mapping[str, Any]) -> None:
    """Set the fitted attributes of an ensemble that was saved."""
    estimator.members_ = [*members]
    estimator.folds_ = np.array(values["folds"], np.int64)
    estimator.out_of_fold_ = np.array(values["out_of_fold"], np.float64)
    estimator.targets_ = np.array(values["targets"])
    _take_members(estimator, members, values["seed"])


def _take_members(estimator: Any, members: Sequence[Any], seed: int) -> None:
    """Set the fitted attributes that estimators without members have too."""
    history = [{"member": k, **line} for k, each in enumerate(members) for line in each.history_]
    result = {"members": [each.result_ for each in members]}
    if isinstance(members[0].run_, Blend):
        estimator.blend_weights_ = dict(zip(MODELS, members[0].run_.shares))
    estimator._take(Ensemble(members, seed), history, result)


def plain_members(estimator: Any) -> dict[str, Any]:
    """Return the fitted attributes of an ensemble as JSON values."""
    return {
        "members": len(estimator.members_),
        "folds": estimator.folds_.tolist(),
        "out_of_fold": estimator.out_of_fold_.tolist(),
        "targets": estimator.targets_.tolist(),
        "seed": estimator.run_.settings.training.seed,
    }


def _with_member(
    on_epoch: Callable[[dict[str, Any]], None], k: int
) -> Callable[[dict[str, Any]], None]:
    return lambda line: on_epoch({"member": k, **line})


def _out_of_fold(
    members: Sequence[Any], folds: NDArray[np.int64], trees: LabeledTrees
) -> NDArray[np.float64]:
    """Return the prediction for each tree of the member that has not seen it, ``(E, ...)``."""
    held_out: list[NDArray[Any]] = []
    for k, member in enumerate(members):
        predict = getattr(member, "predict_proba", member.predict)
        with warnings.catch_warnings():  # which are about new trees of users
            warnings.simplefilter("ignore")
            held_out.append(predict(trees.select(np.flatnonzero(folds == k))))
    predictions = np.full((len(folds), *held_out[0].shape[1:]), np.nan)
    for k, values in enumerate(held_out):
        predictions[folds == k] = values
    return predictions


def _checked_count(estimator: Any) -> int:
    count = estimator.ensemble
    if count is None:
        raise ConfigError("expected ensemble with blend=True, got None; write ensemble=5")
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 2:
        raise ConfigError(
            f"expected ensemble to be an integer of at least 2, got {count!r}; leave it out for "
            "one network"
        )
    if estimator.warm_start:
        raise ConfigError(
            f"expected warm_start=False with ensemble={count}, got True: the members would "
            "continue on trees of other folds"
        )
    return int(count)


def _check_blend(settings: Settings, data: LabeledTrees) -> None:
    """Check that models on flat features can predict the targets."""
    targets = data.columns["target"]
    if targets.ndim > 1 and targets.shape[1] > 1:
        raise ConfigError(
            f"expected one target with blend=True, got {targets.shape[1]}; leave blend out, or fit "
            "an estimator per target"
        )
    if settings.model.get("additive"):
        raise ConfigError(
            "expected additive=False with blend=True, got True: a blend is no sum over nodes; "
            "leave one of the two out"
        )
    if settings.model.get("objective") == "quantile":
        raise ConfigError(
            "expected an objective of means with blend=True, got 'quantile'; leave blend out"
        )


def _folds(
    count: int, groups: NDArray[np.int64], data: LabeledTrees, random: np.random.RandomState
) -> NDArray[np.int64]:
    classes = np.asarray(data.columns["target"]) if data.targets.names else None
    grouped = int(groups.max()) + 1 < len(groups)
    what, smallest = ("groups" if grouped else "trees"), int(groups.max()) + 1
    if classes is not None and not grouped:
        sizes = np.bincount(classes)
        smallest, rarest = int(sizes.min()), data.targets.names[int(sizes.argmin())]
        what = f"trees of the class {rarest!r}"
    if smallest < count:
        raise ConfigError(
            f"expected at least {count} {what} with ensemble={count}, got {smallest}; decrease "
            "ensemble"
        )
    options: dict[str, Any] = {"n_splits": count, "shuffle": True, "random_state": random}
    if grouped:
        divide = GroupKFold(count) if classes is None else StratifiedGroupKFold(**options)
    else:
        divide = KFold(**options) if classes is None else StratifiedKFold(**options)
    folds = np.zeros(len(groups), np.int64)
    parts = divide.split(folds, classes, groups if grouped else None)
    for k, (rest, others) in enumerate(parts):
        folds[others] = k
        if grouped and len(np.unique(groups[rest])) < 2:  # to learn from one, and stop by another
            raise ConfigError(
                f"expected two groups or more outside of each fold with ensemble={count}, got one "
                f"outside of fold {k}; give more groups, or increase ensemble"
            )
    return folds

"""What the estimators share: from trees and targets to a run, and back from a folder."""

from __future__ import annotations

import inspect
import numbers
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial, wraps
from typing import Any, ClassVar, Literal, TypeVar, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_random_state

from dgltrees._files import PathLike, temporary_folder
from dgltrees.errors import ConfigError, TreeError, called, settings_called
from dgltrees.estimators.ensemble import OF_MEMBERS, Ensemble, fit_members
from dgltrees.estimators.inputs import (
    Trees,
    as_examples,
    group_names,
    has_no_trees,
    inferred_layout,
    named_targets,
    no_trees,
    one_example,
    target_columns,
    with_targets,
)
from dgltrees.estimators.saving import SavedEstimator
from dgltrees.formats.records import RecordLayout, reading
from dgltrees.settings import nearest
from dgltrees.settings.catalog import preset_values
from dgltrees.settings.layers import Settings, layered, nearest_setting
from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.tasks.custom_trees.settings import CustomTreesData
from dgltrees.tasks.pretrained import pretrained_folder
from dgltrees.tasks.splits import split_examples
from dgltrees.tasks.task import Columns
from dgltrees.training.loop import print_epoch
from dgltrees.training.run import train, train_in_memory
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import LabeledTrees
from dgltrees.trees.schema import Schema

T = TypeVar("T")

_OF_FILES = tuple(f"data.{name}" for name in ("train", "valid", "test", "dir", "format"))
"""Settings of files, which an estimator does not read."""

_ARGUMENTS = "    parameters: those of :class:`~dgltrees.estimators.base.TreeEstimator`."
"""The line of a docstring in place of the arguments that all estimators have."""

_OTHER_NAMES = {
    "seed": "random_state",
    "learning_rate": "lr",
    "max_iter": "epochs",
    "verbose": "progress",
}
"""Parameters of scikit-learn and torch that have another name here."""

_TRAINING = threading.RLock()
"""Held by the thread that trains: torch has one generator for all threads."""


def parameters_by_name(init: Callable[..., None]) -> Callable[..., None]:
    """Decorate the constructor of an estimator, so that a wrong name is answered by the right one.

    ``**shared`` in its signature stands for the parameters of :class:`TreeEstimator`, which
    scikit-learn must find there by name.
    """
    parameters = {**inspect.signature(init).parameters}
    if parameters.pop("shared", None):
        parameters.update(inspect.signature(TreeEstimator.__init__).parameters)
    names = [name for name in parameters if name != "self"]

    @wraps(init)
    def checked(self: TreeEstimator, **parameters: Any) -> None:
        for name in parameters.keys() - {*names}:
            kind = type(self)
            task = preset_values(kind._preset)["task"]
            none = f"it has {', '.join(names)}"
            setting = nearest_setting(name, task, none)
            others = none if setting == none else f"in settings, {setting}"
            for each in TreeEstimator.__subclasses__():
                if name in inspect.signature(each).parameters:
                    others = f"{each.__name__} has it"
            cure = nearest(_OTHER_NAMES.get(name, name), names, others)
            raise TypeError(f"{kind.__name__} has no parameter {name}; {cure}")
        init(self, **parameters)

    setattr(checked, "__signature__", inspect.Signature([*parameters.values()]))  # noqa: B010
    return checked


class TreeEstimator(SavedEstimator):
    """Base class of the estimators, neural networks over trees with columns or pairs of trees.

    Parameters that are None have the value of the preset of the estimator's task. ``dgltrees train
    PRESET --help`` shows and explains these values, and the other settings, which are keys of
    ``settings``.

    Arguments:
        encoder: ``tree``, ``convolution``, ``lstm``, ``bilstm``, ``transformer`` or ``bag``.
        cell: the cell of encoder ``tree``, a name in :data:`dgltrees.cells.CELLS`.
        hidden_size: the size of a node's state.
        readout: ``root``, ``mean``, ``max``, ``root_max`` or ``attention``.
        objective: the loss.
        features: the input columns, or their kinds by name; default: all columns, with inferred
            kinds.
        validation_fraction: the fraction of the trees that is held out, if ``fit`` gets no
            validation trees, to measure each epoch; a classifier fits its probabilities to them.
        epochs: the number of epochs, over which the learning rate falls to 0.
        patience: the number of epochs without a better validation loss before training stops, and
            the best one is kept; default: all epochs are trained, and the last one is kept.
        batch_size: the number of trees in a batch; default: 32, or fewer (at least 4) for 30 steps
            an epoch.
        lr: the learning rate.
        random_state: the seed of the initial weights, the order of the trees and dropout, or a
            ``numpy.random.RandomState`` to draw it from; None draws another seed at each fit. Equal
            seeds give equal models on one machine.
        children_key: the key of the children, if trees are nested dictionaries; default: inferred
            when the model is fitted, as the key with the most objects below.
        share: False writes a dictionary that occurs several times in a tree out at each place, if
            trees are nested dictionaries; default: an error.
        compile: compile the cell with numba; by default if the training is long enough.
        settings: more settings by full name, such as ``{"model.bidirectional": True}``.
        progress: show a progress bar and a line per epoch; None: only a bar, in a terminal.
        warm_start: continue from the last fit, or from a loaded model, with its columns, classes,
            scales and weights; the trees may be new ones.
        ensemble: the number K of networks whose predictions are averaged. The trees are divided
            into K folds, and each network is trained without one of them; default: one network.
        blend: with ``ensemble``, average the networks with scikit-learn's boosting and extra trees
            on flat features, by weights from predictions for trees that the models have not seen.

    Attributes:
        run_: the trained run, a :class:`~dgltrees.training.trained.TrainedModel`; with
            ``ensemble``, all runs as one.
        members_: with ``ensemble``, the K fitted estimators.
        folds_: with ``ensemble``, ``(n_trees,)``, the fold of each tree; -1 if its weight is 0.
        out_of_fold_: with ``ensemble``, the prediction for each tree, or its probabilities, of the
            member that has not seen it.
        targets_: with ``ensemble``, the target of each tree, a number or the index of its class.
        blend_weights_: with ``blend``, the weights of ``networks``, ``boosting`` and
            ``extra_trees``.
        history_: the metrics of each epoch.
        result_: the metrics of the epoch that is kept, and those of baselines without trees.
        n_features_in_: the number of input columns.
        feature_names_in_: the names of the input columns.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the arguments and attributes of this class to the docstring of an estimator."""
        super().__init_subclass__(**options)
        sections = (inspect.getdoc(TreeEstimator) or "").partition("Arguments:\n")[2]
        arguments, _, attributes = sections.partition("\n\nAttributes:\n")
        text = inspect.cleandoc(cls.__doc__ or "").replace(_ARGUMENTS, arguments)
        start = "" if "\n\nAttributes:\n" in text else "\n\nAttributes:"
        cls.__doc__ = f"{text}{start}\n{attributes}"

    _preset = ""
    _settings_of: ClassVar[Mapping[str, str]] = {
        "encoder": "model.encoder",
        "cell": "model.cell",
        "hidden_size": "model.hidden_size",
        "readout": "model.readout",
        "objective": "model.objective",
        "features": "data.features",
        "validation_fraction": "data.valid_fraction",
        "epochs": "training.epochs",
        "patience": "training.patience",
        "batch_size": "training.batch_size",
        "lr": "training.lr",
        "random_state": "training.seed",
        "children_key": "data.children_key",
        "compile": "training.compile",
    }
    """The setting of each argument that is one."""

    @parameters_by_name
    def __init__(
        self,
        *,
        encoder: str | None = None,
        cell: str | None = None,
        hidden_size: int | None = None,
        readout: str | None = None,
        objective: str | None = None,
        features: Sequence[str] | Mapping[str, str] | None = None,
        validation_fraction: float | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
        children_key: str | list[str] | None = None,
        share: Literal[False] | None = None,
        compile: bool | None = None,
        settings: Mapping[str, Any] | None = None,
        progress: bool | None = False,
        warm_start: bool = False,
        ensemble: int | None = None,
        blend: bool = False,
    ) -> None:
        self.encoder, self.cell, self.hidden_size = encoder, cell, hidden_size
        self.readout, self.objective, self.features = readout, objective, features
        self.validation_fraction, self.epochs, self.patience = validation_fraction, epochs, patience
        self.batch_size, self.lr, self.random_state = batch_size, lr, random_state
        self.children_key, self.share = children_key, share
        self.compile, self.settings, self.progress = compile, settings, progress
        self.warm_start, self.ensemble, self.blend = warm_start, ensemble, blend

    def fit(
        self,
        X: Trees,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        validation: tuple[Trees, ArrayLike] | None = None,
        on_epoch: Callable[[dict[str, Any]], None] | None = None,
        out: PathLike | None = None,
    ) -> Any:
        """Train on trees.

        Arguments:
            X: the trees: a :class:`~dgltrees.Forest`, the result of :func:`~dgltrees.read`,
                :class:`~dgltrees.trees.labeled.TreePairs`, or a list of nested dictionaries.
            y: their targets, one per tree or pair, or a row of several: numbers, or for a
                classifier classes as numbers or strings; several labels are 0 and 1.
            sample_weight: weights of the trees in the loss, which with ``patience`` then determines
                the best epoch; trees of weight 0 are left out.
            groups: the group of each tree, such as its template or file. Trees of one group are
                together in a fold of ``ensemble``, or in the part that is held out for validation.
            validation: trees and targets that determine which epoch is kept, and with ``patience``
                when to stop.
            on_epoch: is called with the metrics of each epoch; an exception from it stops the
                training, as Optuna's ``TrialPruned`` does. An interrupt (Ctrl-C) ends it with the
                last complete epoch, or the best one if ``patience`` or ``validation`` is given.
            out: the run directory to train in, which can be resumed; by default nothing is written.

        Returns:
            the estimator itself.

        Raises:
            TreeError: X and y have different lengths, a target is missing or infinite, some classes
                are strings and others are not, or the trees cannot be read.
            ConfigError: a setting has no effect or a wrong value.

        Example:
            >>> from dgltrees import TreeRegressor
            >>> trees = [{"cost": 1.0, "children": [{"cost": c}]} for c in range(20)]
            >>> model = TreeRegressor(epochs=1).fit(trees, [float(c) for c in range(20)])
            >>> model.predict(trees[:2]).shape
            (2,)
        """
        y = self._targets(y)
        classes, layout = self._classes(y), self._layout(X)
        raw = self._labeled(X, y, layout=layout)
        valid = self._validation(validation, layout, "(trees, targets)", [*raw.columns])
        targets, columns = [*raw.columns], partial(self._tree_columns, y, sample_weight, groups)
        if self.ensemble is not None or self.blend:
            given = {"sample_weight": sample_weight, "groups": groups}
            more: dict[str, Any] = {"validation": validation, "on_epoch": on_epoch, "out": out}
            fit_members(self, raw, targets, y, layout, columns, given, **more)
        else:
            self._train(raw, targets, valid, on_epoch, out, layout, columns)
        self._set_classes(classes)
        return self

    def _targets(self, y: ArrayLike) -> ArrayLike:
        """Return targets as the model learns them."""
        return y

    def _classes(self, y: ArrayLike) -> Any:
        """Return the classes of targets in order; None for numbers."""

    def _set_classes(self, values: Any) -> None:
        """Set the classes of the user, in the order of the model."""

    def _tree_columns(
        self, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of the trees for the training: ``weight``, ``group``, or neither."""
        columns: dict[str, NDArray[Any]] = {}
        if (weights := self._weights(y, sample_weight)) is not None:
            columns["weight"] = weights
        if groups is not None:
            names = group_names(groups, len(cast(Any, y)))
            columns["group"] = np.unique(names.astype(str), return_inverse=True)[1]
            if not columns["group"].any():
                raise ConfigError(f"expected at least two groups, got only {names.tolist()[0]!r}")
        return columns

    def _weights(self, y: ArrayLike, sample_weight: ArrayLike | None) -> NDArray[np.float64] | None:
        """Return the weights of trees; None if all are equal."""
        if sample_weight is None:
            return None
        try:
            weights = np.asarray(sample_weight, np.float64)
        except (TypeError, ValueError):
            raise ConfigError(
                f"expected sample_weight to be numbers, got {sample_weight!r:.60}"
            ) from None
        count = len(cast(Any, y))
        if weights.shape != (count,):
            raise ConfigError(
                f"expected sample_weight to be a number per tree, ({count},), got the shape "
                f"{weights.shape}"
            )
        wrong = weights[~(np.isfinite(weights) & (weights >= 0))]
        if len(wrong) or not weights.any():
            raise ConfigError(
                "expected sample_weight to be finite numbers of at least 0, one of them above 0, "
                f"got {wrong[0] if len(wrong) else 'only zeros'}"
            )
        return weights

    def _validation(
        self, given: Any, layout: RecordLayout, parts: str, names: Sequence[str]
    ) -> LabeledTrees | None:
        """Return the argument ``validation`` of :meth:`fit`, a tuple of ``parts``, as examples."""
        if given is None:
            return None
        if not isinstance(given, tuple) or len(given) != parts.count(",") + 1:
            raise ConfigError(
                f"expected validation to be a tuple {parts}, got {type(given).__name__} "
                f"{given!r:.40}"
            )
        return self._labeled(*given, layout=layout, names=names)

    def _labeled(
        self,
        X: Trees,
        y: ArrayLike,
        *,
        layout: RecordLayout | None = None,
        names: Sequence[str] | None = None,
    ) -> LabeledTrees:
        """Return trees with their targets, under the ``names`` of training if they are given."""
        targets = target_columns(self._targets(y))
        named = targets if names is None else named_targets(targets, names)
        return with_targets(self._trees(X, layout), named)

    def _in_order(self, y: ArrayLike) -> ArrayLike:
        """Return several targets in the order of training, by the names of a table's columns."""
        names, y = self._fitted().vocabularies.targets, self._targets(y)
        if len(names) < 2 or not hasattr(y, "columns"):
            return y
        named = named_targets(target_columns(y), names)
        return np.stack([named[name] for name in names], 1)

    def _train(
        self,
        raw: LabeledTrees,
        targets: list[str],
        valid: LabeledTrees | None,
        on_epoch: Callable[[dict[str, Any]], None] | None,
        out: PathLike | None,
        layout: RecordLayout,
        columns: Callable[[], dict[str, NDArray[Any]]] = dict,
    ) -> Any:
        """Train on trees whose targets are the columns ``targets``; see :meth:`fit`."""
        start = self.run_ if self.warm_start and hasattr(self, "run_") else None
        if isinstance(start, Ensemble):
            raise ConfigError(
                f"expected one network to continue with warm_start, got {len(start.members)}; set "
                "warm_start=False"
            )
        for name in OF_MEMBERS & vars(self).keys():  # of an earlier fit
            delattr(self, name)

        def each_epoch(line: dict[str, Any], *rest: Any) -> None:
            if self.progress:
                print_epoch(line, *rest)
            if on_epoch is not None:
                on_epoch(line)

        with self._names_of_settings():
            settings = self._settings(raw, targets, layout)
            task = cast(CustomTreesTask, settings.task)
            names = None
            if start is not None:
                settings, names = _continued(settings, start), start.vocabularies
            learned, read_valid = self._learned(raw, settings, names), None
            strings = [c.name for c in learned.inputs if c.numeric and c.name in raw.forest.vocabs]
            self.reading_ = reading(layout, raw.forest.sizes)
            if strings:
                self.reading_ += f"; numbers in strings: {', '.join(map(repr, strings))}"
            if self.progress:
                print(self.reading_, file=sys.stderr)
            of_trees = columns()
            learned = replace(learned, columns={**learned.columns, **of_trees})
            if "weight" in of_trees:
                learned = learned.select(of_trees["weight"] > 0)
                if settings.training.monitor is None:  # other metrics have no weights
                    settings = settings.replace("training", monitor="loss")
            if valid is not None and "training.keep" not in self._more_settings():
                # all epochs are trained, unless patience is set
                options = {} if self.patience else {"patience": None}
                settings = settings.replace("training", keep="best", **options)
            if valid is not None:  # read by the schema of training
                read_valid = partial(task.examples, valid, settings.data)
            splits = split_examples(task, settings.data, learned, read_valid)
            if self.patience is not None and valid is None and not settings.data.valid_fraction:
                raise ConfigError(
                    f"patience={self.patience} has no effect without validation trees; give "
                    "validation=(trees, targets), or a validation_fraction above 0"
                )
            if out is None and (settings.training.logger or pretrained_folder(settings.data)):
                out = temporary_folder(self)
            bar = None if self.progress is None else bool(self.progress)  # numpy's False too
            calls: dict[str, Any] = {"bar": bar, "on_epoch": each_epoch}
            if start is not None:
                calls["start"] = start.model.state_dict()
            # torch's generators continue after the fit as if there had been none
            with _TRAINING, torch.random.fork_rng(range(torch.cuda.device_count())):
                if out is not None:
                    train(settings, out, splits, **calls)
                    self._open(out)
                else:
                    self._take(*train_in_memory(settings, splits, **calls))
        return self

    def _learned(self, raw: LabeledTrees, settings: Settings, names: Schema | None) -> LabeledTrees:
        """Return the training trees, encoded by the schema ``names``, or a new one for None."""
        task = cast(CustomTreesTask, settings.task)
        learned = task.examples(raw, settings.data, names)
        targets = task.targets(learned).reshape(len(learned), -1)
        known, negative = task.is_labeled(targets).any(1), (targets < 0).any(1)
        if not known.all():  # which the schema of another fit allows
            raise TreeError("missing target; add it", tree=int(known.argmin()))
        if settings.model.get("log_target") and negative.any():
            row = int(negative.argmax())
            raise TreeError(
                f"expected targets of at least 0 with log_target, got {np.nanmin(targets[row]):g}; "
                "correct it, or leave log_target out",
                tree=row,
            )
        return learned

    def _names_of_settings(self) -> Any:
        """Return a context in which errors call settings by the arguments of the estimator."""
        names = {setting: name for name, setting in self._settings_of.items()}
        more = {"data.target": "y", "data.group": "groups"}
        return settings_called({**names, **more, "data.categorical_columns": "features"})

    def _settings(self, raw: LabeledTrees, targets: list[str], layout: RecordLayout) -> Settings:
        """Merge the settings of the preset, the arguments and ``settings``; the last one wins."""
        given = {setting: getattr(self, name) for name, setting in self._settings_of.items()}
        if not isinstance(self.random_state, numbers.Integral):
            given["training.seed"] = check_random_state(self.random_state).randint(2**31 - 1)
        chosen = {setting: value for setting, value in given.items() if value is not None}
        more = self._more_settings()
        for name, setting in self._settings_of.items():
            if setting in chosen and setting in more:
                raise ConfigError(
                    f"expected one value of {name}, got {name}={chosen[setting]!r} and "
                    f"settings={{{setting!r}: {more[setting]!r}}}; give only {name}"
                )
        for name in ("children_key", "tree_path"):
            if getattr(layout, name) is not None:
                chosen[f"data.{name}"] = getattr(layout, name)
        chosen["data.target"] = targets if len(targets) > 1 else targets[0]
        if self.patience is not None:
            chosen["training.keep"] = "best"
        layer: dict[str, dict[str, Any]] = {"data": {}, "model": {}, "training": {}}
        values = preset_values(self._preset + ("-pairs" if raw.arity > 1 else ""))
        for name, value in {**chosen, **self._of_targets(raw, targets), **more}.items():
            section, _, option = str(name).partition(".")
            if section not in layer or not option:
                with settings_called({}):
                    cure = nearest_setting(
                        str(name), values["task"], "see dgltrees train PRESET --help"
                    )
                if section in layer and isinstance(value, Mapping):
                    cure = f"write { ({f'{name}.{key}': each for key, each in value.items()}) }"
                raise ConfigError(
                    f"expected settings by full name, such as model.bidirectional, got {name!r}; "
                    f"{cure}"
                )
            if name in _OF_FILES:
                raise ConfigError(
                    f"expected settings that an estimator reads, got {name!r}, a setting of files; "
                    "give the trees to fit, or train on files with dgltrees train"
                )
            layer[section][option] = value
        return Settings(layered(values, layer))

    def _of_targets(self, raw: LabeledTrees, targets: list[str]) -> Mapping[str, Any]:
        """Return settings that depend on the targets."""
        return {}

    def _more_settings(self) -> Mapping[str, Any]:
        if self.settings is not None and not isinstance(self.settings, Mapping):
            raise ConfigError(
                f"expected settings to be a mapping, got {self.settings!r:.40}; write "
                "settings={'model.bidirectional': True}"
            )
        return self.settings or {}

    def _layout(self, X: Trees) -> RecordLayout:
        """Return the layout of nested dictionaries: as set, or else inferred from them."""
        set_by = {"data.children_key": self.children_key, **self._more_settings()}
        names = [field.name for field in fields(RecordLayout) if f"data.{field.name}" in set_by]
        layout = RecordLayout(**{name: set_by[f"data.{name}"] for name in names})
        features = set_by.get("data.features", self.features)
        more = CustomTreesData(features=features).as_names
        layout = replace(layout, categorical_columns=(*layout.categorical_columns, *more))
        return inferred_layout(X, layout)

    def _trees(self, X: Trees, layout: RecordLayout | None = None) -> LabeledTrees:
        """Return the trees as examples; the default layout is that of the fitted run."""
        if layout is not None:
            return as_examples(X, layout, self.share)
        run = self._fitted()
        return as_examples(X, run.settings.data, self.share, run.vocabularies.inputs)

    def _take(
        self, run: TrainedModel | Ensemble, history: list[dict[str, Any]], result: dict[str, Any]
    ) -> None:
        self.run_, self.history_, self.result_ = run, history, result
        self.feature_names_in_ = np.array([c.name for c in self.run_.vocabularies.inputs], object)
        self.n_features_in_ = len(self.feature_names_in_)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn: trees instead of arrays, and missing values allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.dict = False, True
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def _encoded(self, X: Trees) -> Any:
        """Return trees without targets as the run, or each member of an ensemble, reads them."""
        with self._names_of_settings():
            return self._fitted().examples(self._trees(X), labeled=False)

    def _predicted(self, X: Trees, predict: Callable[[Any], T]) -> T:
        """Return the result of a function of encoded trees; that of no trees has no rows.

        Arguments:
            X: the trees.
            predict: the function, which returns an array, a list, or columns of the trees.
        """
        run = self._fitted()
        if not has_no_trees(X):
            return predict(self._encoded(X))
        data = run.examples(no_trees(run.vocabularies.inputs, run.task.arity), labeled=False)
        one = one_example(data) if isinstance(data, LabeledTrees) else [*map(one_example, data)]
        return cast(T, _no_rows(predict(one)))

    def _outputs(self, X: Trees) -> Columns:
        """Return the output columns of the model by name."""
        return self._predicted(X, lambda data: self.run_.outputs(data))

    def _outputs_of_folds(self, X: Trees, method: str) -> list[Columns]:
        """Return the output columns of the model without each fold."""
        run = self._fitted()
        if not isinstance(run, Ensemble):
            raise ConfigError(f"missing ensemble for {method}; write ensemble=5 and fit again")
        return self._predicted(X, run.outputs_of_folds)

    def _fitted(self) -> Any:
        """Return the trained run, or an :class:`~dgltrees.estimators.ensemble.Ensemble`."""
        if not hasattr(self, "run_"):
            raise NotFittedError(
                f"expected a fitted {type(self).__name__}, got one that is not; call fit first"
            )
        return self.run_

    def evaluate(self, X: Trees, y: ArrayLike, **options: Any) -> dict[str, Any]:
        """Return all metrics of the predictions, as ``dgltrees evaluate`` prints them.

        Arguments:
            X: the trees.
            y: their targets.
            options: ``groups``, for a ranker.

        Returns:
            the metrics by name; see :mod:`dgltrees.metrics`. The ``loss`` of training is that of
            one network; ensembles and blends have none.

        Raises:
            TreeError: see :meth:`fit`.
        """
        run = self._fitted()
        names = run.vocabularies.targets
        data = run.examples(self._labeled(X, y, names=names, **options))
        return dict(run.report(data))

    def encode(self, X: Trees) -> NDArray[np.float32]:
        """Return the vector of each tree.

        Arguments:
            X: the trees, or pairs.

        Returns:
            ``(n_trees, c)``; for pairs ``(n_pairs, 2 * c)``. c is ``hidden_size``, or twice as
            much with ``model.bidirectional``.

        Raises:
            ConfigError: there is an ``ensemble``; use a member, ``members_[0].encode(X)``.
        """
        return np.asarray(self._predicted(X, self._fitted().encode))

    def explain(self, X: Trees, tree: int = 0, **options: Any) -> Any:
        """Explain a prediction by the contributions of nodes and columns.

        Arguments:
            X: trees, or pairs.
            tree: the index of the tree or pair to explain.
            options: ``target``, the class to explain, or one of several labels or numbers;
                ``steps`` of the integrated gradients.

        Returns:
            an :class:`~dgltrees.analyses.explain.Explanation`, which Jupyter draws.
        """
        return self._fitted().explain(self._encoded(X), tree, **options)

    def permutation_importance(
        self,
        X: Trees,
        y: ArrayLike,
        *,
        scoring: Any = None,
        n_repeats: int = 5,
        random_state: int | np.random.RandomState | None = None,
    ) -> Any:
        """Return the loss of score if the values of a column are permuted over all nodes.

        It does for node columns what ``sklearn.inspection.permutation_importance`` does for
        columns of an array.

        Arguments:
            X: the trees.
            y: their targets.
            scoring: a scorer of scikit-learn; default: :meth:`score`.
            n_repeats: the number of permutations of each column.
            random_state: the seed of the permutations.

        Returns:
            ``importances``, ``(n_columns, n_repeats)`` in the order of ``feature_names_in_``, with
            ``importances_mean`` and ``importances_std``, as in scikit-learn.

        Raises:
            ConfigError: ``n_repeats`` is less than 1.
        """
        if n_repeats < 1:
            raise ConfigError(f"expected n_repeats to be at least 1, got {n_repeats}")
        self._fitted()
        trees, random = self._trees(X), check_random_state(random_state)
        scorer, columns = check_scoring(self, scoring), trees.forest.columns

        def score_of(name: str) -> float:
            order = random.permutation(trees.forest.num_nodes)
            permuted = {**columns, name: np.asarray(columns[name])[order]}
            forest = trees.forest.with_columns(permuted)
            with warnings.catch_warnings():  # which permuted trees do
                warnings.filterwarnings("ignore", "the trees have")
                return float(scorer(self, replace(trees, forest=forest), y))

        before = scorer(self, trees, y)
        losses = np.array(
            [
                [before - score_of(name) if name in columns else 0.0 for _ in range(n_repeats)]
                for name in self.feature_names_in_
            ]
        )
        return Bunch(
            importances=losses, importances_mean=losses.mean(1), importances_std=losses.std(1)
        )


def _no_rows(result: Any) -> Any:
    """Return the result for a tree without its row: an array, a list, columns or several."""
    if isinstance(result, Mapping):
        return {name: values[:0] for name, values in result.items()}
    several = isinstance(result, list) and isinstance(result[0], Mapping)
    return [*map(_no_rows, result)] if several else result[:0]


def _continued(settings: Settings, start: TrainedModel) -> Settings:
    """Return the settings of a fit that continues from a model."""
    before = start.settings.model
    for name, value in settings.model.items():
        if value is not None and value != before.get(name):
            raise ConfigError(
                f"expected {called(f'model.{name}')} to be {before.get(name)!r} with warm_start, "
                f"as in the last fit, got {value!r}; set warm_start=False"
            )
    count, targets = len(start.vocabularies.targets), settings.data.target
    if count != (len(targets) if isinstance(targets, (list, tuple)) else 1):
        raise ConfigError(
            f"expected {count} target(s) with warm_start, as in the last fit, got {targets!r}; set "
            "warm_start=False"
        )
    deviation = start.model.state_dict().get("head.deviation")
    if deviation is not None and not deviation.all():
        raise ConfigError(
            "expected a last fit on different targets with warm_start, to continue with their "
            "scale, got one on equal targets; set warm_start=False"
        )
    return settings.replace("model", **before)

"""Conversion of files or forests of custom trees to examples with input columns and targets."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike, in_file
from dgltrees.errors import ConfigError, TreeError, called
from dgltrees.formats import FORMATS, get_format, guess_format
from dgltrees.formats.format import check_layout, format_by_suffix
from dgltrees.formats.records import layout_of_model, read_as_names
from dgltrees.formats.values import of_user
from dgltrees.settings.values import suggestion
from dgltrees.tasks.custom_trees.settings import CustomTreesData, NumbersData, RankData
from dgltrees.tasks.pretrained import pretrained_encoder
from dgltrees.tasks.task import Names
from dgltrees.trees import Forest, LabeledTrees, Vocabulary
from dgltrees.trees.columns import Column, choose_columns, name_of
from dgltrees.trees.saved import is_on_disk
from dgltrees.trees.schema import Schema, counted
from dgltrees.trees.words import UNKNOWN

_SOME = 10_000  # examples of a forest on disk that are compared with each other
_SHOWN = 20  # names of columns in an error


def stream_raw(
    path: PathLike,
    settings: CustomTreesData,
    names: Names = None,
    *,
    file_format: str | None = None,
    labeled: bool = True,
    trees: int = 10_000,
) -> Iterator[LabeledTrees]:
    """Read the trees of a file with all their columns, ``trees`` at a time."""
    name = file_format or settings.format or guess_format(path, settings)
    if settings.train is None and name in FORMATS:  # the layout is that of dictionaries in memory
        others: Any = dict.fromkeys({"children_key", "tree_path"} - {*FORMATS[name].layout})
        settings = replace(settings, **others)
    training = names is None or not names["target"].frozen
    if not training:
        _check_format(name, path, settings)
    read = {each.name for each in names.inputs} if isinstance(names, Schema) else set()
    texts = [] if labeled else [n for n in target_names(settings) if n not in read]
    form = get_format(name, "data.format")
    options: dict[str, Any] = {}
    if form.records is not None or "missing" in form.layout:
        texts += settings.as_names
    if isinstance(names, Schema):
        if "missing" in form.layout:  # cells of text tables
            strings, options["numbers"] = _kinds(names, settings)
            texts += strings
        if form.records is not None:
            if in_file(path):
                first = [record for _, record in islice(form.records(path), 100)]
                settings = layout_of_model(settings, first, names.inputs)
            settings = read_as_names(settings, names.inputs)
    if texts and "categorical_columns" in form.layout:
        settings = replace(settings, categorical_columns=(*settings.categorical_columns, *texts))
    if name == "forest" and training:
        trees = sys.maxsize  # all of them, memory-mapped
    return form.chunks(path, trees, settings, **options)


def _kinds(schema: Schema, settings: CustomTreesData) -> tuple[list[str], list[str]]:
    """Return the columns that had strings in training, and those that had numbers."""
    strings = {each.name: each.strings for each in schema.inputs}
    for target in target_names(settings):
        names = schema["target"].names  # the classes; of numbers there are none
        strings.setdefault(target, not all(map(_names_number, names)))
    return [n for n in strings if strings[n]], [n for n in strings if not strings[n]]


def _names_number(name: str) -> bool:
    """Return whether a class has a name that a number has, as ``01`` has not."""
    try:
        return name == name_of(float(name)) or name == str(int(name))
    except ValueError:
        return False


def _check_format(name: str, path: PathLike, settings: CustomTreesData) -> None:
    """Check that a file for a trained model can be read with the layout of the training files."""
    train = [settings.train] if isinstance(settings.train, str) else settings.train or []
    trained = next(filter(None, map(format_by_suffix, train)), None)
    try:
        if name in FORMATS:
            check_layout(settings, FORMATS[name].layout, FORMATS[name].description)
    except ConfigError:
        if trained is None or trained == name:
            raise
        raise ConfigError(
            f"expected a file of the format {trained}, which the run reads, got "
            f"{os.fspath(path)}, which looks like {name}; convert it, or use --format {trained} "
            "if it has that format"
        ) from None


def some_of(raw: LabeledTrees) -> LabeledTrees:
    """Return the examples, or the first 10,000 of those on disk, for statistics in memory."""
    return raw[:_SOME] if is_on_disk(raw.forest) else raw


def target_names(settings: CustomTreesData) -> tuple[str, ...]:
    """Return the names of the target columns."""
    wanted = settings.target
    return (wanted,) if isinstance(wanted, str) else tuple(wanted)


def node_target(settings: CustomTreesData) -> str | None:
    """Return the name of the node column that is predicted in addition to the target."""
    return settings.node_target if isinstance(settings, NumbersData) else None


def _names_aside(settings: CustomTreesData) -> tuple[str, ...]:
    """Return the names of the columns that are not inputs: the targets and the groups."""
    groups = (settings.group,) if isinstance(settings, RankData) else ()
    of_nodes = node_target(settings)
    return (*target_names(settings), *groups, *([] if of_nodes is None else [of_nodes]))


def input_examples(
    raw: LabeledTrees,
    settings: CustomTreesData,
    names: Names,
    *,
    nodes: bool = False,
    file: PathLike | None = None,
) -> LabeledTrees:
    """Return examples with encoded input columns, without targets."""
    targets = target_names(settings)
    encoder = pretrained_encoder(settings)
    try:
        if isinstance(names, Schema) and names.inputs:
            schema = names
            if not schema["target"].frozen:
                _check_columns({*raw.forest.columns}, schema, settings)
            else:
                _report(raw, settings, schema, file)
        else:
            _check_edges(raw.forest, in_memory=file is None)
            aside = _names_aside(settings)
            of_nodes = node_target(settings)
            inside = [
                name
                for name in aside
                if nodes or of_user(name) not in raw.columns or name == of_nodes
            ]
            for name in settings.features or ():
                if of_user(name) in raw.columns and name not in raw.forest.columns:
                    raise TreeError(
                        f"expected {called('data.features')} to name columns of nodes, got "
                        f"{name!r}, a column next to the trees; copy it into the root of each tree"
                    )
            inputs = choose_columns(raw.forest, settings.features, inside)
            some = some_of(raw)
            inputs = counted(inputs, some.forest, _units(some, settings), settings.min_freq)
            unknown = None if settings.handle_unknown == "error" else UNKNOWN
            if encoder is not None:
                inputs = _encoded(inputs, encoder.size)
            vocabs = {c.name: Vocabulary(unknown=unknown) for c in inputs if c.named}
            if "target" in vocabs:
                raise TreeError(
                    "expected input columns with other names than 'target', which is the name of "
                    f"the targets; rename it, or name it as {called('data.target')}"
                )
            schema = Schema({**vocabs, "target": Vocabulary()}, inputs, targets, of_nodes)
        forest = schema.read(raw.forest, None if encoder is None else encoder.texts)
    except TreeError as error:
        if error.tree is None:
            raise TreeError(str(error), file=file) from None
        raise error_at(raw, error.message, error.tree, error.node, file) from None
    return LabeledTrees(
        forest, {}, raw.arity, schema["target"], schema.inputs, targets, schema.node_target
    )


def error_at(
    raw: LabeledTrees, message: str, tree: int, node: int | None, file: PathLike | None
) -> TreeError:
    """Return an error with the place of a tree: its file in a folder, and its line."""
    example = tree // raw.arity
    lines, files = raw.columns.get("line"), raw.columns.get("file")
    line = None if lines is None else int(lines[example])
    if files is not None and file is not None:  # of a folder, the file in it
        inside = Path(file, str(files[example]))
        file = inside if inside.exists() else file
    return TreeError(message, file=file, line=line, tree=tree, node=node)


def _encoded(inputs: tuple[Column, ...], size: int) -> tuple[Column, ...]:
    """Return the columns with vectors of a size for texts."""
    if all(each.kind != "text" for each in inputs):
        raise ConfigError(
            "expected a column of kind text with data.pretrained, got "
            f"{', '.join(f'{each.name}: {each.kind}' for each in inputs)}; set the kind of a "
            "column with --data.features.NAME text"
        )
    return tuple(replace(each, size=size) if each.kind == "text" else each for each in inputs)


def _check_edges(forest: Forest, *, in_memory: bool) -> None:
    """Check that some tree has several nodes, as none has if the key of the children is wrong."""
    if len(forest) and forest.num_nodes == len(forest):
        cure = (
            "set data.children_key to the key of the children, and data.tree_path to the path from "
            "a record to its root"
        )
        if in_memory:
            cure = (
                "pass trees whose nodes have lists of children, or name the keys of the children, "
                'such as Forest.from_objects(trees, ["left", "right"])'
            )
        raise TreeError(f"expected trees with several nodes, got one node in each; {cure}")


def _units(raw: LabeledTrees, settings: CustomTreesData) -> NDArray[np.int64]:
    """Return the group of each tree for a ranker, otherwise the tree itself, ``(T,)``."""
    if isinstance(settings, RankData):
        groups = target_values(raw, settings.group, nodes=False)
        if groups is not None:
            return np.asarray(np.unique(list(map(str, groups)), return_inverse=True)[1])
    return np.arange(len(raw.forest))


def _report(
    raw: LabeledTrees, settings: CustomTreesData, schema: Schema, file: PathLike | None
) -> None:
    """Warn of absent columns, new categories, and numbers out of range, once per model."""
    forest, units = raw.forest, _units(raw, settings)
    of = f" of {os.fspath(file)}" if file is not None and in_file(file) else ""
    found = []
    absent = [n for n in schema.absent(forest, units) if f"absent {n}" not in schema.reported]
    none = not {c.name for c in schema.inputs} & {*forest.columns}  # which the schema refuses
    if absent and not none:
        schema.reported.update(f"absent {name}" for name in absent)
        names = ", ".join(absent)
        found.append(f"no value of {names}, which training trees have; it is treated as missing")
    for key, describe, what in (
        (
            "unknown",
            schema.unknown_categories,
            "categories that training did not have, or fewer than data.min_freq times; they count "
            f"as {UNKNOWN}",
        ),
        ("range", schema.out_of_range, "numbers outside the range of training"),
    ):
        if key not in schema.reported and (columns := describe(forest, units)):
            schema.reported.add(key)
            found.append(f"{what}: {'; '.join(columns)}")
    if found:
        warnings.warn(f"the trees{of} have {'. They have '.join(found)}", stacklevel=3)


def _check_columns(seen: Collection[str], schema: Schema, settings: CustomTreesData) -> None:
    """Check that a training file has the columns of the first one, unless settings name some."""
    names = {each.name for each in schema.inputs}
    others = {*seen} - names - {*_names_aside(settings)}
    if settings.features is None and (names - {*seen} or others):
        raise TreeError(
            f"expected the columns of the first training file, {', '.join(sorted(names))}, got "
            f"{', '.join(sorted(seen))}; name the input columns with {called('data.features')}"
        )


def no_column(what: str, name: str, raw: LabeledTrees, cure: str, *, nodes: bool = False) -> str:
    """Return an error about a column that trees lack, with the nearest name, or a cure."""
    beside = [] if nodes else [each for each in raw.columns if each != "line"]
    columns = [*dict.fromkeys([*beside, *raw.forest.columns])]
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    shown = ", ".join(columns[:_SHOWN]) or "none"
    cure = suggestion(name, columns) or f"; {cure}"
    return f"expected {what}, got the columns {shown}{more}{cure}"


def target_values(
    raw: LabeledTrees, name: str, *, nodes: bool, inputs: Sequence[Column] = ()
) -> NDArray[Any] | None:
    """Return the values of a target column, per example or per node."""
    if nodes:
        return node_values(raw.forest, name, slice(None))
    beside = raw.columns.get(of_user(name))
    if beside is None and any(name == each.name for each in inputs):
        return None
    if beside is None:
        return node_values(raw.forest, name, raw.forest.roots[:: raw.arity])
    # a format with classes of its own has their ids
    classes = raw.targets if name == "target" and len(raw.targets) else None
    return _decoded(np.asarray(beside), name, classes)


def node_values(forest: Forest, name: str, rows: Any) -> NDArray[Any] | None:
    """Return the values of a node column at some rows, as names or numbers; None without it.

    An empty name is missing: an array of strings cannot hold None.
    """
    if name not in forest.columns:
        return None
    values = _decoded(np.asarray(forest.columns[name])[rows], name, forest.vocabs.get(name))
    if values.dtype.kind in "OU" and (empty := values == "").any():
        values = values.astype(object)
        values[empty] = None
    return values


def _decoded(values: NDArray[Any], name: str, vocabulary: Vocabulary | None) -> NDArray[Any]:
    """Return the names of ids, None for the id -1; or numbers unchanged."""
    if vocabulary is not None:
        return np.asarray(np.array([*vocabulary.names, None], dtype=object)[values])
    if values.ndim > 1:
        raise TreeError(
            f"expected one value per row in the target {name!r}, got vectors of {values.shape[1]} "
            "numbers; write them as several targets"
        )
    return values


def with_targets(examples: LabeledTrees, values: NDArray[Any], *, nodes: bool) -> LabeledTrees:
    """Return examples with the column ``"target"`` of the trees, or of the nodes."""
    if not nodes:
        return replace(examples, columns={**examples.columns, "target": values})
    columns = {**examples.forest.columns, "target": values}
    return replace(examples, forest=examples.forest.with_columns(columns))

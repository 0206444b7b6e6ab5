"""Summary of a file of trees, its likely target, and a command that trains a model on it."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, cast

import numpy as np

from dgltrees._files import PathLike, in_file
from dgltrees._tables import aligned
from dgltrees.draw import Drawing, draw
from dgltrees.errors import TreeError
from dgltrees.formats import FORMATS, RecordLayout, get_format, guess_format
from dgltrees.formats.lines import gather
from dgltrees.formats.nodes import USUAL
from dgltrees.formats.records import is_records, listed, numbered, trees_of_records
from dgltrees.settings import Count
from dgltrees.tasks.custom_trees.leaks import equal_to, measured
from dgltrees.tasks.custom_trees.ranks import RANK
from dgltrees.tasks.custom_trees.reading import no_column, target_values
from dgltrees.tasks.custom_trees.settings import CustomTreesData, RankData
from dgltrees.tasks.files import find_files
from dgltrees.trees import Forest, LabeledTrees
from dgltrees.trees.columns import Column, choose_columns, name_of
from dgltrees.trees.summary import (
    AS_TEXT,
    ColumnSummary,
    ShapeSummary,
    equal_trees,
    summarize_column,
    summarize_shapes,
)
from dgltrees.trees.text_cells import MISSING

_SHOWN_NODES = 6  # the drawn tree has about this many nodes
_SHOWN_LINES = 40  # of its drawing
_FEW = 10  # at most this many different integers may be classes
_WIDE = 100.0  # smallest ratio of the largest to the smallest number for logarithms
_RESULT = re.compile(
    r"(?i)time|second|duration|latency|runtime|elapsed|cost|price|score|rating|\bms\b|_ms\b"
)
"""Names of numbers that people predict."""
_GROUP = re.compile(
    r"(?i)(?:^|_)(?:group|template|query|project|repo|repository|author|user|session|document|file"
    r"|database|source)(?:_?(?:id|name|number))?$"
)
"""Names of columns whose equal values mark trees that are not independent."""
_COPIES = 0.01  # largest share of trees that are copies of others, without a warning
_PLACES = ("line", "file", "line_")  # example columns with the place of a tree


@dataclass(frozen=True)
class Inspection:
    """Summary of trees, which ``print`` shows.

    Attributes:
        source: the file, folder or pattern; ``"trees"`` for trees in memory.
        form: the name of the file's format; None without a file.
        layout: the layout of the file, as given or inferred.
        shapes: numbers, sizes, depths and arities of the trees.
        complete: whether all trees were read.
        columns: the node columns that would be inputs.
        tree_columns: the columns of trees, which may be targets.
        target: the target column, as given or proposed; None if no column is likely.
        groups: a sentence on the groups that can be ordered; empty without a group.
        warnings: sentences on what may be wrong.
        command: the command that trains on the file.
        drawing: a drawing of a small tree.
        in_strings: the node columns of numbers that are strings in the data.
    """

    source: str
    form: str | None
    layout: RecordLayout
    shapes: ShapeSummary
    complete: bool
    columns: tuple[ColumnSummary, ...]
    tree_columns: tuple[ColumnSummary, ...]
    target: str | None
    groups: str
    warnings: tuple[str, ...]
    command: str
    drawing: Drawing
    in_strings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text, without line ends."""
        shapes = self.shapes
        what = FORMATS[self.form].description.split(",")[0].rstrip(".:") if self.form else "Forest"
        first = "" if self.complete else "the first "
        yield f"{self.source}: {what} ({self.form or 'in memory'})"
        flags = " ".join(_flags(self.layout, "--"))
        if flags:
            yield f"read with {flags}"
        if self.in_strings:
            yield (
                f"numbers in strings: {', '.join(self.in_strings)} (--features.NAME category reads "
                "names)"
            )
        yield f"{first}{shapes.trees:,} trees, {shapes.nodes:,} nodes"
        yield ""
        rows = [["per tree", "min", "median", "max"]]
        triples = {"nodes": shapes.size, "depth": shapes.depth, "children": shapes.arity}
        rows += [[name, *map(str, triple)] for name, triple in triples.items()]
        yield from aligned(rows, (1, 2, 3))
        for title, columns in (
            ("node column", self.columns),
            ("column of a tree", self.tree_columns),
        ):
            if columns:
                yield ""
                table = [[title, "kind", "values", "missing", "content"]]
                table += [[c.name, c.kind, f"{c.count}", f"{c.missing}", c.words] for c in columns]
                yield from aligned(table, (2, 3))
        if self.groups:
            yield ""
            yield self.groups
        for warning in self.warnings:
            yield ""
            yield f"warning: {warning}"
        yield ""
        drawing = [*self.drawing.lines()]
        yield from drawing[:_SHOWN_LINES]
        if len(drawing) > _SHOWN_LINES:
            yield f"... {len(drawing) - _SHOWN_LINES:,} more lines; `dgltrees draw` shows them"
        yield ""
        yield "next:"
        yield f"  {self.command}"


def inspect_trees(
    source: PathLike | Forest | LabeledTrees | Sequence[dict[str, Any]],
    *,
    format: str | None = None,  # noqa: A002
    trees: Count | None = 10_000,
    target: str | None = None,
    group: str | None = None,
    features: list[str] | dict[str, str] | None = None,
    layout: RecordLayout = RecordLayout(),
) -> Inspection:
    """Summarize trees: their shapes, their columns, and a likely target.

    The formats are those of :data:`dgltrees.formats.FORMATS`. A layout of JSON that is not given is
    inferred from the first records.

    Arguments:
        source: a file or folder of trees, or a pattern such as ``src/*.py``; in Python also trees,
            or nested dictionaries.
        format: format of the file; default: inferred from the suffix or the first line.
        trees: largest number of trees to read, from the first; null for all. Memory is proportional
            to it.
        target: target column; default: a likely one is proposed.
        group: column of the group of each tree, if the target orders the trees of a group.
        features: input columns, or their kinds by name; default: all columns except the target,
            with inferred kinds.
        layout: keys or columns of the file that hold the trees.

    Returns:
        The summary, with the training command.

    Raises:
        ConfigError: the format is unknown, or does not use a field of the layout.
        TreeError: the file breaks a rule of its format, or a column does not exist.
    """
    form, given, complete = None, layout, True
    as_names = CustomTreesData(features=features).as_names
    layout = replace(layout, categorical_columns=(*layout.categorical_columns, *as_names))
    if is_records(records := listed(source)):
        source, layout = trees_of_records(records, layout)
    if isinstance(source, (Forest, LabeledTrees)):
        examples = LabeledTrees(source) if isinstance(source, Forest) else source
    else:
        files = [cast(PathLike, source)]
        if in_file(files[0]):
            files = [*find_files(files, None, "path")]
        form = format or guess_format(files[0], layout)
        layout = get_format(form).complete_layout(files, layout)
        examples, complete = _read(files, form, layout, trees)
    if trees is not None and len(examples) > trees:
        examples, complete = examples[:trees], False
    in_data = examples.forest.vocabs
    examples = numbered(examples, layout.categorical_columns)
    in_strings = [name for name in in_data if name not in examples.forest.vocabs]
    forest = examples.forest
    if not len(forest):
        raise TreeError("expected at least one tree, got none")
    tree_columns = tuple(
        summarize_column(
            name, values, examples.targets if name == "target" and len(examples.targets) else None
        )
        for name, values in examples.columns.items()
        if name not in _PLACES
    )
    tree_columns = tuple(column for column in tree_columns if column.count)
    of_nodes = forest.columns.keys() - {group, *examples.columns}
    names = [name for name in forest.columns if name in of_nodes and _repeats(forest, name)]
    of_roots = {name: np.asarray(forest.columns[name])[forest.roots] for name in names}
    repeated = [summarize_column(n, v, forest.vocabs.get(n)) for n, v in of_roots.items()]
    if target is None:
        ids = (layout.tree_id, *USUAL["tree_id"]) if form == "nodes" else ()
        candidates = [each for each in tree_columns if each.name not in ids]
        candidates += [each for each in repeated if not _GROUP.search(each.name)]
        target = _proposed(candidates, forest)
    elif target not in (*examples.columns, *forest.columns):
        what = f"a target {target!r}"
        raise TreeError(no_column(what, target, examples, "name one with target"))
    tree_columns += tuple(each for each in repeated if each.name == target)
    aside = [name for name in (target, group) if name is not None]
    without = [name for name in aside if name not in examples.columns]
    inputs: tuple[ColumnSummary, ...] = ()
    if features is not None or set(forest.columns) - {*without}:
        chosen = choose_columns(forest, features, without)
        inputs = tuple(_summary_of_nodes(forest, column) for column in chosen)
    leaks: list[str] = []
    if target is not None:
        answers = target_values(examples, target, nodes=False)
        names = [each.name for each in inputs]
        known = {} if answers is None else {target: answers}
        after = measured(forest, names, [target])
        leaks = [*dict.fromkeys(after + equal_to(known, examples, names))]
    left_out = [*dict.fromkeys([*leaks, *_identifiers(forest, inputs)])]
    left_out = left_out if len(left_out) < len(inputs) else leaks
    others = _without(features, left_out, inputs)
    shapes = summarize_shapes(forest)
    used = (*inputs, *(column for column in tree_columns if column.name == target))
    path = str(source) if form else "FILE"
    return Inspection(
        path if form else "trees",
        form,
        replace(layout, categorical_columns=given.categorical_columns),
        shapes,
        complete,
        inputs,
        tree_columns,
        target,
        "" if group is None or target is None else _groups(examples, target, group, features),
        (
            *_tree_warnings(shapes, target, form),
            *(
                f"{c.missing:,} of {len(examples):,} examples have no target {target!r}; remove "
                "them to train"
                for c in tree_columns
                if c.name == target and c.missing
            ),
            *(f"column {each.name!r} {text}" for each in used for text in each.warnings),
            *_word_warnings(examples, form),
            *_leak_warnings(leaks),
            *_split_warnings(examples, [each.name for each in inputs], {target, group}),
        ),
        _command(path, format, given, target, group, others, examples),
        _example(forest, inputs),
        tuple(in_strings),
    )


def _summary_of_nodes(forest: Forest, column: Column) -> ColumnSummary:
    """Summarize a node column, with a warning if it identifies trees or nodes."""
    values = np.asarray(forest.columns[column.name])
    vocab = forest.vocabs.get(column.name)
    summary = summarize_column(column.name, values, vocab, kind=column.kind)
    many = 1 < len(forest) < forest.num_nodes and summary.distinct > 0.9 * len(forest)
    what = ""
    if many and _repeats(forest, column.name):
        what = "is the same in all nodes of a tree"
    elif vocab is None and values.dtype.kind in "iu" and (np.diff(values, axis=0) > 0).all():
        what = "numbers the nodes"
    if many and what:
        warning = f"{what}, so it may be an identifier, which does not help a model"
        return replace(summary, warnings=(warning,))
    return summary


def _repeats(forest: Forest, name: str) -> bool:
    """Return whether all nodes of a tree have the same value, in trees of several nodes."""
    values = np.asarray(forest.columns[name])
    of_root = values[forest.roots][forest.tree_of_node]
    both_missing = (values != values) & (of_root != of_root)  # NaN
    return len(forest) < forest.num_nodes and bool(((values == of_root) | both_missing).all())


def _identifiers(forest: Forest, inputs: Sequence[ColumnSummary]) -> list[str]:
    """Return the node columns that may be identifiers; numbers with fractions are not."""
    suspect = [c.name for c in inputs if any("an identifier" in text for text in c.warnings)]
    return [name for name in suspect if np.asarray(forest.columns[name]).dtype.kind != "f"]


def _groups(examples: LabeledTrees, target: str, group: str, features: Any) -> str:
    """Return a sentence on the groups that the task ``rank`` can order."""
    settings = RankData(target=target, group=group, features=features)
    data = RANK.examples(examples, settings, None)
    groups = RANK.groups(data)
    sizes, learned = np.bincount(groups), len(np.unique(groups[RANK.labeled(data)]))
    return (
        f"{len(sizes):,} groups by {group!r}, of {sizes.min():,} to {sizes.max():,} trees; "
        f"{len(sizes) - learned:,} have no order, as they have one tree or equal {target!r}"
    )


def _read(
    files: Sequence[PathLike], form: str, layout: RecordLayout, trees: int | None
) -> tuple[LabeledTrees, bool]:
    """Return the first examples of files, ``trees`` or a few more, and whether these are all."""
    parts: list[LabeledTrees] = []
    count, most = 0, min(trees or 10_000, 10_000)
    for chunk in chain.from_iterable(FORMATS[form].chunks(path, most, layout) for path in files):
        if trees is not None and count >= trees:
            return gather(parts), False
        parts.append(chunk)
        count += len(chunk)
    return gather(parts), True


def _proposed(tree_columns: Sequence[ColumnSummary], forest: Forest) -> str | None:
    """Return the column that is most likely a target.

    It is ``target``, the last number with the name of a result, such as Execution Time, or the last
    column with information, in this order; columns without missing values come first. A node column
    with equal values in all nodes of each tree is one of them.
    """
    if "target" in forest.columns:
        return "target"
    useful = [
        c
        for c in tree_columns
        if c.kind in ("category", "number", "log")
        and all(text.startswith(AS_TEXT) for text in c.warnings)  # codes of classes
    ]
    results = [c for c in useful if c.range is not None and _RESULT.search(c.name)]
    complete = [c for c in results or useful if not c.missing]  # as training needs it
    names = [c.name for c in complete or results or useful]
    if any(c.name == "target" for c in useful):
        return "target"
    return names[-1] if names else None


def _leak_warnings(leaks: Sequence[str]) -> Iterator[str]:
    if leaks:
        yield (
            "columns that are measured with the target, or nearly equal to it, are unavailable for "
            f"a prediction; the command leaves them out: {', '.join(leaks)}"
        )


def _split_warnings(
    examples: LabeledTrees, inputs: Sequence[str], aside: Collection[str | None]
) -> Iterator[str]:
    """Yield warnings of trees that a random split must not separate: copies, and groups."""
    forest, count = examples.forest, len(examples)
    equal = equal_trees(forest.with_columns({name: forest.columns[name] for name in inputs}))
    copies = count - len(np.unique(equal))
    if examples.arity == 1 and copies > _COPIES * count:
        yield (
            f"{copies:,} of {count:,} trees are copies of others, which a random split puts into "
            "both training and test; split by GroupKFold of scikit-learn, with groups="
            "dgltrees.trees.summary.equal_trees(forest)"
        )
    of_trees = dict(examples.columns)
    for name in filter(_GROUP.search, inputs):
        if _repeats(forest, name):
            of_trees[name] = cast(Any, target_values(examples, name, nodes=False))
    for name, values in of_trees.items():
        if name in aside or not _GROUP.search(name):
            continue
        number = len({name_of(value) for value in values.tolist()} - {None})
        if 1 < number < count:
            yield (
                f"the {count:,} trees have {number:,} different values of {name!r}, and a random "
                "split puts trees of one value into both training and test; split by GroupKFold of "
                "scikit-learn, with the values of this column as groups"
            )


def _without(features: Any, left_out: Sequence[str], inputs: Sequence[ColumnSummary]) -> Any:
    """Return the setting ``features`` without columns, as names or kinds, whichever is shorter."""
    others = [each.name for each in inputs if each.name not in left_out]
    if not left_out or isinstance(features, list):
        return features
    if features is None and len(others) < 2 * len(left_out):
        return others
    return {**dict.fromkeys(left_out, "none"), **(features or {})}


def _tree_warnings(shapes: ShapeSummary, target: str | None, form: str | None) -> Iterator[str]:
    if form == "json" and shapes.trees == 1 and shapes.arity[2] > 1:
        yield "each document is one tree; if it is a list of trees, use --format json-records"
    if form == "python":
        yield "each file is one tree; for one tree per function use --format python-functions"
    if target is None:
        yield "no likely target was found; name the column with --target"
    if shapes.size[2] == 1:
        yield "every tree has one node; if nodes have children, name their key with --children_key"


def _word_warnings(examples: LabeledTrees, form: str | None) -> Iterator[str]:
    """Yield warnings of words in cells that are read as names, but may mean missing values."""
    if form is None or "missing" not in FORMATS[form].layout:
        return
    forest = examples.forest
    counts = {
        name: dict(zip(v.names, forest.name_counts(name))) for name, v in forest.vocabs.items()
    }
    counts |= {n: Counter(c.tolist()) for n, c in examples.columns.items() if c.dtype == object}
    for name, count in counts.items():
        words = {word: int(count[word]) for word in sorted(MISSING) if count.get(word)}
        if words:
            found = ", ".join(f"{word!r} ({number:,})" for word, number in words.items())
            yield (
                f"column {name!r} has {found} as names; if they mean missing values, use --missing "
                f"{shlex.join(words)}"
            )


def _task(target: str | None, examples: LabeledTrees) -> tuple[str, bool]:
    """Return the task for a target, and whether to learn the logarithm."""
    forest = examples.forest
    of_nodes = target is not None and target not in examples.columns
    pairs = "-pairs" if examples.arity > 1 else ""
    if target is None:
        return f"classify{pairs}", False
    values = np.asarray(forest.columns[target] if of_nodes else examples.columns[target])
    vocab = forest.vocabs.get(target) if of_nodes else None
    if target == "target" and not of_nodes and len(examples.targets):
        vocab = examples.targets
    if of_nodes:
        is_known = ~np.isnan(values) if values.dtype.kind == "f" else values >= 0
        inner = forest.parent >= 0
        some = values.dtype.kind in "US" or bool((is_known & inner).any())
        of_nodes = not pairs and some and not _repeats(forest, target)
    summary = summarize_column(target, values, vocab)
    whole = values.dtype.kind in "biu" or (
        values.dtype.kind == "f" and not np.mod(values[np.isfinite(values)], 1).any()
    )
    if summary.range is None or (whole and summary.distinct <= _FEW):
        return ("classify-nodes" if of_nodes else f"classify{pairs}"), False
    low, _, high = summary.range
    log_target = summary.kind == "log" or high > _WIDE * low > 0
    return ("regress-nodes" if of_nodes else f"regress{pairs}"), log_target


def _command(
    path: str,
    form: str | None,
    layout: RecordLayout,
    target: str | None,
    group: str | None,
    features: Any,
    examples: LabeledTrees,
) -> str:
    task, log_target = _task(target, examples) if group is None else ("rank", False)
    words = ["dgltrees", "train", task, "--data.train", path]
    words += ["--data.format", form] if form is not None else []
    words += _flags(layout, "--data.")
    words += ["--data.target", "COLUMN" if target is None else target]
    words += [] if group is None else ["--data.group", group]
    if isinstance(features, dict):
        for name, kind in features.items():
            words += [f"--data.features.{name}", kind]
    elif features is not None:
        words += ["--data.features", *features]
    if log_target:
        words += ["--model.log_target", "true"]
    stem = os.path.basename(os.path.normpath(path)).split(".")[0]
    return shlex.join([*words, "--out", os.path.join("runs", stem or "trees")])


def _flags(layout: RecordLayout, start: str) -> list[str]:
    """Return the fields of a layout that are not defaults as command-line flags."""
    words: list[str] = []
    for field in fields(layout):
        value = getattr(layout, field.name)
        if (value or field.default) != field.default:
            values = [value] if isinstance(value, str) else [] if value is True else value
            words += [start + field.name, *values]
    return words


def _example(forest: Forest, inputs: Sequence[ColumnSummary]) -> Drawing:
    """Draw a tree of a few nodes, with the two category columns that have the fewest gaps."""
    tree = int(np.abs(forest.sizes - _SHOWN_NODES).argmin())
    named = [c for c in inputs if c.kind == "category" and c.range is None and c.count]
    useful = [c for c in named if not c.warnings] or named
    names = [c.name for c in sorted(useful, key=lambda c: c.missing)[:2]]
    chosen = forest.tree(tree)
    columns = {name: chosen.columns[name] for name in names}
    return draw(replace(chosen, columns=columns), titles=[f"tree {tree}"])

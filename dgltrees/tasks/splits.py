"""Training, validation and test examples from files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike, checksum
from dgltrees.cells import AGGREGATORS
from dgltrees.errors import ConfigError, TreeError, called
from dgltrees.tasks.files import data_files
from dgltrees.tasks.settings import DataSettings, WordSettings
from dgltrees.tasks.task import Task
from dgltrees.trees import Forest, LabeledTrees, Vocabulary
from dgltrees.trees.schema import NUMBERS, Schema, bounded
from dgltrees.trees.segments import inverse, run_offsets


@dataclass(frozen=True)
class Splits:
    """The training and validation examples of a run; ``valid`` may be None.

    ``test`` is the part of the training files that is held out for testing, if any.
    """

    train: LabeledTrees
    valid: LabeledTrees | None
    test: LabeledTrees | None = None

    @property
    def all(self) -> list[LabeledTrees]:
        """The parts that are not None."""
        return [part for part in (self.train, self.valid, self.test) if part is not None]

    def checksum(self) -> str:
        """Return a checksum of all trees and targets, by which a resumed run recognises them."""

        def parts() -> Iterator[bytes]:
            for examples in self.all:
                forest = examples.forest
                fields = {"parent": forest.parent, "pos": forest.pos, "offsets": forest.offsets}
                for name, values in {**fields, **forest.columns, **examples.columns}.items():
                    array = np.asarray(values)
                    text = array.dtype == object
                    yield f"{name} {array.dtype} {array.shape}".encode("utf-8", "surrogatepass")
                    yield repr(array.tolist()).encode() if text else array.tobytes()
                for vocabulary in (examples.targets, *forest.vocabs.values()):
                    yield repr(list(vocabulary.names)).encode()

        return checksum(parts())


def load_examples(
    task: Task,
    settings: DataSettings,
    paths: list[Path],
    vocabs: Mapping[str, Vocabulary] | None = None,
    max_children: int | None = None,
    *,
    labeled: bool = True,
) -> LabeledTrees:
    """Return the examples of files, read with the same vocabularies; see ``Task.stream``."""
    if not paths:
        raise ConfigError(f"missing data files for the task {task.name}; set data.train")
    parts: list[LabeledTrees] = []
    for path in paths:
        with named_task(task, path):
            names = parts[-1].schema if parts else vocabs
            parts.append(task.read(path, settings, names, labeled=labeled))
            check_children(parts[-1].forest, max_children, path)
    data = LabeledTrees.concat(parts)
    return data if vocabs is not None else task.in_class_order(data, settings)


@contextmanager
def named_task(task: Task, path: PathLike) -> Iterator[None]:
    """Add to errors of a file the content that the task expects."""
    try:
        yield
    except TreeError as error:  # of a file of another task, a parser cannot say so
        expected = f"the task {task.name} expects: {task.reads}" if task.reads else task.name
        place = {name: getattr(error, name) for name in ("line", "tree", "node")}
        message = f"{error.message} ({expected.rstrip('.')})"
        raise TreeError(message, file=error.file or path, **place) from None


def most_children(data: LabeledTrees) -> int:
    """Return L, the largest number of child positions of a node; at least 1."""
    return int(data.forest.pos.max(initial=0)) + 1


def limit_of_children(model: Mapping[str, Any], default: int | None = None) -> int | None:
    """Return the largest number of children by the settings of a model; None for any number."""
    aggregator = model.get("aggregator")
    if "max_children" not in model or (aggregator and not AGGREGATORS[aggregator].bounded):
        return None
    return model["max_children"] or default


def check_children(forest: Forest, most: int | None, path: PathLike | None = None) -> None:
    """Raise TreeError if a node has more children than a model supports; None is any number."""
    if most is None:
        return
    children = np.flatnonzero(forest.pos >= most)
    if len(children):
        child, tree = int(children[0]), int(forest.tree_of_node[children[0]])
        raise TreeError(
            f"expected at most {most} children, the limit of the model, got a child at position "
            f"{forest.pos[child]}; train with a larger model.max_children or leave it out",
            file=path,
            tree=tree,
            node=int(forest.parent[child]),
        )


def load_splits(task: Task, settings: DataSettings, max_children: int | None = None) -> Splits:
    """Load the training, validation and test examples of the settings.

    The seed selects ``max_train_examples`` of the training examples. If there are no files for
    validation or testing, ``valid_fraction`` and ``test_fraction`` of these are held out. The
    others are for training, except those that the settings exclude. Thus the parts depend only on
    the number of examples. Of running text, the first lines are used, and the first of these are
    held out. Examples of one group (the sentences of a question) stay in one part, which may then
    be larger than requested.
    """
    train_files = data_files(settings, "train")
    train = load_examples(task, settings, train_files, None, max_children)
    valid_files, test_files = data_files(settings, "valid"), data_files(settings, "test")

    def read_valid(names: Schema) -> LabeledTrees:
        return load_examples(task, settings, valid_files, names, max_children)

    files = [*valid_files, *test_files]
    splits = split_examples(task, settings, train, read_valid if valid_files else None, files)
    named = {path.resolve(): "train" for path in train_files}
    for role, others in (("valid", valid_files), ("test", test_files)):
        if twice := next((each for each in others if each.resolve() in named), None):
            warnings.warn(
                f"data.{role} names {twice}, which is a file of data.{named[twice.resolve()]}: "
                "metrics on examples that training reads are too good",
                stacklevel=2,
            )
        named |= {path.resolve(): role for path in others}
    return splits


def split_examples(
    task: Task,
    settings: DataSettings,
    train: LabeledTrees,
    read_valid: Callable[[Schema], LabeledTrees] | None = None,
    files: Sequence[Path] = (),
) -> Splits:
    """Split examples that have been read; see :func:`load_splits`."""
    rng = np.random.Generator(np.random.PCG64(settings.seed))
    groups = task.groups(train)
    units = rng.permutation(int(groups.max()) + 1)
    order = np.arange(len(train))
    if not task.stateful:  # group by group, in the order of units
        order = np.argsort(inverse(units)[groups], kind="stable")
    if settings.max_train_examples is not None:
        order = order[: _whole(groups[order], settings.max_train_examples)]
    fraction = 0.0 if read_valid else settings.valid_fraction
    num_valid = _whole(groups[order], round(fraction * len(order)))
    tested = 0 if settings.test else round(settings.test_fraction * len(order))
    tested = _whole(groups[order], num_valid + tested) - num_valid if tested else 0
    learned = np.sort(order[num_valid + tested :])
    learned = learned[settings.learnable(train, learned)]
    if len(order) > 1 and np.ptp(groups[order]) == 0 and not len(learned):
        raise ConfigError(
            f"expected several groups, to learn from some and hold out others, got one of "
            f"{len(order)} trees; set {called('data.valid_fraction')} to 0, or correct "
            f"{called('data.group')}"
        )
    if not len(learned):
        raise ConfigError(
            f"missing training examples: none of {len(train)} are left; see data.binary, "
            f"data.max_operators, "
            f"data.max_train_examples, {called('data.valid_fraction')} and data.test_fraction"
        )
    valid, test = (
        task.held_out(train.select(np.sort(ids))) if len(ids) else None
        for ids in (order[:num_valid], order[num_valid : num_valid + tested])
    )
    parts = Splits(train.select(learned), valid, test)
    least = settings.min_freq if isinstance(settings, WordSettings) else 1
    parts = _without_rare(task, parts, least)
    task.extend_vocabularies(parts.train, settings, files)
    if (numbers := parts.train.forest.columns.get(NUMBERS)) is not None:
        inputs = bounded(parts.train.inputs, numbers)
        parts = replace(parts, train=replace(parts.train, inputs=inputs))
    names = parts.train.schema
    for vocabulary in names.values():
        vocabulary.freeze()
    return replace(parts, valid=read_valid(names)) if read_valid else parts


def _whole(groups: NDArray[np.int64], count: int) -> int:
    """Return ``count``, rounded up to whole groups."""
    offsets = run_offsets(groups)
    return int(offsets[np.searchsorted(offsets, min(count, len(groups)))])


def _without_rare(task: Task, splits: Splits, least: int) -> Splits:
    """Replace names with less than ``least`` occurrences in ``train`` by the unknown name.

    Only columns whose vocabulary has an unknown name and is new are changed.
    """
    forest = splits.train.forest
    vocabs, renumber = dict(forest.vocabs), {}
    for column, vocab in forest.vocabs.items():
        if vocab.unknown is None or vocab.frozen:  # frozen: of a model whose training continues
            continue
        counts = task.name_counts(splits.train, column)
        names = [n for n, c in zip(vocab.names, counts) if c >= least and n != vocab.unknown]
        vocabs[column] = Vocabulary([vocab.unknown, *names], unknown=vocab.unknown, frozen=True)
        renumber[column] = vocabs[column].encode(vocab.names)

    def renumbered(data: LabeledTrees) -> LabeledTrees:
        return replace(data, forest=data.forest.renamed(renumber, vocabs))

    others = (None if d is None else renumbered(d) for d in (splits.valid, splits.test))
    return Splits(renumbered(splits.train), *others)

"""The dependency trees that language models learn from, read from several formats."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats import FORMATS, format_by_suffix
from dgltrees.formats.sentences import leave_out_long, too_long
from dgltrees.papers.top_down.data.ordered import constituents, right_branching
from dgltrees.papers.top_down.tasks.settings import TreeLMSettings
from dgltrees.trees import Forest, Vocabulary
from dgltrees.trees.words import ROOT, UNKNOWN, recode

__all__ = ["LABEL", "stream_trees"]

LABEL = "deprel"
"""The column of dependency labels."""


def stream_trees(
    path: PathLike,
    settings: TreeLMSettings,
    vocabs: Mapping[str, Vocabulary] | None,
    trees: int = 10_000,
) -> Iterator[Forest]:
    """The dependency trees of a file, about ``trees`` at a time.

    The format depends on the path:

    - a folder is a saved forest; it has dependencies if the root of every tree has the word ROOT in
      a column ``word``, as written by ``dgltrees.read(...).forest.save(...)``, and otherwise the
      column ``settings.label`` names its nodes;
    - ``.mrg`` are trees in Penn brackets, whose words are children of their tags;
    - ``.dp`` has three columns;
    - every other file is CoNLL-U.

    In trees without dependencies all children become right dependents
    (:func:`~dgltrees.papers.top_down.data.ordered.right_branching`).

    Arguments:
        path: the file or folder.
        settings: ``max_words`` counts, ``lower``, ``single_root`` for files of dependencies, and
            ``label`` for saved forests without heads.
        vocabs: the vocabularies ``word`` and, to read labels, ``deprel``; by default new ones with
            an unknown name.
        trees: trees per forest; of a saved forest all.

    Yields:
        forests with the column ``word`` and, for dependencies, ``deprel``, -1 for none.

    Raises:
        TreeError: the file does not have the format of its name, or all its trees are too large.
    """
    if vocabs is None:
        vocabs = {name: Vocabulary(unknown=UNKNOWN) for name in ("word", LABEL)}
    columns = {name: vocabs[name] for name in ("word", LABEL) if name in vocabs}
    names = ("lower", "max_words", "single_root")
    options: dict[str, Any] = {name: getattr(settings, name) for name in names}
    if os.path.isdir(path):
        saved = Forest.load(path)
        if _has_root_words(saved):
            forests = iter([_saved(saved, columns, settings.lower, path)])
            return _short(forests, settings.max_words, path)
        ordered, column = iter([saved]), settings.label
    elif format_by_suffix(path) == "mrg":
        read = FORMATS["mrg"].chunks(path, trees)
        ordered, column = (constituents(d.forest, lower=settings.lower) for d in read), "label"
    elif format_by_suffix(path) == "dp":
        stream = FORMATS["dp"].chunks(path, trees, vocabs={"word": columns["word"]}, **options)
        return (_labeled(data.forest, columns) for data in stream)
    else:
        stream = FORMATS["conllu"].chunks(path, trees, vocabs=columns, **options)
        return (_labeled(data.forest, columns) for data in stream)
    branching = partial(right_branching, column=column, vocab=vocabs["word"], file=path)
    return _short(map(branching, ordered), settings.max_words, path)


def _labeled(forest: Forest, vocabs: Mapping[str, Vocabulary]) -> Forest:
    """Keep only the columns of ``vocabs``; one that the forest does not have is -1."""
    none = np.full(forest.num_nodes, -1, np.int32)
    columns = {name: forest.columns.get(name, none) for name in vocabs}
    return forest.with_columns(columns, dict(vocabs))


def _has_root_words(forest: Forest) -> bool:
    """Whether the word of each root is ROOT, as in all dependency forests."""
    words = forest.vocabs.get("word")
    if words is None or ROOT not in words:
        return False
    return bool((forest.columns["word"][forest.roots] == words.encode([ROOT])[0]).all())


def _saved(forest: Forest, vocabs: Mapping[str, Vocabulary], lower: bool, path: PathLike) -> Forest:
    """Encode a saved dependency forest by ``vocabs``."""
    if "etype" in forest.columns:
        raise TreeError(
            "expected a saved forest of dependencies, got one of generation, which has a column "
            "'etype'; save what the reader gives, or dependency_forest(...)",
            file=path,
        )
    present = {name: vocab for name, vocab in vocabs.items() if name in forest.vocabs}
    return _labeled(recode(forest, present, lower=lower), vocabs)


def _short(forests: Iterator[Forest], max_nodes: int | None, path: PathLike) -> Iterator[Forest]:
    """Drop trees with more than ``max_nodes`` nodes, without ROOT; a warning counts them.

    Raises:
        TreeError: all trees are larger.
    """
    rows = (
        (number, forest, tree, size - 1)
        for number, forest in enumerate(forests)
        for tree, size in enumerate(forest.sizes.tolist())
    )
    short = leave_out_long(rows, itemgetter(3), max_nodes, file=path, unit="nodes")
    empty = True
    for _, group in groupby(short, itemgetter(0)):
        chosen, empty = list(group), False
        forest = chosen[0][1]
        whole = len(chosen) == len(forest)
        yield forest if whole else forest.select([tree for _, _, tree, _ in chosen])
    if empty:
        raise too_long(max_nodes, file=path, unit="nodes")

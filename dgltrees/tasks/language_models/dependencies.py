"""The dependency trees that language models learn from, read from several formats."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Optional

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats import format_by_suffix, read_conllu, read_dp, read_mrg
from dgltrees.formats.lengths import leave_out_long, too_long
from dgltrees.tasks.language_models.settings import TreeLMSettings
from dgltrees.trees import Forest, Vocabulary
from dgltrees.trees.builders.ordered import constituents, right_branching
from dgltrees.trees.dependencies import ROOT
from dgltrees.trees.words import UNKNOWN, recode

__all__ = ["LABEL", "read_trees"]

LABEL = "deprel"
"""The column of dependency labels."""


def read_trees(
    path: PathLike, settings: TreeLMSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Forest:
    """Read a dependency forest from a file.

    The format depends on the path:

    - a folder is a saved forest; it has dependencies if the root of every tree has the word ROOT in
      a column ``word``, as written by ``read_conllu(...).forest.save(...)``, and otherwise the
      column ``settings.label`` names its nodes;
    - ``.mrg`` are trees in Penn brackets, whose words are children of their tags;
    - ``.dp`` has three columns;
    - every other file is CoNLL-U.

    In trees without dependencies all children become right dependents
    (:func:`~dgltrees.trees.builders.right_branching`).

    Arguments:
        path: the file or folder.
        settings: ``max_words`` counts, ``lower``, ``single_root`` for files of dependencies, and
            ``label`` for saved forests without heads.
        vocabs: the vocabularies ``word`` and, to read labels, ``deprel``; by default new ones with
            an unknown name.

    Returns:
        a forest with the column ``word`` and, for dependencies, ``deprel``, -1 for none.

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
            return _short(_saved(saved, columns, settings.lower, path), settings.max_words, path)
        ordered, column = saved, settings.label
    elif format_by_suffix(path) == "mrg":
        ordered, column = constituents(read_mrg(path).forest, lower=settings.lower), "label"
    elif format_by_suffix(path) == "dp":
        return _labeled(read_dp(path, vocabs={"word": columns["word"]}, **options).forest, columns)
    else:
        return _labeled(read_conllu(path, vocabs=columns, **options).forest, columns)
    forest = right_branching(ordered, column=column, vocab=vocabs["word"], file=path)
    return _short(forest, settings.max_words, path)


def _labeled(forest: Forest, vocabs: Mapping[str, Vocabulary]) -> Forest:
    """Keep only the columns of ``vocabs``; one that the forest does not have is -1."""
    none = np.full(forest.num_nodes, -1, np.int32)
    columns = {name: forest.columns.get(name, none) for name in vocabs}
    return replace(forest, columns=columns, vocabs=dict(vocabs))


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


def _short(forest: Forest, max_nodes: Optional[int], path: PathLike) -> Forest:
    """Drop trees with more than ``max_nodes`` nodes, without ROOT; a warning counts them.

    Raises:
        TreeError: all trees are larger.
    """
    sizes = (forest.sizes - 1).tolist()
    short = list(
        leave_out_long(range(len(forest)), sizes.__getitem__, max_nodes, file=path, unit="nodes")
    )
    if not short:
        raise too_long(max_nodes, file=path, unit="nodes")
    return forest if len(short) == len(forest) else forest.select(short)

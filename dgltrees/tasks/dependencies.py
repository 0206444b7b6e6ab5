"""The trees of language models: dependencies, and what can be read as such."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Optional

import numpy as np

from dgltrees.errors import TreeError
from dgltrees.tasks.settings import DataSettings
from dgltrees.trees import Forest, Vocabulary
from dgltrees.trees.builders.ordered import constituents, headless
from dgltrees.trees.readers.conllu import read_conllu
from dgltrees.trees.readers.mrg import read_mrg
from dgltrees.trees.words import UNKNOWN

__all__ = ["LABEL", "has_heads", "read_trees"]

LABEL = "deprel"
"""The column of dependency labels."""


def has_heads(path: Path) -> bool:
    """Whether a file holds dependency trees; all others are read without heads."""
    return not path.is_dir() and path.suffix != ".mrg"


def read_trees(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Forest:
    """A dependency forest from a file.

    A folder is a saved forest, whose column ``settings.label`` names the nodes; ``.mrg`` are Penn
    brackets, whose words hang below their tags; their nodes are made right dependents
    (:func:`~dgltrees.trees.builders.headless`). Every other file is CoNLL-U.

    Arguments:
        path: the file or folder.
        settings: ``max_words`` counts, ``label`` for saved forests, ``lower`` for all others.
        vocabs: the vocabularies ``word`` and, unless labels are not wanted, ``deprel``; new ones
            with an unknown name, if not given.

    Returns:
        a forest with the column ``word``, and ``deprel`` of CoNLL-U.

    Raises:
        TreeError: the file is not what its name says, or all its trees are too large.
    """
    if vocabs is None:
        vocabs = {name: Vocabulary([UNKNOWN], unknown=UNKNOWN) for name in ("word", LABEL)}
    if has_heads(path):
        wanted = {name: vocabs[name] for name in ("word", LABEL) if name in vocabs}
        read = read_conllu(
            path, vocabs=wanted, lower=settings.lower, max_words=settings.max_words
        ).forest
        columns = {name: read.columns[name] for name in wanted}
        return replace(read, columns=columns, vocabs=wanted)
    if path.is_dir():
        ordered, column = Forest.load(path), settings.label
    else:
        ordered, column = constituents(read_mrg(path).forest, lower=settings.lower), "label"
    made = headless(ordered, column=column, vocab=vocabs["word"], file=path)
    return _short(made, settings.max_words, path)


def _short(forest: Forest, most: Optional[int], path: Path) -> Forest:
    """The trees of at most so many nodes, ROOT aside; a warning says how many were left out."""
    kept = np.flatnonzero(forest.sizes <= (np.inf if most is None else most + 1))
    if len(kept) == len(forest):
        return forest
    if not len(kept):
        raise TreeError(
            f"expected a tree of at most {most} nodes, got none; raise max_words", file=path
        )
    warnings.warn(
        f"{path}: left out {len(forest) - len(kept)} of {len(forest)} trees, which have more than "
        f"{most} nodes",
        stacklevel=2,
    )
    return forest.select(kept)

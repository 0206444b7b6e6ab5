"""Sentences of a treebank, compressed by a trained language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.analyses.decisions import load_joint, load_words
from dgltrees.analyses.scoring import log_probs
from dgltrees.analyses.tree_files import MadeTrees
from dgltrees.formats import read_conllu
from dgltrees.models import JointTreeLM, TreeLM, compress
from dgltrees.training.processes import make_fabric
from dgltrees.training.rundir import RunDirectory
from dgltrees.trees import Forest
from dgltrees.trees.words import recode

__all__ = ["compress_files"]


def compress_files(
    run: PathLike,
    files: Sequence[PathLike],
    max_words: int,
    *,
    beam: int = 8,
    joint: bool = False,
) -> MadeTrees:
    """Compress all sentences of CoNLL-U files; see :func:`~dgltrees.models.compress`.

    Arguments:
        run: the directory of a language model over trees.
        files: the sentences with their trees.
        max_words: words to keep of each.
        beam: parts kept of each length.
        joint: score by log P(S, T), with the decisions to add edges, instead of log P(S | T); a
            model that generates the shape (``model.stops``) always does.

    Returns:
        what is left of every sentence, with all columns of the files; of each, the score, which is
        ``log_prob`` or ``joint_log_prob``, the number of ``words`` it had, and whether the search
        was ``exact``.

    Raises:
        ConfigError: there is no usable run, a number is out of its range.
        TreeError: a file is not CoNLL-U.
    """
    fabric = make_fabric(RunDirectory(run).one_device())
    if joint:
        loaded = load_joint(run, fabric)
        settings, vocabs = loaded.settings, loaded.vocabs
        model: Union[TreeLM, JointTreeLM] = loaded.model
    else:
        directory, settings, model = load_words(run, fabric)
        vocabs = directory.vocabularies()

    def score(forest: Forest) -> NDArray[np.float64]:
        coded = recode(forest, {"word": vocabs["word"]}, lower=settings.data.lower)
        return log_probs(model, coded, fabric)

    whole = read_conllu(list(files), single_root=settings.data.single_root).forest
    found = [compress(whole.tree(t), max_words, score, beam=beam) for t in range(len(whole))]
    name = "joint_log_prob" if joint or settings.model.stops else "log_prob"
    comments = [
        {name: each.score, "words": int(size) - 1, "exact": "yes" if each.exact else "no"}
        for each, size in zip(found, whole.sizes)
    ]
    titles = [
        f"{each.forest.num_nodes - 1} of {about['words']} words"
        for each, about in zip(found, comments)
    ]
    return MadeTrees(Forest.concat([each.forest for each in found]), comments, titles)

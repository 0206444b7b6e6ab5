"""Sentences of a treebank, compressed by a trained language model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees._progress import progress
from dgltrees.formats import read
from dgltrees.papers.top_down.analyses.scoring import (
    language_model_settings,
    log_probs,
    tree_language_model,
)
from dgltrees.papers.top_down.analyses.shape import load_joint
from dgltrees.papers.top_down.analyses.tree_files import GeneratedTrees
from dgltrees.papers.top_down.models.compression import compress
from dgltrees.training.loaded import LoadedRun
from dgltrees.trees import Forest

__all__ = ["compress_files"]


def compress_files(
    run: LoadedRun,
    files: Sequence[PathLike],
    max_words: int,
    *,
    beam: int = 8,
    joint: bool = False,
) -> GeneratedTrees:
    """Compress all sentences of CoNLL-U files; see ``compress``.

    Arguments:
        run: the run of a language model over trees.
        files: the sentences with their trees.
        max_words: the largest number of words of a compressed sentence.
        beam: the number of parts of each length that the search expands.
        joint: score by log P(S, T), with the decisions to add edges, instead of log P(S | T); a
            model that generates the shape (``model.stops``) always does.

    Returns:
        the compressed sentences, with all columns of the files; their comments
        have the score (``log_prob`` or ``joint_log_prob``), the original number of ``words``, and
        whether the search was ``exact``.

    Raises:
        ConfigError: the run's model is not a TreeLM, a number is out of range, or the shape has not
            been trained.
        TreeError: a file is not CoNLL-U.
    """
    words = tree_language_model(run)
    model = load_joint(run) if joint else words

    def score(forest: Forest) -> NDArray[np.float64]:
        return log_probs(run, forest, model=model)

    single_root = language_model_settings(run).single_root
    whole = read(list(files), "conllu", single_root=single_root).forest
    trees = progress(range(len(whole)), "compress", unit="sentence")
    parts = [compress(whole.tree(t), max_words, score, beam=beam) for t in trees]
    name = "joint_log_prob" if joint or words.start is not None else "log_prob"
    comments = [
        {name: part.score, "words": int(size) - 1, "exact": "yes" if part.exact else "no"}
        for part, size in zip(parts, whole.sizes)
    ]
    titles = [
        f"{part.forest.num_nodes - 1} of {comment['words']} words"
        for part, comment in zip(parts, comments)
    ]
    return GeneratedTrees(Forest.concat([part.forest for part in parts]), comments, titles)

"""Sentences of a treebank in simpler words, chosen by a trained language model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees._progress import progress
from dgltrees.errors import ConfigError
from dgltrees.formats import read
from dgltrees.formats.lines import numbered_lines
from dgltrees.papers.top_down.analyses.scoring import (
    language_model_settings,
    log_probs,
    tree_language_model,
)
from dgltrees.papers.top_down.analyses.tree_files import GeneratedTrees
from dgltrees.papers.top_down.models.simplification import simplify
from dgltrees.training.loaded import LoadedRun
from dgltrees.trees import Forest, Vocabulary
from dgltrees.trees.words import ROOT, UNKNOWN

__all__ = ["simplify_files"]


def simplify_files(
    run: LoadedRun,
    files: Sequence[PathLike],
    simple_words: PathLike,
    *,
    number: int = 10,
    min_cosine: float = 0.4,
) -> GeneratedTrees:
    """Simplify all sentences of CoNLL-U files; see ``simplify``.

    Every word of the sentences that the model knows, and that is not simple, may be replaced by the
    simple words with the nearest output embeddings: words that the model expects in the same
    places.

    Arguments:
        run: the run of a language model over trees.
        files: the sentences with their trees.
        simple_words: a text file of the words to use, one per line.
        number: the number of candidates per word.
        min_cosine: the smallest cosine of the embeddings of a word and of its candidates.

    Returns:
        the simplified sentences; their comments have the score (``log_prob``, or ``joint_log_prob``
        of a model with START and STOP) and the ``replaced`` words, as ``old>new``. Other columns
        than the words, and all trees, are those of the files.

    Raises:
        ConfigError: the run's model is not a TreeLM, a number is out of range, or the model knows
            none of the simple words.
        TreeError: a file is not CoNLL-U.
    """
    if number < 1 or not -1 <= min_cosine <= 1:
        raise ConfigError(
            f"expected 1 candidate or more and a cosine from -1 to 1, got {number} and {min_cosine}"
        )
    model, settings = tree_language_model(run), language_model_settings(run)
    file = read(list(files), "conllu", single_root=settings.single_root).forest
    vocab = Vocabulary(file.vocabs["word"].names)
    known = run.vocabularies["word"]
    simple = _simple_words(simple_words, known, lower=settings.lower)
    names = {name: name.lower() if settings.lower else name for name in vocab.names}
    hard = {name: word for name, word in names.items() if word in known and word not in simple}
    embeddings = model.output.detach().float().cpu()
    nearest = _nearest(known, list(hard.values()), simple, embeddings, number, min_cosine)
    candidates = {
        int(vocab.encode([name])[0]): vocab.encode([_cased(word, name) for word in words]).tolist()
        for name, words in zip(hard, nearest)
    }
    whole = file.with_columns(file.columns, {**file.vocabs, "word": vocab})

    def score(forest: Forest) -> NDArray[np.float64]:
        return log_probs(run, forest)

    trees = progress(range(len(whole)), "simplify", unit="sentence")
    results = [simplify(whole.tree(t), candidates, score) for t in trees]
    score_name = "log_prob" if model.start is None else "joint_log_prob"
    comments: list[dict[str, object]] = []
    titles = []
    for t, result in enumerate(results):
        nodes = list(result.replaced)
        old = vocab.decode(whole.tree(t).columns["word"][nodes])
        new = vocab.decode(result.forest.columns["word"][nodes])
        pairs = " ".join(f"{before}>{after}" for before, after in zip(old, new))
        comments.append({score_name: result.score, **({"replaced": pairs} if pairs else {})})
        titles.append(f"{len(nodes)} of {result.forest.num_nodes - 1} words replaced")
    return GeneratedTrees(Forest.concat([each.forest for each in results]), comments, titles)


def _simple_words(path: PathLike, known: Vocabulary, *, lower: bool) -> set[str]:
    """The words of a file, a word per line, and the marks that no word replaces.

    Raises:
        ConfigError: the model knows none of them.
    """
    words = {line.strip() for _, line in numbered_lines(path)} - {""}
    words = {word.lower() for word in words} if lower else words
    if not any(word in known for word in words):
        raise ConfigError(
            f"{path}: expected simple words, one per line, that the model knows, got "
            f"{len(words)} words of which it knows none"
        )
    return words | {ROOT, UNKNOWN}


def _nearest(
    known: Vocabulary,
    hard: list[str],
    simple: set[str],
    embeddings: Tensor,
    number: int,
    min_cosine: float,
) -> list[list[str]]:
    """The simple words with the nearest embeddings, for each of H hard words; nearest first."""
    choices = [word for word in known.names if word in simple - {ROOT, UNKNOWN}]
    unit = torch.nn.functional.normalize(embeddings, dim=1)
    rows, columns = (torch.from_numpy(known.encode(words)).long() for words in (hard, choices))
    nearest = []
    for part in torch.split(rows, 1024):  # a table of all words with all simple words may be large
        cosines, index = (unit[part] @ unit[columns].T).topk(min(number, len(choices)))
        for row, near in zip(cosines.tolist(), index.tolist()):
            nearest.append([choices[j] for c, j in zip(row, near) if c >= min_cosine])
    return nearest


def _cased(word: str, like: str) -> str:
    """A word with the initial capital of another."""
    return word[:1].upper() + word[1:] if like[:1].isupper() else word

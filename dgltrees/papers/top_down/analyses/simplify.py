"""Sentence simplification: difficult words replaced by simple, more probable ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.formats.lines import numbered_lines
from dgltrees.papers.top_down.analyses.sample import GeneratedTrees, one_by_one, read_trees
from dgltrees.papers.top_down.analyses.scoring import (
    Score,
    language_model_settings,
    log_probs,
    tree_language_model,
)
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import Forest, Vocabulary
from dgltrees.trees.check import check_roots
from dgltrees.trees.words import ROOT, UNKNOWN


class Simplification(NamedTuple):
    """The result of :func:`simplify`.

    Attributes:
        forest: a forest with one tree, the simplified sentence.
        score: its score.
        replaced: the nodes whose words were replaced, in the order of the sentence.
    """

    forest: Forest
    score: float
    replaced: tuple[int, ...]


def simplify(
    forest: Forest, candidates: Mapping[int, Sequence[int]], score: Score
) -> Simplification:
    """Replace words of a sentence by simpler ones wherever the score increases.

    Zhang, Lu and Lapata (2016) name simplification, next to compression, as a use of their model
    (section 4). The tree is not changed. Words are replaced one by one, in the order of the
    sentence, each by the candidate that gives the sentence the highest score, if that is higher
    than the score without the replacement.

    Arguments:
        forest: one dependency tree, with ROOT as node 0, and a column ``word``.
        candidates: the ids of words that may replace a word, by its id; words without candidates
            are not replaced.
        score: function that scores dependency trees, such as log-probabilities of a language model.

    Returns:
        The simplified sentence, its score, and the nodes whose words were replaced.

    Raises:
        ConfigError: there is not exactly one tree.
        TreeError: node 0 is not the root.
    """
    if len(forest) != 1:
        raise ConfigError(f"expected one tree to simplify, got {len(forest)} trees")
    check_roots(forest)
    best, replaced = float(score(forest)[0]), []
    for node in range(1, forest.num_nodes):
        words = candidates.get(int(forest.columns["word"][node]), ())
        if len(words) == 0:
            continue
        variants = [_replaced(forest, node, word) for word in words]
        scores = score(Forest.concat(variants))
        first = int(scores.argmax())
        if scores[first] > best:
            best, forest = float(scores[first]), variants[first]
            replaced.append(node)
    return Simplification(forest, best, tuple(replaced))


def _replaced(forest: Forest, node: int, word: int) -> Forest:
    """Return the same tree with another word at a node."""
    words = forest.columns["word"].copy()
    words[node] = word
    return forest.with_columns({**forest.columns, "word": words})


def simplify_sentences(
    run: TrainedModel,
    files: Sequence[PathLike],
    simple_words: PathLike,
    *,
    number: int = 10,
    min_cosine: float = 0.4,
) -> GeneratedTrees:
    """Simplify all sentences of CoNLL-U files; see :func:`simplify`.

    Every word in the vocabulary of the model that is not simple may be replaced by the simple words
    with the nearest output embeddings, which the model expects in similar contexts.

    Arguments:
        run: a trained language model over trees.
        files: the sentences with their trees.
        simple_words: a text file of the words to use, one per line.
        number: number of candidates per word.
        min_cosine: smallest cosine of the embeddings of a word and of its candidates.

    Returns:
        The simplified sentences. Their comments have the score (``log_prob``, or ``joint_log_prob``
        of a model with START and STOP) and the ``replaced`` words, as ``old>new``. The trees and
        other columns are not changed.

    Raises:
        ConfigError: the model is not a TreeLM, a number is out of range, or no simple word is in
            the vocabulary of the model.
        TreeError: a file is not CoNLL-U.
    """
    if number < 1 or not -1 <= min_cosine <= 1:
        raise ConfigError(
            "expected number of at least 1 and min_cosine from -1 to 1, got "
            f"{number} and {min_cosine}"
        )
    model, settings = tree_language_model(run), language_model_settings(run)
    file = read_trees(run, files)
    vocab = Vocabulary(file.vocabs["word"].names)
    known = run.vocabularies["word"]
    simple = _simple_words(simple_words, known, lower=settings.lower)
    names = {name: name.lower() if settings.lower else name for name in vocab.names}
    hard = {name: word for name, word in names.items() if word in known and word not in simple}
    embeddings = model.output.detach().float().cpu()
    nearest = _nearest(known, list(hard.values()), simple, embeddings, number, min_cosine)
    candidates = {}
    for name, words in zip(hard, nearest):
        cased = [_cased(word, name) for word in words]  # which the model may not know
        chosen = [each for each in cased if (each.lower() if settings.lower else each) in known]
        candidates[int(vocab.encode([name])[0])] = vocab.encode(chosen).tolist()
    whole = file.with_columns(file.columns, {**file.vocabs, "word": vocab})
    score_name = "log_prob" if model.start is None else "joint_log_prob"

    def simplified(sentence: Forest) -> tuple[Forest, dict[str, object], str]:
        result = simplify(sentence, candidates, partial(log_probs, run))
        nodes = list(result.replaced)
        old, new = (vocab.decode(f.columns["word"][nodes]) for f in (sentence, result.forest))
        pairs = " ".join(f"{before}>{after}" for before, after in zip(old, new))
        comment = {score_name: result.score, **({"replaced": pairs} if pairs else {})}
        title = f"{len(nodes)} of {sentence.num_nodes - 1} words replaced"
        return result.forest, comment, title

    return GeneratedTrees.of(map(simplified, one_by_one(whole, "simplify")))


def _simple_words(path: PathLike, known: Vocabulary, *, lower: bool) -> set[str]:
    """Return the words of a file, one per line, and the symbols that are never replaced."""
    words = {line.strip() for _, line in numbered_lines(path)} - {""}
    words = {word.lower() for word in words} if lower else words
    if not any(word in known for word in words):
        raise ConfigError(
            f"{path}: expected simple words in the vocabulary of the model, one per line, got "
            f"{len(words)} words that are not in it"
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
    """Return the simple words with the nearest embeddings to each of H words; nearest first."""
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
    """Return a word with the initial capital of another."""
    return word[:1].upper() + word[1:] if like[:1].isupper() else word

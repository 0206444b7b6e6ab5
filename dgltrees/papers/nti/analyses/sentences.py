"""Trained models of plain sentences, applied to sentences with unknown words.

A model knows only the words of its training examples; queries and results keep the words of the
files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.analyses.require import require
from dgltrees.models.encoding import Encoding
from dgltrees.models.streaming import batches_of_similar
from dgltrees.papers.nti.models.encoder import NTIEncoder
from dgltrees.papers.nti.models.pairs import PairEncoder
from dgltrees.papers.nti.tasks.base import SentenceTask, with_ids
from dgltrees.papers.nti.tasks.settings import SentenceSettings
from dgltrees.tasks.files import data_files
from dgltrees.tasks.splits import load_examples
from dgltrees.training.loaded import LoadedRun
from dgltrees.trees import Examples, Forest, Vocabulary
from dgltrees.trees.builders import chains

__all__ = [
    "encodings",
    "examples_with_all_words",
    "sentence_settings",
    "sentences_with_all_words",
    "tree_encoder",
    "with_model_words",
]


def sentence_settings(run: LoadedRun) -> SentenceSettings:
    """The settings of the data of a run on plain sentences.

    Raises:
        ConfigError: the run has another task.
    """
    require(run, run.task, SentenceTask, "a run of snli, wikiqa or sst-phrases")
    return cast(SentenceSettings, run.settings.data)


def examples_with_all_words(run: LoadedRun, files: Sequence[PathLike]) -> Examples:
    """Read the examples of files with a vocabulary of the model's words and of all others.

    Arguments:
        run: a run on plain sentences.
        files: paths, or patterns such as ``data/*.txt``.

    Raises:
        ConfigError: the run has another task, or a pattern names no file.
        TreeError: a file is not what the task reads.
    """
    sentence_settings(run)
    values: dict[str, object] = {"test": [os.fspath(file) for file in files]}
    if "supervise" in run.settings.sections["data"]:
        values["supervise"] = "root"  # whole sentences, as in evaluation
    data = run.settings.replace("data", **values).data
    vocabs = {**run.vocabularies, "word": _all_words(run)}
    return load_examples(run.task, data, data_files(data, "test", "--input"), vocabs)


def sentences_with_all_words(run: LoadedRun, texts: Sequence[str]) -> Forest:
    """Split texts at spaces into sentences, with the vocabulary of the model's and all other words.

    Raises:
        ConfigError: the run has another task.
        TreeError: a text has no word.
    """
    parts, words = [text.split() for text in texts], Vocabulary()
    ids = words.encode([word for part in parts for word in part])
    forest = chains([len(part) for part in parts], {"word": ids}, {"word": words})
    return with_ids(forest, sentence_settings(run), _all_words(run))


def _all_words(run: LoadedRun) -> Vocabulary:
    """A vocabulary of the words of the model, to which more can be added."""
    words = run.vocabularies["word"]
    return Vocabulary(words.names, unknown=words.unknown)


def with_model_words(run: LoadedRun, forest: Forest) -> Forest:
    """Replace all words that the model does not know by the unknown word."""
    words, ids = run.vocabularies["word"], forest.columns["word"]
    unknown = words.encode([words.unknown or ""])[0]
    encoded = np.where(ids < len(words), ids, unknown)
    return replace(forest, columns={**forest.columns, "word": encoded}, vocabs={"word": words})


def tree_encoder(run: LoadedRun) -> NTIEncoder | PairEncoder:
    """The encoder of a run, which must build trees over sentences.

    Raises:
        ConfigError: the run has another task, or its model builds no trees.
    """
    sentence_settings(run)
    encoder = getattr(run.model, "encoder", None)
    if isinstance(encoder, PairEncoder):
        return encoder
    return require(run, encoder, NTIEncoder, "a model that makes trees (model.encoder nti)")


@torch.no_grad()
def encodings(
    run: LoadedRun, forest: Forest, *, max_nodes: int = 10_000
) -> Iterator[tuple[NDArray[np.int64], Encoding]]:
    """The ids of sentences and the encodings of the trees over them, batch by batch.

    Arguments:
        run: a run whose model builds trees.
        forest: the sentences, with all their words.
        max_nodes: the largest number of words in a batch.

    Raises:
        ConfigError: the model builds no trees.
    """
    encoded, encoder = with_model_words(run, forest), tree_encoder(run)
    for ids in batches_of_similar(encoded.sizes, max_nodes=max_nodes):
        yield ids, encoder.encode_alone(encoded.batch(ids).to(run.fabric.device))

"""Word vectors from a text file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lines import numbered_lines
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import is_number


def read_word_vectors(path: PathLike, vocab: Vocabulary, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Read the vectors of a vocabulary's words from a text file, such as GloVe's.

    A line is ``word v1 v2 ... vs``. Lines of other words are skipped, so the file may be larger
    than memory. If a word has two lines, the first counts. A first line with two integers, the
    number of words and s, as written by word2vec and fastText, is skipped.

    Arguments:
        path: the file, UTF-8.
        vocab: the words.
        vectors: ``(V, s)`` the vectors of words that are not in the file; not changed in place.

    Returns:
        The vectors, ``(V, s)``, and a mask of the words in the file, ``(V,)``.

    Raises:
        TreeError: a line does not have s numbers, or is not UTF-8, or no line is of a word of the
            vocabulary; the error names file and line.
    """
    filled, mask = vectors.clone(), torch.zeros(len(vocab), dtype=torch.bool)
    number, size = 1, vectors.shape[1]
    for number, line in numbered_lines(path):
        # with size 1, such a line is a word and its vector
        if number == 1 and size != 1 and re.fullmatch(rf"\d+ {size}\s*", line):
            continue
        word, values = _fields(line.rstrip(), size, path, number)
        if word in vocab:
            row = int(vocab.encode([word])[0])
            if not mask[row]:
                filled[row] = _numbers(values, path, number)
                mask[row] = True
    if not mask.any():
        raise TreeError(
            f"expected vectors of words of the data, such as {vocab.names[-1]!r}, got those of "
            "other words only; change data.vectors or data.lower",
            file=path,
            line=number,
        )
    return filled, mask


def vectors_of_words(
    paths: Sequence[PathLike], vocab: Vocabulary, vectors: Tensor, *, others: str
) -> Tensor:
    """Read the vectors of a vocabulary's words from several files.

    A warning counts the words in none of them.
    """
    has_vector = torch.tensor([name == vocab.unknown for name in vocab.names])
    for path in paths:
        vectors, in_file = read_word_vectors(path, vocab, vectors)
        has_vector |= in_file
    if not has_vector.all():
        warnings.warn(
            f"{', '.join(map(str, paths))}: no vectors for {int((~has_vector).sum())} of "
            f"{len(vocab) - 1} words; theirs are {others}",
            stacklevel=3,
        )
    return vectors


def _fields(line: str, size: int, path: PathLike, number: int) -> tuple[str, list[str]]:
    """Split a line into its word and numbers; a few words of GloVe contain a space."""
    word, *values = line.rsplit(" ", size)
    inside = word.split(" ")[1:] if " " in word else []
    if len(values) != size or not word or any(map(is_number, inside)):
        raise TreeError(
            f"expected a word and {size} numbers after single spaces, got {len(line.split())} "
            "fields; word vectors of model (model.embedding) and file must have the same size",
            file=path,
            line=number,
        )
    return word, values


def _numbers(values: list[str], path: PathLike, line: int) -> Tensor:
    try:
        row = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise TreeError(f"expected numbers after the word: {error}", file=path, line=line) from None
    if not np.isfinite(row).all():
        raise TreeError("expected finite numbers after the word", file=path, line=line)
    return torch.from_numpy(row)

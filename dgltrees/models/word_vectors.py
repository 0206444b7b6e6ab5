"""Word vectors from a text file."""

from __future__ import annotations

import re

import numpy as np
import torch
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.lines import numbered_lines
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["read_word_vectors"]


def read_word_vectors(path: PathLike, vocab: Vocabulary, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The vectors of a vocabulary's words, from lines ``word v1 v2 ... vs`` such as GloVe's.

    Lines of other words are passed over while the file is read, so that it may be larger than
    memory. Of a word that stands twice the first line counts. A first line of two integers, the
    number of words and s, is no word's: word2vec and fastText write one.

    Arguments:
        path: the file, UTF-8.
        vocab: the words.
        vectors: ``(V, s)`` the vectors of words that are not in the file; it stays as it is.

    Returns:
        the vectors ``(V, s)``, and ``(V,)`` bool, which words the file has.

    Raises:
        TreeError: with file and line: a line has not s numbers, or is not UTF-8.
    """
    filled, found = vectors.clone(), torch.zeros(len(vocab), dtype=torch.bool)
    for number, line in numbered_lines(path):
        if number == 1 and _is_header(line, vectors.shape[1]):
            continue
        word, values = _fields(line.rstrip(), vectors.shape[1], path, number)
        if word in vocab:
            row = int(vocab.encode([word])[0])
            if not found[row]:
                filled[row] = _numbers(values, path, number)
                found[row] = True
    return filled, found


def _is_header(line: str, size: int) -> bool:
    """Whether a first line counts the words and tells the size; it is a word's if that is 1."""
    return size != 1 and re.fullmatch(rf"\d+ {size}\s*", line) is not None


def _fields(line: str, size: int, path: PathLike, number: int) -> tuple[str, list[str]]:
    """The word and its numbers. A few of GloVe's words have a space in them."""
    word, *values = line.rsplit(" ", size)
    inside = word.split(" ")[1:] if " " in word else []
    if len(values) != size or not word or any(map(_is_number, inside)):
        raise TreeError(
            f"expected a word and {size} numbers, got {len(line.split())} fields; the model's word "
            "vectors must have the size of the file's",
            file=path,
            line=number,
        )
    return word, values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(values: list[str], path: PathLike, line: int) -> Tensor:
    try:
        row = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise TreeError(f"expected numbers after the word: {error}", file=path, line=line) from None
    if not np.isfinite(row).all():
        raise TreeError("expected finite numbers after the word", file=path, line=line)
    return torch.from_numpy(row)

"""Words and texts as ids of sub-words, by the tokenizer of a Hugging Face encoder on disk."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.models.pretrained_files import read_tokenizer
from dgltrees.trees.segments import owner, within
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["SubwordTokenizer"]


class SubwordTokenizer:
    """Splits words and texts into the sub-words of a pretrained encoder.

    Arguments:
        path: a folder with the encoder's ``config.json`` and its tokenizer, as ``save_pretrained``
            writes them. Nothing is downloaded, and no code or pickle in the folder is run.

    Attributes:
        size: the size of the encoder's states.
        limit: sub-words that it reads at most, marks included.
        before, after: the ids of the marks around a sentence, such as ``[CLS]`` and ``[SEP]``.
        pad: the id at places without a sub-word.

    Raises:
        ConfigError: transformers is not installed, the folder lacks a file, or the tokenizer
            does not map sub-words to words.
    """

    def __init__(self, path: PathLike) -> None:
        self._tokenizer, config = read_tokenizer(Path(path))
        self.size: int = config.hidden_size
        # A tokenizer without a limit has one of 1e30.
        self.limit = int(min(self._tokenizer.model_max_length, config.max_position_embeddings))
        self.pad: int = self._tokenizer.pad_token_id or 0
        ids, owners = self._split([["a"]])
        inside = [at for at, word in enumerate(owners[0]) if word is not None]
        first, last = (inside[0], inside[-1]) if inside else (1, len(ids[0]) - 2)
        self.before, self.after = ids[0][:first], ids[0][last + 1 :]

    @cached_property
    def names(self) -> Vocabulary:
        """The sub-words, by their ids."""
        by_name: dict[str, int] = self._tokenizer.get_vocab()
        names = [f"[no sub-word {i}]" for i in range(1 + max(by_name.values()))]
        for name, i in by_name.items():
            names[i] = name
        return Vocabulary(names, frozen=True)

    def words(self, sentences: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        """The sub-words of the N words of sentences, ``(N, P)``, -1 beyond the last of a word.

        A word without any, such as a control character, has -1 alone.

        Raises:
            ConfigError: a sentence has more sub-words than the encoder reads.
        """
        ids, owners = self._split(sentences)
        longest = max(map(len, ids), default=0)
        if longest > self.limit:
            size = max(map(len, sentences))
            raise ConfigError(
                f"expected at most {self.limit} sub-words in a sentence, which is what the "
                f"encoder reads, got {longest} in one of {size} words; leave out longer sentences"
            )
        counts = np.zeros(sum(map(len, sentences)), np.int64)
        pieces, first = [], 0
        for words, row, places in zip(sentences, ids, owners):
            for piece, word in zip(row, places):
                if word is not None:
                    counts[first + word] += 1
                    pieces.append(piece)
            first += len(words)
        return _table(counts, pieces)

    def texts(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """The sub-words of T texts with the marks around them, ``(T, P)``, -1 beyond the last.

        Of a text with more sub-words than the encoder reads, the first ones.
        """
        rows: list[list[int]] = []
        if texts:
            rows = self._tokenizer(list(texts), truncation=True, max_length=self.limit)["input_ids"]
        return _table(np.array([len(row) for row in rows], np.int64), list(chain(*rows)))

    def _split(self, sentences: Sequence[Sequence[str]]) -> tuple[list[list[int]], list[list[Any]]]:
        """The ids of each sentence with marks, and the word of each, None for marks."""
        if not sentences:
            return [], []
        split = self._tokenizer([list(words) for words in sentences], is_split_into_words=True)
        return split["input_ids"], [split.word_ids(row) for row in range(len(sentences))]


def _table(counts: NDArray[np.int64], ids: Sequence[int]) -> NDArray[np.int32]:
    """Ragged rows of ids as a table, -1 beyond the last of a row."""
    table = np.full((len(counts), max(1, int(counts.max(initial=0)))), -1, np.int32)
    table[owner(counts), within(counts)] = ids
    return table

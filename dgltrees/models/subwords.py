"""Hugging Face encoders on disk: their files, tokenizers, and sub-word ids of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import nn

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.trees.segments import owner, within
from dgltrees.trees.vocabulary import Vocabulary

_TEXTS = (".json", ".txt", ".model")  # settings and tokenizer
_WEIGHTS = (".safetensors",)
_OFFLINE = {"local_files_only": True, "trust_remote_code": False}
_ERRORS = (OSError, ValueError, KeyError, SafetensorError)


def encoder_files(folder: Path, *, weights: bool = True) -> list[Path]:
    """Return the files of an encoder, sorted by name.

    Arguments:
        folder: a folder written by ``save_pretrained``.
        weights: include the files of weights.

    Raises:
        ConfigError: the folder has no ``config.json``, or no weights as safetensors.
    """
    if not (folder / "config.json").is_file():
        raise ConfigError(
            f"expected a folder with the config.json of a pretrained encoder, got {folder}; write "
            "one with save_pretrained"
        )
    endings = _TEXTS + _WEIGHTS if weights else _TEXTS
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in endings)
    if weights and not any(path.suffix in _WEIGHTS for path in files):
        raise ConfigError(
            f"missing weights as .safetensors in {folder} (other formats can run code); convert "
            "them with save_pretrained(..., safe_serialization=True)"
        )
    return files


def read_transformer(folder: Path, *, weights: bool = True) -> nn.Module:
    """Return the transformer in a folder, in float32 and evaluation mode, without a pooling layer.

    Arguments:
        folder: the folder.
        weights: read its weights; otherwise they are random.

    Raises:
        ConfigError: transformers is not installed, or the folder lacks a file.
    """
    encoder_files(folder, weights=weights)
    with _transformers(folder) as library:
        if weights:
            model = library.AutoModel.from_pretrained(folder, use_safetensors=True, **_OFFLINE)
        else:
            config = library.AutoConfig.from_pretrained(folder, **_OFFLINE)
            model = library.AutoModel.from_config(config, trust_remote_code=False)
    if getattr(model, "pooler", None) is not None:
        model.pooler = None  # its output is not used
    transformer: nn.Module = model.float().eval()
    return transformer


@contextmanager
def _transformers(folder: Path) -> Iterator[Any]:
    """Yield the library to read a folder; turn its errors into ConfigError."""
    try:
        import transformers
    except ImportError:
        raise ConfigError(
            "a pretrained encoder needs transformers: pip install 'dgltrees[transformers]'"
        ) from None
    try:
        yield transformers
    except _ERRORS as error:
        raise ConfigError(f"the encoder in {folder} cannot be loaded: {error}") from None


class SubwordTokenizer:
    """Tokenizer of words and texts into the sub-words of a pretrained encoder.

    Arguments:
        path: a folder with the encoder's ``config.json`` and its tokenizer, as written by
            ``save_pretrained``. Nothing is downloaded, and no code or pickle in the folder is run.

    Attributes:
        size: the size of the encoder's states.
        limit: largest number of sub-words that the encoder supports, with special tokens.
        before, after: the ids of the special tokens around a sentence, such as ``[CLS]`` and
            ``[SEP]``.
        pad: the id of padding.

    Raises:
        ConfigError: transformers is not installed, the folder lacks a file, or the tokenizer does
            not map sub-words to words.
    """

    def __init__(self, path: PathLike) -> None:
        folder = Path(path)
        encoder_files(folder, weights=False)
        with _transformers(folder) as library:
            config = library.AutoConfig.from_pretrained(folder, **_OFFLINE)
            options = {"use_fast": True, **_OFFLINE}
            self._tokenizer = library.AutoTokenizer.from_pretrained(folder, **options)
        if not self._tokenizer.is_fast:
            raise ConfigError(
                f"missing tokenizer.json in {folder}; the tokenizer there does not map sub-words "
                "to words"
            )
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
        """Return the sub-words of the N words of sentences, ``(N, P)``, padded with -1.

        A word without sub-words, such as a control character, has only -1.

        Raises:
            ConfigError: a sentence has more sub-words than the encoder supports.
        """
        ids, owners = self._split(sentences)
        longest = max(map(len, ids), default=0)
        if longest > self.limit:
            size = max(map(len, sentences))
            raise ConfigError(
                f"expected at most {self.limit} sub-words in a sentence, the limit of the encoder, "
                f"got {longest} in one of {size} words; leave out longer sentences"
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
        """Return the sub-words of T texts with special tokens, ``(T, P)``, padded with -1.

        Texts that are longer than the encoder supports are truncated.
        """
        rows: list[list[int]] = []
        if texts:
            rows = self._tokenizer(list(texts), truncation=True, max_length=self.limit)["input_ids"]
        return _table(np.array([len(row) for row in rows], np.int64), list(chain(*rows)))

    def _split(self, sentences: Sequence[Sequence[str]]) -> tuple[list[list[int]], list[list[Any]]]:
        """Return the ids of each sentence with special tokens, and the word of each (or None)."""
        if not sentences:
            return [], []
        split = self._tokenizer([list(words) for words in sentences], is_split_into_words=True)
        return split["input_ids"], [split.word_ids(row) for row in range(len(sentences))]


def _table(counts: NDArray[np.int64], ids: Sequence[int]) -> NDArray[np.int32]:
    """Return ragged rows of ids as a table, padded with -1."""
    table = np.full((len(counts), max(1, int(counts.max(initial=0)))), -1, np.int32)
    table[owner(counts), within(counts)] = ids
    return table

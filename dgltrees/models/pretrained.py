"""Pretrained encoders of Hugging Face: vectors of words in their sentences, and of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError

_ROWS = 64  # read at a time, sorted by length, so that few places are empty
_CACHED_TEXTS = 20_000  # the cache is cleared when it has more
_SENTENCES = 256  # or texts, encoded at a time
_TEXTS = (".json", ".txt", ".model")  # settings and tokenizer
_WEIGHTS = ".safetensors"
_OFFLINE = {"local_files_only": True, "trust_remote_code": False}
_ERRORS = (OSError, ValueError, KeyError, SafetensorError)


def encoder_files(folder: Path) -> list[Path]:
    """Return the files of an encoder that ``save_pretrained`` wrote, sorted by name."""
    if not (folder / "config.json").is_file():
        raise ConfigError(
            f"expected a folder with the config.json of a pretrained encoder, got {folder}; write "
            "one with save_pretrained"
        )
    endings = (*_TEXTS, _WEIGHTS)
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in endings)
    if not any(path.suffix == _WEIGHTS for path in files):
        raise ConfigError(
            f"missing weights as .safetensors in {folder} (other formats can run code); convert "
            "them with save_pretrained(..., safe_serialization=True)"
        )
    return files


class PretrainedEncoder:
    r"""A pretrained encoder, which is not trained: vectors of words and texts.

    .. math:: x_w = \frac{1}{|P_w|} \sum_{p \in P_w} s_p

    where :math:`s_p` is the last state of sub-word p and :math:`P_w` are the sub-words of a word;
    zeros for a word without any, such as a control character. Vectors of texts are means that
    include special tokens, as in Reimers and Gurevych, "Sentence-BERT" (EMNLP 2019), section 3.

    Arguments:
        path: a folder with the encoder's ``config.json``, its weights as safetensors and its
            tokenizer, as written by ``save_pretrained``. Nothing is downloaded, and no code or
            pickle in the folder is run.

    Attributes:
        size: the size of a vector.

    Raises:
        ConfigError: transformers is not installed, the folder lacks a file, or the tokenizer does
            not map sub-words to words.
    """

    def __init__(self, path: PathLike) -> None:
        folder = Path(path)
        encoder_files(folder)
        with _transformers(folder) as library:
            model = library.AutoModel.from_pretrained(folder, use_safetensors=True, **_OFFLINE)
            tokenizer = library.AutoTokenizer.from_pretrained(folder, use_fast=True, **_OFFLINE)
        if not tokenizer.is_fast:
            raise ConfigError(
                f"missing tokenizer.json in {folder}; the tokenizer there does not map sub-words "
                "to words"
            )
        self._transformer, self._tokenizer = model.float().eval(), tokenizer
        self.size: int = model.config.hidden_size
        # A tokenizer without a limit has one of 1e30.
        self._limit = int(min(tokenizer.model_max_length, model.config.max_position_embeddings))
        self._texts: dict[str, NDArray[np.float32]] = {}

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Return the vectors of the words of sentences."""
        vectors = [torch.empty(0, self.size)]
        for at in range(0, len(sentences), _SENTENCES):
            some = sentences[at : at + _SENTENCES]
            vectors.extend(self._of_words([list(words) for words in some]))
        return torch.cat(vectors)

    def texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, ``(T, size)``; equal texts are encoded once.

        Texts that are longer than the encoder supports are truncated.
        """
        if len(self._texts) > _CACHED_TEXTS:
            self._texts.clear()
        new = sorted({*texts} - {*self._texts}, key=lambda text: (len(text), text))
        for at in range(0, len(new), _SENTENCES):
            some = new[at : at + _SENTENCES]
            ids = self._tokenizer(some, truncation=True, max_length=self._limit)["input_ids"]
            means = (states.sum(0) / max(1, len(states)) for states in self._states(ids))
            self._texts.update(zip(some, (mean.numpy() for mean in means)))
        table = np.empty((len(texts), self.size), np.float32)
        for row, text in enumerate(texts):
            table[row] = self._texts[text]
        return table

    def _of_words(self, sentences: list[list[str]]) -> Iterator[Tensor]:
        """Yield the vectors of the words of each sentence."""
        split = self._tokenizer(sentences, is_split_into_words=True)
        ids = split["input_ids"]
        for words, row in zip(sentences, ids):
            if len(row) > self._limit:
                raise ConfigError(
                    f"expected at most {self._limit} sub-words in a sentence, the limit of the "
                    f"encoder, got {len(row)} in one of {len(words)} words; leave out longer "
                    "sentences"
                )
        for i, states in enumerate(self._states(ids)):
            owners, size = split.word_ids(i), len(sentences[i])
            places = [place for place, word in enumerate(owners) if word is not None]
            word = torch.tensor([owners[place] for place in places], dtype=torch.long)
            sums = torch.zeros(size, self.size).index_add(0, word, states[places])
            yield sums / torch.bincount(word, minlength=size).clamp(min=1).unsqueeze(1)

    @torch.no_grad()
    def _states(self, rows: Sequence[Sequence[int]]) -> list[Tensor]:
        """Return the last states of the sub-words of each row, ``(P, size)``."""
        states = [torch.empty(0, self.size)] * len(rows)
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: len(rows[i]))
        pad = self._tokenizer.pad_token_id or 0
        for at in range(0, len(order), _ROWS):
            some = order[at : at + _ROWS]
            ids = pad_sequence([torch.tensor(rows[i]) for i in some], True, pad)
            lengths = torch.tensor([len(rows[i]) for i in some])
            mask = torch.arange(ids.shape[1]) < lengths.unsqueeze(1)
            read = self._transformer(input_ids=ids, attention_mask=mask.long())
            for i, state in zip(some, read.last_hidden_state):
                states[i] = state[: len(rows[i])]
        return states


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

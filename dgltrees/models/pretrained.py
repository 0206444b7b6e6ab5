"""Vectors of words in their sentences, and of texts, from a Hugging Face encoder on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError

__all__ = ["PretrainedEncoder"]

_CACHED_TEXTS = 20_000  # beyond so many, vectors of texts are computed anew


class PretrainedEncoder:
    """A pretrained encoder whose last hidden states are used as fixed vectors of words and texts.

    The vector of a word is the mean over its sub-words; a word without any, such as a control
    character, has zeros. The vector of a text (:meth:`text_vectors`) is the mean over all its
    sub-words and the encoder's marks around them, as Reimers and Gurevych, "Sentence-BERT" (EMNLP
    2019), section 3, pool them.

    Arguments:
        path: a folder with the encoder's ``config.json``, its weights as safetensors and its
            tokenizer, as ``save_pretrained`` writes them. Nothing is downloaded, and no code or
            pickle in the folder is run.
        device: where to run it.

    Attributes:
        size: the size of a vector.

    Raises:
        ConfigError: transformers is not installed, the folder lacks a file, or the tokenizer
            does not map sub-words to words.
    """

    def __init__(self, path: PathLike, *, device: str = "cpu") -> None:
        folder = Path(path)
        _check_folder(folder)
        models, tokenizers = _transformers()
        offline = {"local_files_only": True, "trust_remote_code": False}
        try:
            self._tokenizer = tokenizers.from_pretrained(folder, use_fast=True, **offline)
            model = models.from_pretrained(folder, use_safetensors=True, **offline)
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise ConfigError(f"the encoder in {folder} cannot be loaded: {error}") from None
        if not self._tokenizer.is_fast:
            raise ConfigError(
                f"expected a tokenizer with tokenizer.json in {folder}; the one there does not "
                "tell which sub-words belong to a word"
            )
        self._model = model.eval().requires_grad_(False).to(device)
        self.size: int = model.config.hidden_size
        # A tokenizer without a limit has one of 1e30.
        limits = (self._tokenizer.model_max_length, model.config.max_position_embeddings)
        self._limit = int(min(limits))
        self._texts: dict[str, NDArray[np.float32]] = {}

    def __call__(self, sentences: Sequence[Sequence[str]], *, batch_size: int = 64) -> Tensor:
        """The vectors of the words of sentences.

        Arguments:
            sentences: the words of each.
            batch_size: the number of sentences per batch; sentences of similar length share a
                batch.

        Returns:
            ``(N, size)``, the vectors of the N words of all sentences, sentence after sentence.

        Raises:
            ConfigError: a sentence has more sub-words than the encoder supports.
        """
        order = sorted(range(len(sentences)), key=lambda at: len(sentences[at]))
        rows: list[Tensor] = [torch.empty(0)] * len(sentences)
        for ids in (order[at : at + batch_size] for at in range(0, len(order), batch_size)):
            for at, vectors in zip(ids, self._batch([list(sentences[at]) for at in ids])):
                rows[at] = vectors
        return torch.cat([torch.empty(0, self.size), *rows])

    def text_vectors(self, texts: Sequence[str], *, batch_size: int = 64) -> NDArray[np.float32]:
        """The vectors of texts, ``(T, size)``, computed once for equal texts.

        Of a text with more sub-words than the encoder supports the first ones are read.

        Arguments:
            texts: the texts.
            batch_size: the number of texts per batch; texts of similar length share a batch.
        """
        if len(self._texts) > _CACHED_TEXTS:
            self._texts.clear()
        new = sorted({*texts} - {*self._texts}, key=lambda text: (len(text), text))
        for at in range(0, len(new), batch_size):
            batch = new[at : at + batch_size]
            self._texts.update(zip(batch, self._text_batch(batch)))
        table = np.empty((len(texts), self.size), np.float32)
        for row, text in enumerate(texts):
            table[row] = self._texts[text]
        return table

    @torch.no_grad()
    def _text_batch(self, texts: list[str]) -> NDArray[np.float32]:
        tokens = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self._limit, return_tensors="pt"
        ).to(self._model.device)
        states: Tensor = self._model(**tokens).last_hidden_state
        mask = tokens["attention_mask"].unsqueeze(-1)
        vectors = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        array: NDArray[np.float32] = vectors.float().cpu().numpy()
        return array

    @torch.no_grad()
    def _batch(self, sentences: list[list[str]]) -> Iterator[Tensor]:
        tokens = self._tokenizer(
            sentences, is_split_into_words=True, padding=True, return_tensors="pt"
        )
        longest = tokens["input_ids"].shape[1]
        if longest > self._limit:
            size = max(len(words) for words in sentences)
            raise ConfigError(
                f"expected at most {self._limit} sub-words in a sentence, which is what the "
                f"encoder reads, got {longest} in one of {size} words; leave out longer sentences"
            )
        states = self._model(**tokens.to(self._model.device)).last_hidden_state.cpu()
        for row, words in enumerate(sentences):
            yield _mean_of_parts(states[row], tokens.word_ids(row), len(words))


def _mean_of_parts(states: Tensor, words: Sequence[object], size: int) -> Tensor:
    """The mean over the rows of each word, ``(parts, d)`` to ``(size, d)``; words may be None."""
    parts = [at for at, word in enumerate(words) if word is not None]
    ids = torch.tensor([words[at] for at in parts], dtype=torch.long)
    sums = states.new_zeros(size, states.shape[1]).index_add_(0, ids, states[parts])
    return sums / torch.bincount(ids, minlength=size).clamp(min=1).unsqueeze(1)


def _check_folder(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise ConfigError(
            f"expected a folder of a pretrained encoder, with config.json, got {folder}; write one "
            "with save_pretrained"
        )
    if not list(folder.glob("*.safetensors")):
        raise ConfigError(
            f"expected weights as .safetensors in {folder}; other formats can run code when they "
            "are read: convert them with save_pretrained(..., safe_serialization=True)"
        )


def _transformers() -> tuple[Any, Any]:
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise ConfigError(
            "a pretrained encoder needs transformers: pip install 'dgltrees[transformers]'"
        ) from None
    return AutoModel, AutoTokenizer

"""Vectors of words in their sentences, and of texts, from a Hugging Face encoder on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.models.fine_tuned import SubwordEncoder
from dgltrees.models.subwords import SubwordTokenizer, read_transformer

_CACHED_TEXTS = 20_000  # the cache is cleared when it has more
_SENTENCES = 256  # or texts, encoded at a time


class PretrainedEncoder:
    """A frozen pretrained encoder: its last hidden states are vectors of words and texts.

    The vector of a word is the mean over its sub-words, or zeros if it has none (such as a control
    character). Vectors of texts (:meth:`text_vectors`) are means over their sub-words and special
    tokens; see :class:`~dgltrees.models.SubwordEncoder`.

    Arguments:
        path: a folder with the encoder's ``config.json``, its weights as safetensors and its
            tokenizer, as written by ``save_pretrained``. Nothing is downloaded, and no code or
            pickle in the folder is run.
        device: device of the encoder.

    Attributes:
        size: the size of a vector.

    Raises:
        ConfigError: transformers is not installed, the folder lacks a file, or the tokenizer does
            not map sub-words to words.
    """

    def __init__(self, path: PathLike, *, device: str = "cpu") -> None:
        transformer = read_transformer(Path(path)).requires_grad_(False).to(device)
        self._tokenizer = SubwordTokenizer(path)
        self.size = self._tokenizer.size
        self._encoder = SubwordEncoder(self.size)
        self._encoder.attach(self._tokenizer, transformer)
        self._encoder.eval()
        self._texts: dict[str, NDArray[np.float32]] = {}

    @torch.no_grad()
    def __call__(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Return the vectors of the words of sentences.

        Arguments:
            sentences: the words of each sentence.

        Returns:
            ``(N, size)``, the vectors of the N words of all sentences, sentence after sentence.

        Raises:
            ConfigError: a sentence has more sub-words than the encoder supports.
        """
        rows = [torch.empty(0, self.size)]
        for at in range(0, len(sentences), _SENTENCES):
            some = sentences[at : at + _SENTENCES]
            ids = torch.from_numpy(self._tokenizer.words(some))
            sizes = torch.tensor([len(words) for words in some])
            rows.append(self._encoder.words(ids, sizes).cpu())
        return torch.cat(rows)

    @torch.no_grad()
    def text_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, ``(T, size)``; equal texts are encoded once.

        Texts that are longer than the encoder supports are truncated.
        """
        if len(self._texts) > _CACHED_TEXTS:
            self._texts.clear()
        new = sorted({*texts} - {*self._texts}, key=lambda text: (len(text), text))
        for at in range(0, len(new), _SENTENCES):
            some = new[at : at + _SENTENCES]
            ids = torch.from_numpy(self._tokenizer.texts(some))
            self._texts.update(zip(some, self._encoder.texts(ids).cpu().numpy()))
        table = np.empty((len(texts), self.size), np.float32)
        for row, text in enumerate(texts):
            table[row] = self._texts[text]
        return table

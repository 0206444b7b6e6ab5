"""Pretrained encoders, frozen or fine-tuned: vectors of words in their sentences, and of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.models.inputs import Input, node_column
from dgltrees.models.subwords import SubwordTokenizer, read_transformer
from dgltrees.settings import Count, checked
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import owner, within

_ROWS = 64  # read at a time, sorted by length, so that few places are empty
_CACHED_TEXTS = 20_000  # the cache is cleared when it has more
_SENTENCES = 256  # or texts, encoded at a time


class SubwordEncoder(nn.Module):
    r"""A transformer that encodes words in sentences, or texts, as means of its last states.

    .. math:: x_w = \frac{1}{|P_w|} \sum_{p \in P_w} s_p

    where :math:`s_p` is the state of sub-word p and :math:`P_w` are the sub-words of a word. Means
    over texts include their special tokens, as in Reimers and Gurevych, "Sentence-BERT" (EMNLP
    2019), section 3. Equal sentences and texts are encoded once.

    The constructor creates no transformer; :meth:`attach` adds it.

    Arguments:
        size: d, the size of a state.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.pad = size, 0
        self.before: list[int] = []
        self.after: list[int] = []

    def attach(self, tokenizer: SubwordTokenizer, transformer: nn.Module) -> None:
        """Add the transformer, and the special tokens and padding of its tokenizer."""
        self.before, self.after, self.pad = tokenizer.before, tokenizer.after, tokenizer.pad
        self.transformer = transformer

    def texts(self, ids: Tensor) -> Tensor:
        """Return the vectors of texts.

        Arguments:
            ids: ``(N, P)`` the sub-words of each text with special tokens, on the CPU, padded with
                -1.

        Returns:
            ``(N, d)``, zeros for texts without sub-words.
        """
        rows, inverse = _distinct(ids.numpy())
        row, column = np.nonzero(rows >= 0)
        return self._means(rows, row, column, row, len(rows))[self._moved(inverse)]

    def words(self, ids: Tensor, sizes: Tensor) -> Tensor:
        """Return the vectors of words in their sentences.

        Arguments:
            ids: ``(N, P)`` the sub-words of each word, sentence after sentence, on the CPU, padded
                with -1.
            sizes: ``(T,)`` the number of words of each sentence.

        Returns:
            ``(N, d)``, zeros if a word has no sub-words.
        """
        table = ids.numpy()
        word, piece = np.nonzero(table >= 0)
        sentence = owner(sizes.numpy())[word]
        counts = np.bincount(sentence, minlength=len(sizes))  # (T,)
        first, last = len(self.before), len(self.after)
        column = first + within(counts)
        rows = np.full((len(sizes), first + int(counts.max(initial=0)) + last), -1, np.int64)
        rows[:, :first] = self.before
        rows[sentence, column] = table[word, piece]
        ends = first + counts[:, None] + np.arange(last)
        rows[np.arange(len(rows))[:, None], ends] = self.after
        rows, inverse = _distinct(rows)
        return self._means(rows, inverse[sentence], column, word, len(table))

    def _means(
        self,
        rows: NDArray[np.int64],
        row: NDArray[np.int64],
        column: NDArray[np.int64],
        group: NDArray[np.int64],
        size: int,
    ) -> Tensor:
        """Return the mean by group of the states at (row, column), ``(K,)`` each: ``(size, d)``."""
        states, starts = self._states(rows)
        places, groups = self._moved(starts[row] + column), self._moved(group)
        sums = states.new_zeros(size, self.size).index_add(0, groups, states[places])
        counts = self._moved(np.bincount(group, minlength=size).clip(min=1))
        return sums / counts.unsqueeze(1)

    def _states(self, rows: NDArray[np.int64]) -> tuple[Tensor, NDArray[np.int64]]:
        """Return the states of all rows, ``(places, d)``, and the first place of each row."""
        lengths = (rows >= 0).sum(1)
        order = np.argsort(lengths, kind="stable")
        order = order[lengths[order] > 0]
        starts, first = np.zeros(len(rows), np.int64), 0
        parameter = next(self.transformer.parameters())
        states = [parameter.new_zeros(0, self.size)]
        for some in (order[at : at + _ROWS] for at in range(0, len(order), _ROWS)):
            part = rows[some, : lengths[some].max()]
            mask = part >= 0
            ids = self._moved(np.where(mask, part, self.pad))
            read = self.transformer(input_ids=ids, attention_mask=self._moved(mask * 1))
            states.append(read.last_hidden_state.flatten(0, 1).to(parameter.dtype))
            starts[some] = first + np.arange(len(some)) * part.shape[1]
            first += part.size
        return torch.cat(states), starts

    def _moved(self, array: NDArray[Any]) -> Tensor:
        device = next(self.transformer.parameters()).device
        return torch.from_numpy(array).to(device, non_blocking=True)

    def extra_repr(self) -> str:
        """Return the size, for ``repr``."""
        return f"d={self.size}"


@checked
class FineTunedWords(Input):
    """Word vectors of a pretrained encoder that is fine-tuned.

    Arguments:
        column: the node column ``(N, P)`` of the sub-words of each word, padded with -1. The nodes
            of a tree that have sub-words are the words of a sentence, in node order.
        size: m, the size of a vector and of the encoder's states.
    """

    def __init__(self, column: str, size: Count) -> None:
        super().__init__()
        self.column, self.size = column, size
        self.encoder = SubwordEncoder(size)

    def forward(self, batch: TreeBatch) -> Tensor:
        """Return the vectors of all nodes, ``(N, m)``, zeros for nodes without a word.

        Raises:
            TreeError: the batch has no such column.
        """
        return self.encoder.words(batch.on_host(node_column(batch, self.column)), batch.sizes)

    def extra_repr(self) -> str:
        """Return the column and the size, for ``repr``."""
        return f"{self.column!r}, m={self.size}"


class PretrainedEncoder:
    """A frozen pretrained encoder: its last hidden states are vectors of words and texts.

    The vector of a word is the mean over its sub-words, or zeros if it has none (such as a control
    character). Vectors of texts (:meth:`texts`) are means over their sub-words and special
    tokens; see :class:`~dgltrees.models.SubwordEncoder`.

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
        transformer = read_transformer(Path(path)).requires_grad_(False)
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
    def texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
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


def fine_tuned_parameters(model: nn.Module) -> Iterator[nn.Parameter]:
    """Yield the parameters of the pretrained encoders of a model."""
    for each in model.modules():
        if isinstance(each, SubwordEncoder):
            yield from each.parameters()


def freeze_layers(transformer: Any, layers: int) -> None:
    """Freeze the lower layers of a transformer, and its embeddings.

    Arguments:
        transformer: a Hugging Face model.
        layers: number of layers to freeze; with 0 nothing is frozen.

    Raises:
        ConfigError: the transformer has no more than this many layers.
    """
    if not layers:
        return
    count = transformer.config.num_hidden_layers
    stacks = (
        name
        for name, module in transformer.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == count
    )
    stack = next(stacks, None)
    if stack is None or layers >= count:
        most = f"below {count}, the number of layers" if stack is not None else "0 (shared layers)"
        raise ConfigError(
            f"expected data.frozen_layers to be {most}, got {layers}; to freeze all layers leave "
            "out data.fine_tune"
        )
    for name, parameter in transformer.named_parameters():
        if name.startswith(f"{stack}.{layers}."):
            return
        parameter.requires_grad_(False)


def _distinct(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows, and the index of each row among them."""
    different, inverse = np.unique(rows, axis=0, return_inverse=True)
    return different, inverse.reshape(-1)

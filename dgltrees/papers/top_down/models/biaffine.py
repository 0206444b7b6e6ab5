"""A graph-based dependency parser, which scores all arcs of a sentence and their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_packed_sequence

from dgltrees.models.heads import wide
from dgltrees.models.inputs import Input
from dgltrees.models.sequence_encoder import packed
from dgltrees.papers.top_down.models.kbest_trees import kbest_projective
from dgltrees.settings import Count, Fraction
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import mask_of


class ArcScores(NamedTuple):
    """The scores of B sentences of at most n words; word 0 is ROOT.

    Attributes:
        arcs: ``(B, n + 1, n + 1)`` the log-probability of head h (column) for word d (row), -inf
            for the word itself and beyond the sentence.
        sizes: ``(B,)`` on the CPU, the number of words of each sentence without ROOT.
        dependents, heads: ``(B, n + 1, a)`` the vectors from which labels are scored.
        labeler: scores labels.
    """

    arcs: Tensor
    sizes: Tensor
    dependents: Tensor
    heads: Tensor
    labeler: Biaffine

    def labels(self, heads: Tensor) -> Tensor:
        """Return the logits of the labels of arcs, ``(B, k, n + 1, L)``."""
        b = torch.arange(len(heads), device=heads.device)[:, None, None]
        dtype = self.labeler.U.dtype  # the scores may have come as single precision
        return self.labeler.pairs(self.dependents.to(dtype), self.heads[b, heads].to(dtype))

    def kbest(self, k: int = 1) -> tuple[Tensor, Tensor]:
        """Return the k projective trees of highest log-probability with one word below ROOT."""
        return kbest_projective(self.arcs.detach(), self.sizes, k)


class Biaffine(nn.Module):
    r"""A score of each pair of a dependent and a head, for each of L labels.

    .. math:: s_l(d, h) = [d; 1]^\top U_l [h; 1]

    Dozat and Manning (2017), equations (2) and (3), whose linear terms and biases are the row and
    the column of U at the ones.

    Arguments:
        size: a, of both vectors.
        labels: L.

    Shapes:
        ``(B, n, a)`` twice to ``(B, n, n, L)``, dependents by rows.
    """

    def __init__(self, size: int, labels: int) -> None:
        super().__init__()
        self.U = nn.Parameter(torch.zeros(size + 1, labels, size + 1))

    def forward(self, dependent: Tensor, head: Tensor) -> Tensor:
        """Return the scores of all pairs."""
        left = self._left(dependent)
        (B, n, labels, _), h = left.shape, _with_one(head)
        return (left.flatten(1, 2) @ h.transpose(1, 2)).reshape(B, n, labels, n).transpose(2, 3)

    def pairs(self, dependent: Tensor, head: Tensor) -> Tensor:
        """Return the scores of k heads per dependent, ``(B, n, a)`` and ``(B, k, n, a)``."""
        h = _with_one(head).permute(0, 2, 3, 1)  # (B, n, a + 1, k)
        return (self._left(dependent) @ h).permute(0, 3, 1, 2)

    def _left(self, dependent: Tensor) -> Tensor:
        """Return the product of the dependents with all U, ``(B, n, L, a + 1)``."""
        product = _with_one(dependent) @ self.U.flatten(1)
        return product.reshape(*dependent.shape[:2], *self.U.shape[1:])


def _with_one(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_ones(*x.shape[:-1], 1)], -1)


class BiaffineParser(nn.Module):
    """The probability of each word's head and label, from a bidirectional LSTM over the words.

    T. Dozat and C. D. Manning, "Deep Biaffine Attention for Neural Dependency Parsing", ICLR 2017.
    Dropout of the inputs drops a whole vector of a word at a time, so that the parser learns to
    work without it, as for an unknown word.

    Arguments:
        inputs: give the vectors of a word, of its ending and so on, which are concatenated.
        labels: L.
        hidden_size: the size of a state of the LSTM per direction.
        layers: the number of layers of the LSTM.
        arc_size: the size of the vectors from which arcs are scored.
        label_size: the size of the vectors from which labels are scored.
        dropout: the probability of dropout of inputs, between layers and before the scores.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        labels: Count,
        *,
        hidden_size: Count = 200,
        layers: Count = 2,
        arc_size: Count = 200,
        label_size: Count = 50,
        dropout: Fraction = 0.33,
    ) -> None:
        super().__init__()
        self.inputs = nn.ModuleList(inputs)
        self.lstm = nn.LSTM(
            sum(each.size for each in inputs),
            hidden_size,
            layers,
            bidirectional=True,
            dropout=dropout if layers > 1 else 0.0,
        )
        sizes = (arc_size, arc_size, label_size, label_size)
        self.views = nn.ModuleList(nn.Linear(2 * hidden_size, size) for size in sizes)
        self.arcs, self.labels = Biaffine(arc_size, 1), Biaffine(label_size, labels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: TreeBatch) -> ArcScores:
        """Return the scores of all arcs of a batch of dependency trees; edges are ignored."""
        x = torch.cat([self._drop_rows(each(batch)) for each in self.inputs], 1)  # (N, m)
        words, _ = packed(x, batch.sizes)
        states, _ = pad_packed_sequence(self.lstm(words)[0], batch_first=True)  # (B, n + 1, 2c)
        views = [self._view(layer, states) for layer in self.views]
        arcs = self.arcs(views[0], views[1]).squeeze(3)
        sizes = batch.sizes - 1
        is_word = mask_of(batch.sizes, arcs.shape[1])
        impossible = ~is_word.unsqueeze(1) | torch.eye(arcs.shape[1], dtype=torch.bool)
        arcs = wide(arcs).masked_fill(impossible.to(arcs.device), -math.inf)
        return ArcScores(torch.log_softmax(arcs, 2), sizes, views[2], views[3], self.labels)

    def _drop_rows(self, x: Tensor) -> Tensor:
        """Dropout that zeroes whole rows."""
        mask: Tensor = self.dropout(x.new_ones(len(x), 1))
        return x * mask

    def _view(self, layer: nn.Module, states: Tensor) -> Tensor:
        view: Tensor = self.dropout(nn.functional.leaky_relu(layer(states), 0.1))
        return view

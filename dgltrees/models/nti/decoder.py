"""A decoder that attends to a tree and generates a sequence of symbols."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dgltrees.cells.initial import Init
from dgltrees.models.encoding import Encoding
from dgltrees.models.nti.attention import AttentionOverTrees
from dgltrees.models.nti.matching import make_lstm
from dgltrees.options import Count, Fraction, NonNegativeInt, checked

__all__ = ["SequenceDecoder"]


@checked
class SequenceDecoder(nn.Module):
    r"""Generates a sequence of symbols from a tree.

    In Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 3, "the
    output can be either a single target or a sequence", without details; this decoder is a design
    of this package. An LSTM starts from the root's state and memory and reads the symbols so far;
    its state is the query to the tree:

    .. math::

        q_t, c_t &= LSTM(E\, y_{t-1}, q_{t-1}, c_{t-1}), \quad
            q_0, c_0 = h_{root}, c_{root} \\
        P(y_t | y_{<t}) &= softmax(W [attention(q_t); q_t] + b)

    Arguments:
        attention: global or tree attention of the encoder's size.
        symbols: V.
        end: the symbol that ends a sequence, and stands before its first.
        dropout: the probability of dropout before the output layer.
        init: how the weights of the LSTM are drawn.
    """

    def __init__(
        self,
        attention: AttentionOverTrees,
        symbols: Count,
        *,
        end: NonNegativeInt = 0,
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        size = attention.size
        self.attention, self.end = attention, end
        self.embedding = nn.Embedding(symbols, size)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.lstm = make_lstm(size, size, init)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(2 * size, symbols)

    def forward(self, encoding: Encoding, targets: Tensor) -> Tensor:
        """The logits of each symbol given those before it, ``(T, L, V)``.

        Arguments:
            encoding: the encoding of T trees.
            targets: ``(T, L)``, the sequences; symbols after the end symbol are ignored.
        """
        before = torch.cat([torch.full_like(targets[:, :1], self.end), targets[:, :-1]], 1)
        logits, _ = self.step(encoding, before, start(encoding))
        return logits

    def step(
        self, encoding: Encoding, symbols: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Read symbols ``(T, L)``; return the logits after each, ``(T, L, V)``, and the state."""
        q, state = self.lstm(self.embedding(symbols), state)  # (T, L, c)
        features = torch.cat([self.attention(q, encoding).h, q], 2)
        return self.output(self.dropout(features)), state

    @torch.no_grad()
    def generate(self, encoding: Encoding, limit: int) -> list[list[int]]:
        """Generate a sequence per tree by greedy decoding, up to the end symbol.

        Arguments:
            encoding: the encoding of T trees.
            limit: the largest number of symbols of a sequence.
        """
        state = start(encoding)
        trees = encoding.batch.num_trees
        symbols = torch.full((trees, 1), self.end, device=encoding.states.device)
        is_open = torch.ones(trees, dtype=torch.bool, device=symbols.device)
        columns = []
        for _ in range(limit):
            logits, state = self.step(encoding, symbols, state)
            symbols = logits[:, -1:].argmax(2)
            columns.append(symbols)
            is_open &= symbols[:, 0] != self.end
            if not is_open.any():
                break
        rows = torch.cat(columns, 1).tolist() if columns else [[] for _ in range(trees)]
        return [row[: row.index(self.end)] if self.end in row else row for row in rows]


def start(encoding: Encoding) -> tuple[Tensor, Tensor]:
    """The states and memories of the roots, each ``(1, T, c)``; zeros if there is no memory."""
    h = encoding.roots.unsqueeze(0).contiguous()
    if encoding.memory is None:
        return h, torch.zeros_like(h)
    return h, encoding.memory.index_select(0, encoding.batch.roots.to(h.device)).unsqueeze(0)

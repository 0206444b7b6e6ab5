"""Tree matching: every node of one tree attends to the other, and an LSTM reads what it finds."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dgltrees.cells.initial import initialize
from dgltrees.models.nti.attention import Attended, AttentionOverTrees, GlobalAttention
from dgltrees.models.nti.encoder import NTIEncoder
from dgltrees.models.nti.encoding import Encoding
from dgltrees.models.nti.sentences import pairs
from dgltrees.trees.batch import TreeBatch

__all__ = ["TreeMatching", "make_lstm"]


class TreeMatching(nn.Module):
    """Tree matching and full tree matching of two sentences.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.1. All
    nodes of the hypothesis, deepest level first and from left to right, attend to the premise's
    tree; the matching LSTM reads the attention vectors, and its last state is what is classified.
    Full matching does it both ways with the same weights and concatenates.

    Arguments:
        inputs: gives every token its vector: ``(S, k)`` of a batch with S nodes.
        encoder: makes trees over the tokens of both sentences.
        attention: global or tree attention of the encoder's size.
        head: makes logits of :attr:`size` numbers.
        full: whether to match both ways.
        root: whether the root of the querying tree is a query too, unless it is the only node; the
            paper says so, its code leaves it out.
        last_step: let the last state of the matching LSTM attend to all earlier ones, as in the
            code, by another global attention.
        dropout: probability of dropout on the attention vectors.
        init: ``"kaiming"`` (normal), ``"xavier"`` or ``"uniform"``, of the LSTM.

    Attributes:
        size: what the head is given: c, or 2 c in full matching.
    """

    def __init__(
        self,
        inputs: nn.Module,
        encoder: NTIEncoder,
        attention: AttentionOverTrees,
        head: nn.Module,
        *,
        full: bool = False,
        root: bool = True,
        last_step: bool = False,
        dropout: float = 0.0,
        init: str = "kaiming",
    ) -> None:
        super().__init__()
        self.input, self.encoder, self.attention, self.head = inputs, encoder, attention, head
        self.full, self.root = full, root
        self.lstm = make_lstm(encoder.size, encoder.size, init)
        self.last = (
            GlobalAttention(encoder.size, score=attention.score.kind, init=init)
            if last_step
            else None
        )
        self.dropout = nn.Dropout(dropout)
        self.size = encoder.size * (2 if full else 1)

    def encode(self, batch: TreeBatch) -> tuple[Encoding, Encoding]:
        """The trees over premises and hypotheses, which a batch holds by turns.

        Raises:
            TreeError: the number of sentences is odd.
        """
        premise, hypothesis = (self.encoder(each) for each in pairs(self.input(batch), batch))
        return premise, hypothesis

    def attend(self, asking: Encoding, asked: Encoding) -> Attended:
        """What the nodes of one tree find in the other, ``(T, Q, c)`` and ``(T, Q, M)``."""
        attended: Attended = self.attention(asking.table.h, asked)
        return attended

    def match(self, asking: Encoding, asked: Encoding) -> Tensor:
        """``(T, c)`` the matching vectors of queries from one tree to the other."""
        found = self.dropout(self.attend(asking, asked).h)
        lengths = asking.batch.sizes
        if not self.root:
            lengths = (lengths - 1).clamp(min=1)
        states, last = _read(self.lstm, found, lengths)
        if self.last is None:
            return last
        place = torch.arange(states.shape[1])
        earlier = place < (lengths - 1).clamp(min=1).unsqueeze(1)
        made: Attended = self.last.over(last.unsqueeze(1), states, ~earlier.to(states.device))
        return made.h.squeeze(1)

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(T / 2, classes)`` logits of all pairs.

        Raises:
            TreeError: the number of sentences is odd.
        """
        premise, hypothesis = self.encode(batch)
        vector = self.match(hypothesis, premise)
        if self.full:
            vector = torch.cat([vector, self.match(premise, hypothesis)], 1)
        logits: Tensor = self.head(vector)
        return logits


def make_lstm(input_size: int, size: int, init: str = "kaiming") -> nn.LSTM:
    """An LSTM of one layer, ``(T, L, input_size)`` to ``(T, L, size)``, its biases zero."""
    lstm = nn.LSTM(input_size, size, batch_first=True)
    for name, parameter in lstm.named_parameters():
        if name.startswith("weight"):
            initialize(parameter, input_size + size, size, init)
        else:
            nn.init.zeros_(parameter)
    return lstm


def _read(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """All states ``(T, L, c)``, and the last of each ``(T, c)``, of ``lengths`` rows each."""
    if bool((lengths == lengths[:1]).all()):
        states, (last, _) = lstm(x[:, : int(lengths[0])])
    else:
        packed, (last, _) = lstm(pack_padded_sequence(x, lengths, True, False))
        states, _ = pad_packed_sequence(packed, batch_first=True)
    return states, last[0]

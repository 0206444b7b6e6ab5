"""Tree matching: the nodes of one tree attend to the other, and an LSTM reads the results."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dgltrees.cells.initial import Init, initialize
from dgltrees.models.heads import ClassHead
from dgltrees.options import Fraction, checked
from dgltrees.papers.nti.models.attention import Attended, AttentionOverTrees, GlobalAttention
from dgltrees.papers.nti.models.encoding import EncodingPair, NTIEncoding
from dgltrees.trees.segments import mask_of

__all__ = ["TreeMatching", "make_lstm"]


@checked
class TreeMatching(ClassHead):
    """A head that classifies two sentences by tree matching or full tree matching.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.1. All
    nodes of the hypothesis, deepest level first and from left to right, attend to the premise's
    tree; the matching LSTM reads the attention vectors, and its last state is classified. Full
    matching does this in both directions with the same weights and concatenates the last states.

    Arguments:
        attention: global or tree attention of the encoder's size c.
        output: makes logits of the last states, of c numbers or in full matching 2 c.
        full: match both ways.
        root_query: let the root of the querying tree attend too, unless it is the only node; the
            paper says so, its code leaves it out.
        last_step: let the last state of the matching LSTM attend to all earlier ones, as in the
            code, by another global attention.
        dropout: the probability of dropout on the attention vectors.
        init: how the weights of the LSTM are drawn.

    Shapes:
        the encodings of ``E`` premises and hypotheses to ``(E, classes)``.
    """

    arity = 2

    def __init__(
        self,
        attention: AttentionOverTrees,
        output: nn.Module,
        *,
        full: bool = False,
        root_query: bool = True,
        last_step: bool = False,
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        self.attention, self.output = attention, output
        self.full, self.root_query = full, root_query
        size = attention.size
        self.lstm = make_lstm(size, size, init)
        score = attention.score.kind
        self.last = GlobalAttention(size, score=score, init=init) if last_step else None
        self.dropout = nn.Dropout(dropout)

    def attend(self, queries: NTIEncoding, memory: NTIEncoding) -> Attended:
        """Attend from the Q nodes of one tree to the M nodes of another, for each pair."""
        return self.attention(queries.table.states, memory)

    def match(self, queries: NTIEncoding, memory: NTIEncoding) -> Tensor:
        """The matching vectors of the trees ``queries``, which attend to ``memory``, ``(E, c)``."""
        vectors = self.dropout(self.attend(queries, memory).h)
        lengths = queries.batch.sizes
        if not self.root_query:
            lengths = (lengths - 1).clamp(min=1)
        states, last = _run(self.lstm, vectors, lengths)
        if self.last is None:
            return last
        earlier = mask_of((lengths - 1).clamp(min=1), states.shape[1])
        attended = self.last.over(last.unsqueeze(1), states, ~earlier.to(states.device))
        return attended.h.squeeze(1)

    def forward(self, pair: EncodingPair) -> Tensor:
        """Compute the logits, ``(E, classes)``."""
        premise, hypothesis = pair
        vector = self.match(hypothesis, premise)
        if self.full:
            vector = torch.cat([vector, self.match(premise, hypothesis)], 1)
        logits: Tensor = self.output(vector)
        return logits


def make_lstm(input_size: int, size: int, init: Init = "kaiming") -> nn.LSTM:
    """An LSTM of one layer, ``(T, L, input_size)`` to ``(T, L, size)``, with biases 0."""
    lstm = nn.LSTM(input_size, size, batch_first=True)
    for name, parameter in lstm.named_parameters():
        if name.startswith("weight"):
            initialize(parameter, input_size + size, size, init)
        else:
            nn.init.zeros_(parameter)
    return lstm


def _run(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """All states, ``(T, L, c)``, and the last ones, ``(T, c)``, of sequences of these lengths."""
    if bool((lengths == lengths[:1]).all()):
        states, (last, _) = lstm(x[:, : int(lengths[0])])
    else:
        packed, (last, _) = lstm(pack_padded_sequence(x, lengths, True, False))
        states, _ = pad_packed_sequence(packed, batch_first=True)
    return states, last[0]

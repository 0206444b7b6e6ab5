"""Language models of streams of text, which are read in consecutive windows."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from dgltrees.cells.initial import uniform
from dgltrees.errors import ConfigError, TreeError
from dgltrees.models.encoder import Encoder
from dgltrees.models.inputs import NodeInput
from dgltrees.models.sequence_encoder import SequenceEncoder, packed
from dgltrees.models.softmax import softmax_nll
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder, RRNetEncoding
from dgltrees.settings import Count, Fraction, NonNegative, checked
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import lasts, owner

State = tuple[Tensor, Tensor]
"""h and c, each ``(layers, B, d)``."""


class LSTMWindow(NamedTuple):
    """A window of each stream, and the state in which the windows start."""

    batch: TreeBatch
    start: State


class LSTMStream(Encoder):
    """An LSTM with the interface of :class:`~dgltrees.papers.rrnet.models.encoder.RRNetEncoder`.

    Dropout has one mask for all steps of a window.

    Arguments:
        inputs: the module that computes the vector of every token.
        hidden_size: d, the size of a state.
        dropout: probability of dropout on the inputs and between the layers.
        layers: number of layers.

    Attributes:
        size: d.
    """

    def __init__(
        self, inputs: NodeInput, hidden_size: Count, *, dropout: Fraction = 0.0, layers: Count = 1
    ) -> None:
        super().__init__()
        self.input, self.size, self.dropout = inputs, hidden_size, dropout
        self.lstm = nn.LSTM(inputs.size, hidden_size, layers)
        uniform(self.lstm, hidden_size**-0.5)

    display_name = SequenceEncoder.display_name

    def initial_state(self, count: int) -> State:
        """Return the state before the first token of ``count`` streams: zeros."""
        like = self.lstm.all_weights[0][0]
        zero = like.new_zeros(self.lstm.num_layers, count, self.size)
        return zero, zero

    def rollout(self, batch: TreeBatch, start: State) -> LSTMWindow:
        """Pair the windows with the state in which they start; an LSTM makes no decisions."""
        return LSTMWindow(batch, start)

    def forward(self, window: LSTMWindow) -> RRNetEncoding:
        """Encode a window of at least one token of each stream."""
        batch = window.batch
        x: Tensor = self.input(batch)
        if self.training and self.dropout:
            mask = nn.functional.dropout(x.new_ones(batch.num_trees, x.shape[1]), self.dropout)
            x = x * mask.index_select(0, batch.tree_of_node)
        sizes = batch.sizes.tolist()
        if min(sizes) == max(sizes):  # all windows but the last of a text; faster
            table = x.view(len(sizes), -1, x.shape[1]).transpose(0, 1)
            states, (h, c) = self.lstm(table, window.start)
            h_tokens = states.transpose(0, 1).flatten(0, 1)
        else:
            tokens, row = packed(x, batch.sizes)
            states, (h, c) = self.lstm(tokens, window.start)
            h_tokens = states.data.index_select(0, row)
        return RRNetEncoding(batch, h_tokens, vectors=h[-1], final=(h.detach(), c.detach()))


PLACE = "place"
"""The node column with the number of tokens before each token in its stream."""

StepReward = Literal["likely", "log_likelihood"]
"""The rewards of a policy at each step; see :class:`StreamLM`."""


class StreamWindow(NamedTuple):
    """A window of each of several streams, with its rollout.

    Attributes:
        start: the number of tokens of each stream before the window.
        sizes: ``(T,)`` int64 on the CPU, the number of its tokens in each stream.
        rollout: the input of the encoder, a :class:`Rollout` or an :class:`LSTMWindow`.
    """

    start: int
    sizes: Tensor
    rollout: Any


class _Carried(NamedTuple):
    """The state of ``streams`` streams after ``place`` tokens of each."""

    streams: int
    place: int
    state: Any


@checked
class StreamLM(nn.Module):
    r"""A language model that predicts the next word of each stream from all words before it.

    Jacob et al. (2018), section 3.3. The word after a token is predicted from the state of the step
    that consumes the token. The operation of this step depends on the previous state and the token,
    so only on the prefix:

    .. math:: P(w_1, \dots, w_n) = \prod_t P(w_t \mid w_1, \dots, w_{t-1}), \quad
        y_t = W_{ho} h_{t-1}

    If only RECUR consumes a token, the merges and splits before a token come after its prediction.
    In public code by an author, every step consumes a token. Operations from the data may depend on
    later words; predictions with them are not those of a language model.

    A batch holds a window of each stream, which continues the previous window: h, c and the stack
    are carried over without gradients. A window at place 0 starts a new text.

    The policy's reward for a step is that of the next word, minus the mean reward over the
    other streams of the batch. This is the average-reward setting for continuing tasks (Sutton and
    Barto, "Reinforcement Learning", 2nd edition, 2018, section 10.3), in which the average must not
    depend on the stream's decisions. A single stream is compared with itself. The return after
    the window is estimated by the value of its last state.

    Arguments:
        encoder: from a window to the states of its tokens.
        tied: use the word vectors as output embeddings; requires m = d.
        dropout: the probability of dropout between the states and the output layer.
        reward: the reward of each step: the log-probability of the next word
            (``"log_likelihood"``), or 1 if its probability is above one half (``"likely"``).
        weight: weight of the policy's loss; that of the words has weight 1.

    Raises:
        ConfigError: the sizes do not match, the reward is unknown, or the encoder has no table of
            word vectors.
    """

    encoder: Any  # only an RRNetEncoder has decisions

    def __init__(
        self,
        encoder: RRNetEncoder | LSTMStream,
        *,
        tied: bool = False,
        dropout: Fraction = 0.0,
        reward: StepReward = "log_likelihood",
        weight: NonNegative = 1.0,
    ) -> None:
        super().__init__()
        table = encoder.input.table
        if table is None:
            raise ConfigError(f"expected learned word vectors, got {type(encoder.input).__name__}")
        rows, size = cast(Tensor, table).shape
        if tied and size != encoder.size:
            raise ConfigError(
                f"expected model.embedding to be {encoder.size}, model.hidden_size, with "
                f"model.tied, got {size}; use equal sizes, or model.tied false"
            )
        self.encoder, self.reward, self.weight = encoder, reward, weight
        self.dropout = nn.Dropout(dropout)
        uniform(encoder.input)
        self.W_ho = (
            None if tied else nn.Parameter(torch.empty(rows, encoder.size).uniform_(-0.1, 0.1))
        )
        self.carried: _Carried | None = None

    @property
    def output(self) -> Tensor:
        """Return the output embeddings, ``(V, d)``."""
        table = self.encoder.input.table
        assert table is not None
        return table if self.W_ho is None else self.W_ho

    def rollout(self, batch: TreeBatch) -> StreamWindow:
        """Decide the operations of a window.

        Raises:
            TreeError: the window does not follow the one before it.
        """
        start = int(batch.on_host(batch.ndata[PLACE])[0])
        state = self._start(batch.num_trees, start)
        return StreamWindow(start, batch.sizes, self.encoder.rollout(batch, state))

    def forward(self, window: StreamWindow, targets: Tensor) -> Tensor:
        """Compute the loss at each token, ``(S,)``, and keep the final state for the next window.

        Arguments:
            window: a :meth:`rollout`.
            targets: ``(S,)`` the word after each token.
        """
        encoding = self._encode(window)
        if encoding.decisions is None:
            return self._nll(encoding, targets)
        next_tokens = targets.index_select(0, lasts(window.sizes).to(targets.device))
        encoding = self.encoder.with_bootstrap(encoding, window.rollout, next_tokens)
        nll = self._nll(encoding, targets)
        losses: Tensor = self.encoder.token_losses(encoding, self._rewards(nll, window.sizes))
        return nll + self.weight * losses

    def outputs(self, batch: TreeBatch, targets: Tensor) -> dict[str, Tensor]:
        """Compute the ``loss`` of each next word, and counts of operations, ``(S,)`` each.

        The counts since the previous word are ``splits`` and ``merges``, and ``gave``, the
        operations from the data; -1 for an encoder without operations.
        """
        encoding = self._encode(self.rollout(batch))
        counts = {name: torch.full_like(targets, -1) for name in ("splits", "merges", "gave")}
        if encoding.operations is not None:
            counts = self.encoder.token_operations(encoding)
        return {"loss": self._nll(encoding, targets), **counts}

    def _encode(self, window: StreamWindow) -> RRNetEncoding:
        """Encode a window, and keep the final state for the next window."""
        encoding: RRNetEncoding = self.encoder(window.rollout)
        streams = len(window.sizes)
        stop = window.start + int(window.sizes.sum()) // streams
        self.carried = _Carried(streams, stop, encoding.final)
        return encoding

    def _nll(self, encoding: RRNetEncoding, targets: Tensor) -> Tensor:
        """Return the negative log-likelihood of the next words, ``(S,)``."""
        return softmax_nll(self.dropout(encoding.tokens), self.output, targets)

    def _start(self, streams: int, place: int) -> Any:
        """Return the state in which a window begins."""
        if place == 0:
            return self.encoder.initial_state(streams)
        last = self.carried
        if last is None or (last.streams, last.place) != (streams, place):
            got = "none" if last is None else f"{last.streams} streams at token {last.place}"
            raise TreeError(
                f"expected windows in order, got those of {streams} streams at token {place} after "
                f"{got}; begin at token 0"
            )
        return last.state

    def _rewards(self, nll: Tensor, sizes: Tensor) -> Tensor:
        """Compute the reward of each step minus the mean over the other streams, ``(S,)``.

        ``sizes`` ``(T,)``, on the CPU, are the numbers of steps of the streams.
        """
        nll = nll.detach()
        rewards = (torch.exp(-nll) > 0.5).to(nll.dtype) if self.reward == "likely" else -nll
        if len(sizes) == 1:
            return rewards - rewards.mean()
        stream = owner(sizes).to(rewards.device)
        sums = rewards.new_zeros(len(sizes)).index_add(0, stream, rewards)
        others = (sums.sum() - sums) / (len(rewards) - sizes).to(sums)
        return rewards - others.index_select(0, stream)

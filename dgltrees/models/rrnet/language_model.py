"""Language models that read streams of text window by window, and never look ahead."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Union

import torch
from torch import Tensor, nn

from dgltrees.cells.top_down import uniform
from dgltrees.errors import ConfigError, TreeError
from dgltrees.models.inputs import WordEmbedding
from dgltrees.models.language_model.softmax import softmax_nll
from dgltrees.models.rrnet.encoder import RRNetEncoder
from dgltrees.models.rrnet.lstm_stream import LSTMStream
from dgltrees.models.rrnet.sequences import step_sizes
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import lasts

__all__ = ["PLACE", "STEP_REWARDS", "StreamLM"]

PLACE = "place"
"""The node column that says how many tokens of its stream come before each token."""

STEP_REWARDS = ("likely", "log_likelihood")


class _Carried(NamedTuple):
    """The state in which ``streams`` streams are after ``place`` tokens of each."""

    streams: int
    place: int
    state: Any


class StreamLM(nn.Module):
    r"""The next word of each stream, read right after a word has been consumed.

    Jacob et al. (2018), section 3.3. Every step consumes a token, as in public code by an author;
    what is done with it is decided from the state before it and the token itself, so from the
    prefix alone:

    .. math:: P(w_1, \dots, w_n) = \prod_t P(w_t \mid w_1, \dots, w_{t-1}), \quad
        y_t = W_{ho} h_{t-1}

    A batch holds a window of each stream, which goes on where the one before it ended: h, c and the
    stack are carried over, and no gradient is. A window with place 0 begins anew.

    The policy's reward for a step is that of the word right after it, less the mean over the
    window: a text goes on and on, so what counts is how much better than usual it goes (Sutton and
    Barto, "Reinforcement Learning", 2nd edition, 2018, section 10.3). What comes after the window
    counts by the value of the state in which it ends.

    Arguments:
        reader: reads tokens.
        tied: the output embeddings are the word vectors, which needs m = d.
        dropout: between the states and the output layer.
        reward: of each step, the next word's ``"log_likelihood"``, or 1 for a word with a
            probability above one half (``"likely"``).
        weight: of the policy's loss beside that of the words.

    Raises:
        ConfigError: the sizes do not fit, there is no such reward, or the reader is given vectors.
    """

    def __init__(
        self,
        reader: Union[RRNetEncoder, LSTMStream],
        *,
        tied: bool = False,
        dropout: float = 0.0,
        reward: str = "log_likelihood",
        weight: float = 1.0,
    ) -> None:
        super().__init__()
        table = reader.input
        if not isinstance(table, WordEmbedding):
            raise ConfigError(f"expected learned word vectors, got {type(table).__name__}")
        if reward not in STEP_REWARDS:
            raise ConfigError(
                f"expected reward to be one of {', '.join(STEP_REWARDS)} for language models, got "
                f"{reward!r}"
            )
        if tied and table.size != reader.size:
            raise ConfigError(
                f"expected word vectors of the size {reader.size} of the states to tie them to the "
                f"output layer, got size {table.size}"
            )
        self.reader, self.reward, self.weight = reader, reward, weight
        self.dropout = nn.Dropout(dropout)
        uniform(table)
        shape = table.rows, reader.size
        self.W_ho = None if tied else nn.Parameter(torch.empty(shape).uniform_(-0.1, 0.1))
        self.carried: Optional[_Carried] = None

    @property
    def output(self) -> Tensor:
        """``(V, d)`` the output embeddings."""
        if self.W_ho is not None:
            return self.W_ho
        assert isinstance(self.reader.input, WordEmbedding)
        return self.reader.input.weight

    @property
    def updates(self) -> int:
        """How often to learn from one window."""
        return self.reader.updates

    def rollout(self, batch: TreeBatch) -> tuple[int, Any]:
        """The place of a window, and what is decided about it.

        Raises:
            TreeError: the window does not follow the one before it.
        """
        place = int(batch.on_host(batch.ndata[PLACE])[0])
        return place, self.reader.rollout(batch, self._start(batch.num_trees, place))

    @torch.no_grad()
    def rollouts(self, batch: TreeBatch, targets: Tensor) -> list[tuple[int, Any]]:
        """What is learned from a window, one after the other.

        Words are learned the first time, decisions each time; the later times from the rewards and
        values of the beginning.
        """
        place, rollout = window = self.rollout(batch)
        if self.updates == 1:
            return [window]
        reading = self._going_on(self._read(window), rollout, targets)
        rewards = self._rewards(self._nll(reading, targets))
        later = place, reading.learned_again(rollout, rewards)
        return [window, *[later] * (self.updates - 1)]

    def forward(self, window: tuple[int, Any], targets: Tensor) -> Tensor:
        """``(S,)`` what is learned to be small; the state at the end is carried over.

        Arguments:
            window: of :meth:`rollout`, or of the :meth:`rollouts`.
            targets: ``(S,)`` the word after each token.
        """
        reading, rollout = self._read(window), window[1]
        if reading.decisions is None or not isinstance(self.reader, RRNetEncoder):
            return self._nll(reading, targets)
        if rollout.rewards is not None:
            return self.weight * self.reader.step_losses(reading, rollout.rewards)
        reading = self._going_on(reading, rollout, targets)
        nll = self._nll(reading, targets)
        return nll + self.weight * self.reader.step_losses(reading, self._rewards(nll))

    def outputs(self, batch: TreeBatch, targets: Tensor) -> tuple[Tensor, Tensor]:
        """``(S,)`` the loss of each next word, and what was done right before, -1 if nothing."""
        reading = self._read(self.rollout(batch))
        nll, done = self._nll(reading, targets), reading.operations
        return nll, torch.full_like(targets, -1) if done is None else done

    def _read(self, window: tuple[int, Any]) -> Any:
        """What was read; the state at the end is carried over."""
        place, rollout = window
        reading = self.reader(rollout)
        decides = isinstance(self.reader, RRNetEncoder)
        sizes = step_sizes(rollout.graph) if decides else rollout.batch.sizes
        ends = place + int(sizes.sum()) // len(sizes)
        self.carried = _Carried(len(sizes), ends, reading.after)
        return reading

    def _going_on(self, reading: Any, rollout: Any, targets: Tensor) -> Any:
        """A reading whose decisions know the value of the state that the window leads to."""
        ends = lasts(step_sizes(rollout.graph)).to(targets.device)
        going_on: Any = self.reader.going_on
        return going_on(reading, rollout, targets.index_select(0, ends))

    def _nll(self, reading: Any, targets: Tensor) -> Tensor:
        """``(S,)`` the negative log-likelihood of the next words."""
        return softmax_nll(self.dropout(reading.along), self.output, targets)

    def _start(self, streams: int, place: int) -> Any:
        """The state in which a window begins."""
        if place == 0:
            return self.reader.begin(streams)
        last = self.carried
        if last is None or (last.streams, last.place) != (streams, place):
            there = "none" if last is None else f"{last.streams} streams at token {last.place}"
            raise TreeError(
                f"expected windows in order, got those of {streams} streams at token {place} after "
                f"{there}; begin at token 0"
            )
        return last.state

    def _rewards(self, nll: Tensor) -> Tensor:
        """``(S,)``, of which the mean is 0."""
        nll = nll.detach()
        rewards = (torch.exp(-nll) > 0.5).to(nll.dtype) if self.reward == "likely" else -nll
        return rewards - rewards.mean()

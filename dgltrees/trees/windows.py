"""A long text as streams that are read side by side, window by window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError, TreeError

__all__ = ["WindowSampler"]


class WindowSampler:
    """Cuts a text into windows; those of a batch go on where those of the batch before it ended.

    The text is cut into streams of equal length, or one token more, and each of them into windows.
    The last window of a stream takes the odd tokens, one more than asked for at most.

    Arguments:
        tokens: N, how many the text has.
        streams: B, of which a batch has a window each.
        window: T, the tokens of each window.

    Raises:
        ConfigError: ``streams`` or ``window`` is not positive.
        TreeError: the text has less than two tokens for each stream.
    """

    def __init__(self, tokens: int, *, streams: int, window: int) -> None:
        for name, value in (("streams", streams), ("window", window)):
            if value < 1:
                raise ConfigError(f"expected {name} to be at least 1, got {value}")
        if tokens < 2 * streams:
            raise TreeError(
                f"expected a text of at least 2 tokens for each of {streams} streams, got "
                f"{tokens} tokens; take fewer streams (training.batch_size) or a longer text"
            )
        self.starts = np.arange(streams + 1) * tokens // streams  # (B + 1,)
        self.window = window

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch: all are alike."""

    def batches(self) -> list[NDArray[np.int64]]:
        """Of each batch the places of its tokens in the text: ``(B, T)``, -1 behind the last."""
        starts, ends = self.starts[:-1, None], self.starts[1:, None]
        shortest = int((ends - starts).min())
        cuts = [*range(0, shortest, self.window), int((ends - starts).max())]
        return [self._places(starts, ends, a, b) for a, b in zip(cuts, cuts[1:])]

    @staticmethod
    def _places(
        starts: NDArray[np.int64], ends: NDArray[np.int64], begin: int, end: int
    ) -> NDArray[np.int64]:
        places = starts + np.arange(begin, end)
        return np.where(places < ends, places, -1)

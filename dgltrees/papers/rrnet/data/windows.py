"""Windows of a long text, for truncated backpropagation through time."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import ConfigError, TreeError


class WindowSampler:
    """A sampler of windows of one long text; each batch continues the previous windows.

    The text is divided into streams whose lengths differ by at most one token, and each stream into
    windows. A batch has one window per stream. The last window of a stream has the remaining
    tokens, at most one more than the others.

    Arguments:
        tokens: N, the number of tokens of the text.
        streams: B, the number of streams.
        window: T, the number of tokens of each window.

    Raises:
        ConfigError: ``streams`` or ``window`` is not positive.
        TreeError: the text has less than two tokens per stream.
    """

    def __init__(self, tokens: int, *, streams: int, window: int) -> None:
        for name, value in (("streams", streams), ("window", window)):
            if value < 1:
                raise ConfigError(f"expected {name} to be at least 1, got {value}")
        if tokens < 2 * streams:
            raise TreeError(
                f"expected at least {2 * streams} tokens, 2 per stream, got {tokens}; use fewer "
                "streams (training.batch_size) or more text"
            )
        self.offsets = np.arange(streams + 1) * tokens // streams  # (B + 1,)
        self.window = window

    def set_epoch(self, epoch: int) -> None:
        """Do nothing: all epochs have the same batches."""

    def batches(self) -> list[NDArray[np.int64]]:
        """Return the batches: the indices of their tokens, ``(B, T)``, -1 after a stream's end."""
        begins, ends = self.offsets[:-1, None], self.offsets[1:, None]  # (B, 1)
        shortest, longest = int((ends - begins).min()), int((ends - begins).max())
        cuts = [*range(0, shortest, self.window), longest]
        windows = [begins + np.arange(first, stop) for first, stop in itertools.pairwise(cuts)]
        return [np.where(tokens < ends, tokens, -1) for tokens in windows]

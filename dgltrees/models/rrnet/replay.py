"""What was read before, to be learned from again."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError

__all__ = ["Remembered", "Replay"]


class Remembered:
    """Some sentences, one after the other.

    Attributes:
        tokens: ``(S,)`` ids of their tokens.
        operations: ``(S,)`` what was done at each.
        rewards: ``(S,)`` what came right after.
        sizes: ``(T,)`` int64 on the CPU, the tokens of each sentence.
    """

    def __init__(self, tokens: Tensor, operations: Tensor, rewards: Tensor, sizes: Tensor) -> None:
        self.tokens, self.operations, self.rewards = tokens, operations, rewards
        self.sizes = sizes


class Replay(nn.Module):
    """The last sentences that were read, with what was done and earned: a replay memory.

    Mnih et al., "Playing Atari with Deep Reinforcement Learning" (2013), section 4. What it holds
    is part of the module's state, so that a run goes on with it.

    Arguments:
        capacity: sentences to remember.

    Raises:
        ConfigError: the capacity is not positive.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__()
        if capacity < 1:
            raise ConfigError(f"expected a replay memory of at least 1 sentence, got {capacity}")
        self.capacity = capacity
        self.table = torch.zeros(0, 0, 3, dtype=torch.float64)  # (R, L, 3), oldest first
        self.lengths = torch.zeros(0, dtype=torch.long)  # (R,)

    def __len__(self) -> int:
        return len(self.lengths)

    def remember(self, new: Remembered) -> None:
        """Take in sentences; the oldest make room."""
        columns = (new.tokens, new.operations, new.rewards)
        flat = torch.stack([column.detach().cpu().double() for column in columns], 1)  # (S, 3)
        rows = nn.utils.rnn.pad_sequence(
            list(flat.split_with_sizes(new.sizes.tolist())), batch_first=True
        )
        longest = max(rows.shape[1], self.table.shape[1])
        table = torch.cat([_widened(self.table, longest), _widened(rows, longest)])
        self.table = table[-self.capacity :].clone()
        self.lengths = torch.cat([self.lengths, new.sizes])[-self.capacity :]

    def draw(self, count: int, device: torch.device) -> Optional[Remembered]:
        """At most ``count`` different sentences, drawn evenly; None if there is none."""
        if not len(self):
            return None
        chosen = torch.randperm(len(self))[:count]
        sizes = self.lengths[chosen]
        there = torch.arange(self.table.shape[1])[None, :] < sizes[:, None]
        tokens, operations, rewards = self.table[chosen][there].to(device).unbind(1)
        return Remembered(tokens.long(), operations.long(), rewards, sizes)

    def get_extra_state(self) -> Tensor:
        """``(R, 3 L + 1)``: lengths, and the table."""
        return torch.cat([self.lengths[:, None].double(), self.table.flatten(1)], 1)

    def set_extra_state(self, state: Tensor) -> None:
        """Put back what :meth:`get_extra_state` gave."""
        state = state.cpu()
        self.lengths = state[:, 0].long()
        self.table = state[:, 1:].reshape(len(state), -1, 3) if len(state) else self.table[:0]


def _widened(table: Tensor, length: int) -> Tensor:
    """Rows with zeros behind, up to a length."""
    return nn.functional.pad(table, (0, 0, 0, length - table.shape[1]))

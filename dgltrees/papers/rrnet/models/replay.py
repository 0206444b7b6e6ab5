"""A replay memory of sentences, their operations and rewards."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dgltrees.settings import Count, checked
from dgltrees.trees.segments import mask_of

__all__ = ["Replay", "Trajectories"]


class Trajectories(NamedTuple):
    """The operations and rewards of T sentences, one sentence after the other.

    Attributes:
        tokens: ``(S,)``, the ids of the tokens.
        operations: ``(S,)``, the operation at each token.
        rewards: ``(S,)``, the reward after each operation.
        sizes: ``(T,)`` int64 on the CPU, the number of tokens of each sentence.
    """

    tokens: Tensor
    operations: Tensor
    rewards: Tensor
    sizes: Tensor


@checked
class Replay(nn.Module):
    """The trajectories of the last sentences.

    Mnih et al., "Playing Atari with Deep Reinforcement Learning" (2013), section 4. They are part
    of the module's state, so that a resumed run keeps them.

    Arguments:
        capacity: the number of sentences; older ones are dropped.

    Raises:
        ConfigError: the capacity is not positive.
    """

    def __init__(self, capacity: Count) -> None:
        super().__init__()
        self.capacity = capacity
        self.table = torch.zeros(0, 0, 3, dtype=torch.float64)  # (R, L, 3), oldest first
        self.lengths = torch.zeros(0, dtype=torch.long)  # (R,)

    def __len__(self) -> int:
        return len(self.lengths)

    def add(self, new: Trajectories) -> None:
        """Add sentences; beyond the capacity the oldest are dropped."""
        flat = torch.stack([column.detach().cpu().double() for column in new[:3]], 1)  # (S, 3)
        rows = nn.utils.rnn.pad_sequence(
            list(flat.split_with_sizes(new.sizes.tolist())), batch_first=True
        )
        longest = max(rows.shape[1], self.table.shape[1])
        table = torch.cat([_padded(self.table, longest), _padded(rows, longest)])
        self.table = table[-self.capacity :].clone()
        self.lengths = torch.cat([self.lengths, new.sizes])[-self.capacity :]

    def draw(self, count: int, device: torch.device) -> Trajectories | None:
        """Draw at most ``count`` different sentences uniformly; None if the memory is empty."""
        if not len(self):
            return None
        chosen = torch.randperm(len(self))[:count]
        sizes = self.lengths[chosen]
        mask = mask_of(sizes, self.table.shape[1])
        tokens, operations, rewards = self.table[chosen][mask].to(device).unbind(1)
        return Trajectories(tokens.long(), operations.long(), rewards, sizes)

    def get_extra_state(self) -> Tensor:
        """``(R, 3 L + 1)``: lengths, and the table."""
        return torch.cat([self.lengths[:, None].double(), self.table.flatten(1)], 1)

    def set_extra_state(self, state: Tensor) -> None:
        """Restore what :meth:`get_extra_state` returned."""
        state = state.cpu()
        self.lengths = state[:, 0].long()
        self.table = state[:, 1:].reshape(len(state), -1, 3) if len(state) else self.table[:0]


def _padded(table: Tensor, length: int) -> Tensor:
    """Pad rows with zeros to a length."""
    return nn.functional.pad(table, (0, 0, 0, length - table.shape[1]))

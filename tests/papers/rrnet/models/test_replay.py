from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from dgltrees.errors import ConfigError
from dgltrees.papers.rrnet.models.objectives import Replay, Trajectories

CPU = torch.device("cpu")


def sentences(*lengths: int, first: int = 0) -> Trajectories:
    count = sum(lengths)
    tokens = torch.arange(first, first + count)
    return Trajectories(tokens, tokens % 3 + 1, tokens / 8, torch.tensor(lengths))


def by_first_token(memory: Replay) -> list[tuple[int, ...]]:
    got = memory.draw(len(memory), CPU)
    assert_close(got.operations, got.tokens % 3 + 1)
    assert_close(got.rewards, got.tokens.double() / 8)
    return sorted(tuple(part.tolist()) for part in got.tokens.split(got.sizes.tolist()))


def test_what_was_added_is_drawn() -> None:
    memory = Replay(10)
    assert memory.draw(4, CPU) is None
    memory.add(sentences(3, 1))
    memory.add(sentences(5, first=10))
    assert by_first_token(memory) == [(0, 1, 2), (3,), (10, 11, 12, 13, 14)]
    assert len(memory.draw(2, CPU).sizes) == 2


def test_the_oldest_make_room() -> None:
    memory = Replay(3)
    memory.add(sentences(2, 2))
    memory.add(sentences(1, 3, first=10))
    assert by_first_token(memory) == [(2, 3), (10,), (11, 12, 13)]


def test_draws_are_even() -> None:
    torch.manual_seed(0)
    memory = Replay(4)
    memory.add(sentences(1, 1, 1, 1))
    drawn = torch.cat([memory.draw(1, CPU).tokens for _ in range(400)])
    assert torch.bincount(drawn, minlength=4).min() > 70


def test_it_is_part_of_the_state() -> None:
    memory = Replay(5)
    memory.add(sentences(3, 1, 2))
    other = Replay(5)
    other.load_state_dict(memory.state_dict())
    assert by_first_token(other) == by_first_token(memory)
    other.load_state_dict(Replay(5).state_dict())
    assert other.draw(1, CPU) is None


def test_a_memory_holds_something() -> None:
    with pytest.raises(ConfigError, match="capacity to be a whole number of at least 1, got 0"):
        Replay(0)

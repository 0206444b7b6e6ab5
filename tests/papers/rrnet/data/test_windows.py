"""Windows of a long text."""

import numpy as np
import pytest

from dgltrees.errors import ConfigError, TreeError
from dgltrees.papers.rrnet.data.windows import WindowSampler


@pytest.mark.parametrize("tokens", [8, 9, 11, 48, 49, 51, 60, 61])
@pytest.mark.parametrize("window", [1, 5, 100])
def test_every_token_is_in_one_window_of_its_stream(tokens: int, window: int) -> None:
    batches = WindowSampler(tokens, streams=4, window=window).batches()
    assert all(batch.shape[0] == 4 for batch in batches)
    streams = [np.concatenate([batch[b] for batch in batches]) for b in range(4)]
    streams = [stream[stream >= 0] for stream in streams]
    assert np.concatenate(streams).tolist() == list(range(tokens))
    lengths = [len(stream) for stream in streams]
    assert max(lengths) - min(lengths) <= 1
    assert all(batch.shape[1] == window for batch in batches[:-1])
    assert all((batch >= 0).any(1).all() and batch.shape[1] <= window + 1 for batch in batches)


def test_all_epochs_have_the_same_batches() -> None:
    sampler = WindowSampler(20, streams=2, window=3)
    first = [batch.tolist() for batch in sampler.batches()]
    sampler.set_epoch(3)
    assert [batch.tolist() for batch in sampler.batches()] == first


def test_short_texts_and_sizes_that_are_not_positive() -> None:
    message = r"at least 8 tokens, 2 per stream, got 7; use fewer streams"
    with pytest.raises(TreeError, match=message):
        WindowSampler(7, streams=4, window=3)
    for name in ("streams", "window"):
        with pytest.raises(ConfigError, match=f"expected {name} to be at least 1, got 0"):
            WindowSampler(7, **{"streams": 1, "window": 1, name: 0})

"""The cache of what follows from the structure of a batch."""

import numpy as np
import torch
from torch import Tensor

from dgltrees.trees import Forest


def test_a_result_is_computed_once_per_key_values_and_device() -> None:
    calls: list[str] = []

    def make(name: str) -> Tensor:
        calls.append(name)
        return torch.arange(3)

    batch = Forest.build([-1, 0, 0]).batch()
    types = np.array([0, 1, 0])
    first = batch.cache.get("plan", lambda: make("first"), values=[types, None])
    assert (
        batch.with_data({}).cache.get("plan", lambda: make("again"), values=[types, None]) is first
    )
    types[0] = 2  # the cache holds a copy
    batch.to("cpu").cache.get("plan", lambda: make("other types"), values=[types, None])
    batch.cache.get("plan", lambda: make("both"), values=[types, types])
    batch.cache.get(("plan", 5), lambda: make("other key"), values=[types, None])
    batch.reversed().cache.get("plan", lambda: make("reversed"), values=[types, None])
    assert calls == ["first", "other types", "both", "other key", "reversed"]
    moved = [
        batch.cache.get(("plan", 5), lambda: make("moved"), values=[types, None], device="meta")
        for _ in range(2)
    ]
    assert moved[0] is moved[1]
    assert moved[0].device.type == "meta"
    assert len(calls) == 5


def test_none_is_a_result() -> None:
    batch = Forest.build([-1]).batch()
    results: list[Tensor | None] = [None, torch.zeros(1)]
    for device in (None, "cpu", "meta"):
        assert batch.cache.get("plan", lambda: results.pop(0), device=device) is None
    assert len(results) == 1


def test_what_is_made_without_gradients_serves_training_too() -> None:
    batch = Forest.build([-1]).batch()
    with torch.inference_mode():
        made = batch.cache.get("plan", lambda: torch.zeros(1))
        made = [made, batch.roots, batch.tree_of_node]
    assert not any(each.is_inference() for each in made)


def test_a_batch_reversed_twice_has_the_cache_of_the_first() -> None:
    batch = Forest.build([-1, 0]).batch()
    assert batch.reversed().reversed().cache is batch.cache
    assert batch.reversed().cache is batch.reversed().cache is not batch.cache

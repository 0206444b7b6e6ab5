"""A cache of results that depend on the structure of a batch: schedules, plans, indices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from numpy.typing import NDArray

__all__ = ["Cache"]

T = TypeVar("T")
Values = Sequence[NDArray[Any] | None]

_CPU = torch.device("cpu")


class Cache:
    """Results that depend only on the structure of a batch, each computed once.

    Every batch has one as ``batch.cache``. Batches of the same structure share it: those that
    ``batch.to``, ``batch.with_data`` and ``batch.pin_memory`` return.

    >>> from dgltrees.trees import Forest
    >>> batch = Forest.build([-1, 0, 0]).batch()
    >>> batch.cache.get("in_degree", lambda: torch.bincount(batch.dst, minlength=batch.num_nodes))
    tensor([2, 0, 0])
    """

    def __init__(self) -> None:
        self._entries: dict[Hashable, list[_Entry]] = {}

    def get(
        self,
        key: Hashable,
        make: Callable[[], T],
        *,
        values: Values = (),
        device: str | torch.device | None = None,
    ) -> T:
        """The cached result of ``make()``, which is only called the first time.

        Arguments:
            key: the name of the result and the options it depends on, such as
                ``("schedule", slots)``.
            make: computes the result on the CPU; the result may be None.
            values: arrays (or None) that the result depends on besides the structure; there is one
                result for each combination of their values.
            device: the device to which the result's method ``to`` moves it, once per device; None
                for no move.
        """
        entries = self._entries.setdefault(key, [])
        entry = next((entry for entry in entries if entry.depends_on(values)), None)
        if entry is None:
            if torch.is_inference_mode_enabled():  # training may need the same tensors later
                make = torch.inference_mode(False)(make)
            entry = _Entry([None if v is None else v.copy() for v in values], {_CPU: make()})
            entries.append(entry)
        result: T = entry.on(_CPU if device is None else torch.device(device))
        return result


class _Entry(NamedTuple):
    """The copies of one result by device, and the values it depends on."""

    values: Values
    by_device: dict[torch.device, Any]

    def depends_on(self, values: Values) -> bool:
        """Whether the result was computed for ``values``."""
        return all(map(_equal, self.values, values))

    def on(self, device: torch.device) -> Any:
        """The result on a device."""
        if device not in self.by_device:
            result = self.by_device[_CPU]
            self.by_device[device] = None if result is None else result.to(device)
        return self.by_device[device]


def _equal(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.shape == second.shape and bool((first == second).all())

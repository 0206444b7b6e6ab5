"""Plans that are made once a batch, and once a device."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Optional, Protocol, TypeVar, Union

import numpy as np
import torch
from numpy.typing import NDArray

from dgltrees.trees.batch import TreeBatch

__all__ = ["kept"]


class _Plan(Protocol):
    def to(self: P, device: Union[str, torch.device]) -> P:
        """The same on a device."""
        ...


P = TypeVar("P", bound=_Plan)


def kept(
    batch: TreeBatch,
    name: Hashable,
    values: NDArray[np.int64],
    make: Callable[[], Optional[P]],
    device: Union[str, torch.device],
) -> Optional[P]:
    """What ``make`` gives, on a device; made at the first call and kept with the batch.

    Arguments:
        batch: the graph.
        name: the kind of plan.
        values: ``(N,)`` what else it is made of; with other values another one is made.
        make: makes it on the CPU, or gives None where there is none.
        device: where its tensors are wanted.
    """
    known: list[tuple[NDArray[np.int64], dict[torch.device, Optional[P]]]]
    known = batch.memo.setdefault(name, [])
    plans = next((plans for made_for, plans in known if np.array_equal(values, made_for)), None)
    if plans is None:
        with torch.inference_mode(False):  # training may want the plan too
            plans = {torch.device("cpu"): make()}
        known.append((values.copy(), plans))
    device = torch.device(device)
    if device not in plans:
        plan = plans[torch.device("cpu")]
        plans[device] = None if plan is None else plan.to(device)
    return plans[device]

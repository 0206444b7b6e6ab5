"""Which sentences a policy is told the operations of."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import starts, within

__all__ = ["told_tokens"]

_ODD = np.uint64(0x9E3779B97F4A7C15)


def told_tokens(batch: TreeBatch, column: str, part: float) -> Tensor:
    """``(S,)`` bool: the tokens of a part of the sentences, the same ones every time.

    Which ones is decided by a hash of their tokens, the ids of ``column``.
    """
    ids, sizes = batch.on_host(batch.ndata[column]).numpy(), batch.sizes.numpy()
    place = within(sizes).astype(np.uint64)
    mixed = (ids.astype(np.uint64) + np.uint64(1)) * (place * _ODD + np.uint64(1)) ** np.uint64(3)
    hashed = np.add.reduceat(mixed, starts(sizes)) * _ODD if len(sizes) else mixed
    chosen = (hashed >> np.uint64(32)) < np.uint64(round(part * 2**32))
    return torch.from_numpy(np.repeat(chosen, sizes)).to(batch.device)

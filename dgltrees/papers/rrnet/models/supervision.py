"""The sentences whose operations in the data supervise the policy in training."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import starts, within

__all__ = ["supervised_tokens"]

_ODD = np.uint64(0x9E3779B97F4A7C15)


def supervised_tokens(batch: TreeBatch, column: str, fraction: float) -> Tensor:
    """Choose about this fraction of the sentences, and return a mask of their tokens, ``(S,)``.

    A sentence is chosen by a hash of its tokens, so that the choice is the same in every epoch.

    Arguments:
        batch: sentences, ``S`` tokens in all.
        column: the node column of token ids.
        fraction: the fraction of sentences, 0 to 1.
    """
    ids, sizes = batch.on_host(batch.ndata[column]).numpy(), batch.sizes.numpy()
    place = within(sizes).astype(np.uint64)
    mixed = (ids.astype(np.uint64) + np.uint64(1)) * (place * _ODD + np.uint64(1)) ** np.uint64(3)
    hashed = np.add.reduceat(mixed, starts(sizes)) * _ODD if len(sizes) else mixed
    chosen = (hashed >> np.uint64(32)) < np.uint64(round(fraction * 2**32))
    return torch.from_numpy(np.repeat(chosen, sizes)).to(batch.device)

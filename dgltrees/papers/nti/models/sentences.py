"""The token vectors of some sentences, and of the two sentences of pairs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch

__all__ = ["Sentences", "split_pairs"]


class Sentences(NamedTuple):
    """Token vectors of ``T`` sentences, ``S`` tokens in all.

    Arguments:
        vectors: ``(S, k)``, the vectors, sentence after sentence.
        lengths: ``(T,)`` int64 on the CPU, the number of tokens of each.
    """

    vectors: Tensor
    lengths: Tensor


def split_pairs(vectors: Tensor, batch: TreeBatch) -> tuple[Sentences, Sentences]:
    """Split a batch of adjacent pairs into the first and the second sentences.

    Arguments:
        vectors: ``(S, k)`` of the nodes of the batch, which are the tokens.
        batch: an even number of sentences; its edges are not used.

    Raises:
        TreeError: the number of sentences is odd.
    """
    if batch.num_trees % 2:
        raise TreeError(f"expected pairs of sentences, got a batch of {batch.num_trees}")
    second = torch.repeat_interleave(torch.arange(batch.num_trees) % 2, batch.sizes)
    first, other = (
        Sentences(
            vectors.index_select(0, torch.nonzero(second == k)[:, 0].to(vectors.device)),
            batch.sizes[k::2],
        )
        for k in range(2)
    )
    return first, other

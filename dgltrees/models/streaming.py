"""The roots of more trees than fit into memory as one batch."""

from __future__ import annotations

from typing import Union

import numpy as np
import torch
from torch import Tensor

from dgltrees.models.encoder import BidirectionalEncoder, TreeEncoder
from dgltrees.trees import BatchSampler, Forest

__all__ = ["encode_roots"]


@torch.no_grad()
def encode_roots(
    encoder: Union[TreeEncoder, BidirectionalEncoder], forest: Forest, *, max_nodes: int = 20_000
) -> Tensor:
    """The encodings of the roots of all trees, batch after batch, without gradients.

    Memory holds the structure of the forest, one batch and the result; the forest's columns may
    stay on disk (:meth:`dgltrees.Forest.load`). Trees of like depth are encoded together; the
    encoder is in evaluation mode meanwhile.

    Arguments:
        encoder: gives every node a state.
        forest: T trees.
        max_nodes: nodes in a batch, at most; a tree larger than that is a batch of its own.

    Returns:
        ``(T, c)`` on the encoder's device, in the order of the trees.

    Raises:
        ConfigError: ``max_nodes`` is not positive.
    """
    training, device = encoder.training, next(encoder.parameters()).device
    encoder.eval()
    order = np.lexsort((forest.sizes, forest.depths))
    sampler = BatchSampler(forest.sizes[order], max_nodes=max_nodes, shuffle=False)
    roots = torch.empty(len(forest), encoder.size, device=device)
    for ids in sampler.batches():
        batch = forest.batch(order[ids]).to(device)
        made = encoder(batch).index_select(0, batch.roots)
        roots = roots.to(made.dtype)
        roots[torch.from_numpy(order[ids]).to(device)] = made
    encoder.train(training)
    return roots

"""The vectors of more trees than fit into memory as one batch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dgltrees.models.encoder import Encoder
from dgltrees.trees import BatchSampler, Forest

__all__ = ["encode_roots"]


@torch.no_grad()
def encode_roots(encoder: Encoder, forest: Forest, *, max_nodes: int = 20_000) -> Tensor:
    """The vectors of all trees, batch after batch, without gradients.

    Memory holds the structure of the forest, one batch and the result; the forest's columns may
    stay on disk (:meth:`dgltrees.Forest.load`). Trees of similar depth are encoded together, with
    the encoder in evaluation mode.

    Arguments:
        encoder: the encoder.
        forest: T trees.
        max_nodes: the largest number of nodes per batch; a larger tree is a batch by itself.

    Returns: ``(T, c)``, the vectors on the encoder's device, in the order of the trees; for tree
    encoders
        these are the states of the roots.

    Raises:
        ConfigError: ``max_nodes`` is not positive.
    """
    training, device = encoder.training, next(encoder.parameters()).device
    encoder.eval()
    order = np.lexsort((forest.sizes, forest.depths))
    sampler = BatchSampler(forest.sizes[order], max_nodes=max_nodes, shuffle=False)
    roots = torch.empty(len(forest), encoder.size, device=device)
    for ids in sampler.batches():
        encoding = encoder(forest.batch(order[ids]).to(device))
        roots = roots.to(encoding.states.dtype)
        roots[torch.from_numpy(order[ids]).to(device)] = encoding.roots
    encoder.train(training)
    return roots

"""Models over more trees than fit into one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees._progress import progress
from dgltrees.models.encoder import Encoder
from dgltrees.trees import BatchSampler, Forest

Ids = NDArray[np.int64]


def batches_of_similar(
    sizes: NDArray[np.int64], depths: NDArray[Any] | None = None, *, max_nodes: int
) -> list[Ids]:
    """The ids of trees of similar depth and size, batch by batch: fewer levels in all.

    Arguments:
        sizes: ``(T,)`` the number of nodes of each tree.
        depths: ``(T,)`` the depth of each; by default the size alone counts.
        max_nodes: the largest number of nodes in a batch; a larger tree is a batch by itself.

    Raises:
        ConfigError: ``max_nodes`` is not positive.
    """
    order = np.lexsort((sizes,) if depths is None else (sizes, depths))
    sampler = BatchSampler(sizes[order], max_nodes=max_nodes, shuffle=False)
    return [order[ids] for ids in sampler.batches()]


@torch.no_grad()
def run_batched(
    function: Callable[[Ids], Mapping[str, Tensor]],
    batches: Iterable[Ids],
    count: int,
    *,
    rows: Callable[[Ids], Ids] | None = None,
    title: str = "",
) -> dict[str, Tensor]:
    """The results of a function of batches, without gradients, in the order of all rows.

    Arguments:
        function: from the ids of a batch to the values of its rows, by name ``(B, ...)``.
        batches: the ids of each batch; together they have every id once.
        count: the number of rows.
        rows: the rows of ids; by default the ids themselves.
        title: what a progress bar says; by default there is none.

    Returns:
        by name ``(count, ...)``, of the type and on the device of the values; nothing where there
        are no batches.
    """
    columns: dict[str, Tensor] = {}
    for ids in progress(batches, title, unit="batch") if title else batches:
        at = torch.from_numpy(ids if rows is None else rows(ids))
        for name, values in function(ids).items():
            if name not in columns:
                columns[name] = values.new_zeros(count, *values.shape[1:])
            columns[name][at.to(values.device)] = values
    return columns


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
    batches = batches_of_similar(forest.sizes, forest.depths, max_nodes=max_nodes)
    roots = run_batched(
        lambda ids: {"root": encoder(forest.batch(ids).to(device)).roots}, batches, len(forest)
    )
    encoder.train(training)
    return roots["root"] if roots else torch.empty(0, encoder.size, device=device)

"""Evaluation of models on more trees than fit into one batch."""

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
    """Return batches of trees of similar depth and size, as ids; fewer levels are run in total."""
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
    """Run a function on batches without gradients; return its results in the order of rows."""
    columns: dict[str, Tensor] = {}
    for ids in progress(batches, title, unit="batch") if title else batches:
        at = torch.from_numpy(ids if rows is None else rows(ids))
        for name, values in function(ids).items():
            if name not in columns:
                columns[name] = values.new_zeros(count, *values.shape[1:])
            columns[name][at.to(values.device)] = values
    return columns


def encode_roots(encoder: Encoder, forest: Forest, *, max_nodes: int = 20_000) -> Tensor:
    """Return the vectors of all trees, computed in batches without gradients.

    Memory holds the structure of the forest, one batch and the result; the columns of the forest
    may stay on disk (:meth:`dgltrees.Forest.load`). Trees of similar depth are encoded together,
    with the encoder in evaluation mode.

    Arguments:
        encoder: the encoder.
        forest: T trees.
        max_nodes: largest number of nodes in a batch; a larger tree is a batch by itself.

    Returns:
        ``(T, c)``, the vectors on the encoder's device, in the order of the trees. A tree encoder
        returns the states of the roots.

    Raises:
        ConfigError: ``max_nodes`` is not positive.

    Example:
        >>> from dgltrees.cells import ChildSumTreeLSTM
        >>> from dgltrees.models import TreeEncoder, WordEmbedding
        >>> from dgltrees.trees.builders import from_nested
        >>> forest = from_nested(("+", "1", "2"), "3", form="head")
        >>> encoder = TreeEncoder(WordEmbedding("label", rows=4, size=8), ChildSumTreeLSTM(8, 16))
        >>> encode_roots(encoder, forest).shape
        torch.Size([2, 16])
    """
    training, device = encoder.training, next(encoder.parameters()).device
    encoder.eval()
    batches = batches_of_similar(forest.sizes, forest.depths, max_nodes=max_nodes)
    roots = run_batched(
        lambda ids: {"root": encoder(forest.batch(ids).to(device)).roots}, batches, len(forest)
    )
    encoder.train(training)
    return roots["root"] if roots else torch.empty(0, encoder.size, device=device)

"""Attribution of predictions to inputs: occlusion of nodes, and integrated gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError
from dgltrees.models.classifier import Classifier
from dgltrees.models.columns import ColumnsInput
from dgltrees.models.encoder import BidirectionalEncoder
from dgltrees.models.heads import ClassHead, wide
from dgltrees.models.inputs import Concat, GivenVectors, Input, NodeInput
from dgltrees.models.targets import TargetHead
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.schema import NUMBERS

Copies = Callable[[int], TreeBatch]
"""From a number S to a batch of S copies of one example, which has N nodes."""
Answer = Callable[[Classifier, TreeBatch], Tensor]
"""From a model and a batch of S copies to the explained output of each copy, ``(S,)``."""

M = TypeVar("M", bound=nn.Module)
_VECTORS = "(vectors)"


def answers(model: Classifier, batch: TreeBatch) -> Tensor:
    """Return the outputs of a model for each row, ``(R, K)``.

    The outputs are the probabilities of classes or of binary targets, or predicted numbers in the
    unit of their target.
    """
    outputs = model.head(model.vectors(batch))
    if isinstance(model.head, TargetHead):
        columns = model.head.decode(outputs)
        probabilities = [v for name, v in columns.items() if name.startswith("probability_")]
        return torch.stack(probabilities or list(columns.values()), 1)
    if not isinstance(model.head, ClassHead):
        raise ConfigError(
            "expected a model that predicts classes or numbers, got the head "
            f"{type(model.head).__name__}"
        )
    logits = wide(outputs)
    if logits.shape[-1] > 1:
        return torch.softmax(logits, -1)
    p = torch.sigmoid(logits)
    return torch.cat([1 - p, p], 1)


def occlude(inputs: Input, batch: TreeBatch, mask: Tensor | None = None) -> TreeBatch:
    """Return a batch in which some nodes have no input.

    Categories and numbers of these nodes are missing, and vectors are zero.
    """
    ndata = dict(batch.ndata)
    if mask is None:
        mask = torch.ones(batch.num_nodes, dtype=torch.bool, device=batch.device)
    for name in _columns_of(inputs):
        values = ndata[name]
        missing = 0.0 if values.is_floating_point() else -1
        if name == NUMBERS:
            missing = float("nan")
        rows = mask.view(-1, *[1] * (values.dim() - 1))
        ndata[name] = values.masked_fill(rows, missing)
    return batch.with_data(ndata)


def _columns_of(inputs: nn.Module) -> list[str]:
    """Return the node columns that an input uses."""
    if isinstance(inputs, ColumnsInput):
        return inputs.columns
    if isinstance(inputs, (NodeInput, GivenVectors)):
        return [inputs.column]
    if isinstance(inputs, Concat):
        return [name for each in inputs.inputs for name in _columns_of(each)]
    raise ConfigError(
        f"expected a model with node columns as input, got the input {type(inputs).__name__}"
    )


@torch.no_grad()
def occlusion(
    model: Classifier, copies: Copies, answer: Answer, masks: Tensor, *, max_nodes: int = 20_000
) -> Tensor:
    r"""Return by how much an output falls when the inputs of some nodes are removed, ``(S,)``.

    .. math:: s_i = f(x) - f(x \text{ without the inputs of } mask_i)

    The shape of the tree does not change. Zeiler and Fergus, "Visualizing and Understanding
    Convolutional Networks" (ECCV 2014), section 4.2, occlude parts of an image.
    """
    inputs = _input_of(model)
    whole = answer(model, copies(1))
    step = max(1, max_nodes // masks.shape[1])
    parts = [
        answer(model, occlude(inputs, copies(len(some)), some.flatten().to(whole.device)))
        for some in torch.split(masks, step)
    ]
    return whole - torch.cat(parts)


def integrated_gradients(
    model: Classifier, copies: Copies, answer: Answer, *, steps: int = 64, max_nodes: int = 20_000
) -> tuple[list[str], Tensor]:
    r"""Return what each column of each node contributes to an output.

    .. math::

        a_{vk} = (p_{vk} - b_{vk}) \cdot
            \int_0^1 \frac{\partial f}{\partial x_v}\big(b + \alpha (x - b)\big) \, d\alpha

    where :math:`x_v = \sum_k p_{vk}` is the input vector of node v, a sum over columns k, and b are
    the vectors of nodes without input. The contributions sum to f(x) - f(b). Sundararajan et al.,
    "Axiomatic Attribution for Deep Networks" (ICML 2017), equation (1). The integral is computed by
    Gauss-Legendre quadrature, which is exact except at kinks such as those of a maximum.
    """
    inputs = _input_of(model)
    one = copies(1)
    with torch.no_grad():
        nothing = occlude(inputs, one)
        names, parts = _parts(inputs, one)
        differences = parts - _parts(inputs, nothing)[1]  # (N, C, m)
        start, total = inputs(nothing), differences.sum(1)  # (N, m)
    reader = _reading_vectors(model, inputs.size)
    points, weights = np.polynomial.legendre.leggauss(steps)
    rule = torch.from_numpy(np.stack([(points + 1) / 2, weights / 2], 1)).to(start)
    gradient = torch.zeros_like(start)
    for some in torch.split(rule, max(1, max_nodes // len(start))):
        alpha, weight = some.view(-1, 2, 1, 1).unbind(1)  # (S, 1, 1)
        x = (start + alpha * total).flatten(0, 1).requires_grad_()
        batch = copies(len(some))
        batch = batch.with_data({**batch.ndata, _VECTORS: x})
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):  # LSTMs in eval mode
            (slopes,) = torch.autograd.grad(answer(reader, batch).sum(), x)
        gradient += (slopes.unflatten(0, (len(some), -1)) * weight).sum(0)
    return names, (differences * gradient.unsqueeze(1)).sum(-1)


def _input_of(model: Classifier) -> Input:
    inputs = getattr(model.encoder, "input", None)
    if not isinstance(inputs, Input):
        raise ConfigError(
            "expected a model with node columns as input, got the encoder "
            f"{type(model.encoder).__name__}"
        )
    return inputs


def _parts(inputs: Input, batch: TreeBatch) -> tuple[list[str], Tensor]:
    """Return the names of the columns, and their parts of each node's vector, ``(N, C, m)``."""
    if isinstance(inputs, ColumnsInput):
        parts = inputs.parts(batch)
        return list(parts), torch.stack(list(parts.values()), 1)
    return [" + ".join(_columns_of(inputs))], inputs(batch).unsqueeze(1)


def _reading_vectors(model: Classifier, size: int) -> Classifier:
    """Return a model with the same parameters that takes input vectors from a node column."""
    reader = _shallow(model)
    reader.encoder = _shallow(model.encoder)
    holder: Any = reader.encoder
    if isinstance(holder, BidirectionalEncoder):
        holder.up = _shallow(holder.up)
        holder = holder.up
    holder.input = GivenVectors(_VECTORS, size)
    return reader


def _shallow(module: M) -> M:
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    return twin

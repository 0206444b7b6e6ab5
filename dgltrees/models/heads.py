"""Heads: modules that map vectors to logits, losses and predictions."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dgltrees.cells.initial import Init, initialize
from dgltrees.errors import TreeError
from dgltrees.settings import Count, Fraction


def wide(x: Tensor) -> Tensor:
    """Convert half precision to float32; leave float32 and float64 unchanged."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def class_nll(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the negative log-likelihood of classes, ``(R,)``, from ``(R, C)`` logits.

    The loss is 0 where the target is -1.
    """
    return F.cross_entropy(wide(logits), targets, ignore_index=-1, reduction="none")


class Head(nn.Module, ABC):
    """Base class of modules that predict targets from vectors and compute their loss.

    Attributes:
        arity: number of adjacent vectors that form one example.
    """

    arity: ClassVar[int] = 1
    __call__: Callable[..., Tensor]

    @abstractmethod
    def nll(self, z: Any, targets: Tensor) -> Tensor:
        """Return the negative log-likelihoods, ``(E,)``, from ``(E * arity, c)`` vectors."""

    @abstractmethod
    def predict(self, z: Any) -> tuple[Tensor, Tensor]:
        """Return the predictions and their probabilities, each ``(E,)``."""


class ClassHead(Head):
    """Base class of heads whose ``forward`` returns logits, ``(E, classes)``.

    A single logit means two classes; its sigmoid is the probability of class 1.
    """

    @abstractmethod
    def forward(self, z: Any) -> Tensor:
        """Return the logits."""

    def nll(self, z: Any, targets: Tensor) -> Tensor:
        """Return the negative log-likelihood of the targets, ``(E,)``; 0 where the target is -1.

        Arguments:
            z: the input of the head, such as ``(E * arity, c)`` vectors.
            targets: ``(E,)``, the classes.
        """
        logits = self(z)
        if logits.shape[-1] == 1:
            o = wide(logits)[:, 0]
            loss = F.binary_cross_entropy_with_logits(o, targets.to(o), reduction="none")
            return loss.masked_fill(targets < 0, 0.0)
        return class_nll(logits, targets)

    def predict(self, z: Any) -> tuple[Tensor, Tensor]:
        """Return the most probable classes and their probabilities, each ``(E,)``.

        With a single logit, the probability is that of class 1.
        """
        logits = wide(self(z))
        if logits.shape[-1] == 1:
            p = torch.sigmoid(logits[:, 0].double())  # so that scores far from 0 keep their order
            return (p > 0.5).long(), p
        probability, prediction = torch.softmax(logits, -1).max(-1)
        return prediction, probability


class MLP(ClassHead):
    """Linear layers with ReLU between them.

    Arguments:
        size: size of a vector.
        classes: number of outputs.
        hidden: sizes of the hidden layers.
        dropout: probability of dropout before every layer.
        init: distribution of the initial weights; biases are zero.

    Shapes:
        ``(..., size)`` to ``(..., classes)``.

    Example:
        >>> import torch
        >>> MLP(8, classes=3, hidden=[16])(torch.zeros(5, 8)).shape
        torch.Size([5, 3])
    """

    def __init__(
        self,
        size: int,
        classes: int,
        hidden: Sequence[int] = (),
        *,
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        sizes = [size, *hidden, classes]
        layers: list[nn.Module] = []
        for fan_in, fan_out in itertools.pairwise(sizes):
            linear = nn.Linear(fan_in, fan_out)
            initialize(linear.weight, fan_in, fan_out, init)
            nn.init.zeros_(linear.bias)
            layers += [nn.ReLU()] if layers else []
            layers += [nn.Dropout(dropout)] if dropout else []
            layers.append(linear)
        self.layers = nn.Sequential(*layers)

    def forward(self, z: Tensor) -> Tensor:
        """Return the logits."""
        logits: Tensor = self.layers(z)
        return logits


def split_pairs(z: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first and the second vectors of ``E`` pairs, each ``(E, c)``."""
    if len(z) % 2:
        raise TreeError(f"expected pairs of trees or sentences, got an odd number, {len(z)}")
    return z[0::2], z[1::2]


def pair_features(p: Tensor, h: Tensor) -> Tensor:
    """Return the features [p; h; abs(p - h); p * h] of pairs, ``(E, 4 c)``, from two ``(E, c)``."""
    return torch.cat([p, h, (p - h).abs(), p * h], 1)


class PairHead(ClassHead):
    """A classifier of pairs of vectors: an MLP over :func:`pair_features`.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.1: 1024
    units with ReLU, then a softmax layer; with one class, a sigmoid, equation (20).

    Arguments:
        size: c, the size of a vector.
        classes: number of logits.
        hidden: number of units of the hidden layer.
        extra: number of features that follow each vector; they are not compared.
        dropout: probability of dropout before each of the two layers.
        init: distribution of the initial weights; biases are zero.

    Shapes:
        ``(2 E, c + extra)``, where the two vectors of a pair are adjacent, to ``(E, classes)``.

    Raises:
        TreeError: the number of vectors is odd.
    """

    arity = 2

    def __init__(
        self,
        size: int,
        classes: int,
        *,
        hidden: Count = 1024,
        extra: int = 0,
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        self.size = size
        self.mlp = MLP(4 * size + 2 * extra, classes, [hidden], dropout=dropout, init=init)

    def forward(self, z: Tensor) -> Tensor:
        """Return the logits."""
        p, h = split_pairs(z)
        features = pair_features(p[:, : self.size], h[:, : self.size])
        if z.shape[1] > self.size:
            features = torch.cat([features, p[:, self.size :], h[:, self.size :]], 1)
        return self.mlp(features)


class Comparison(nn.Module):
    r"""The comparison layer of Bowman et al.

    "Recursive Neural Networks Can Learn Logical Semantics" (2015), section 2:

    .. math:: z(k) = \phi(a^T T_k \, b + M^a_k a + M^b_k b + \beta_k)

    where a and b are the two vectors and :math:`\phi` is LeakyReLU with slope 0.01.

    Arguments:
        size: c, the size of a vector.
        width: number of outputs k.
        init: distribution of the initial weights; the bias is zero.

    Shapes:
        ``(E, c)`` and ``(E, c)`` to ``(E, width)``.
    """

    def __init__(self, size: int, width: Count, *, init: Init = "kaiming") -> None:
        super().__init__()
        self.T = nn.Parameter(torch.empty(size, size * width))
        self.M = nn.Parameter(torch.empty(2 * size, width))
        self.bias = nn.Parameter(torch.zeros(width))
        initialize(self.T, size**2, width, init)
        initialize(self.M, 2 * size, width, init)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the comparison of two vectors per pair, ``(E, width)``, from two ``(E, c)``."""
        aT = (a @ self.T).view(*a.shape, -1)  # (E, c, width)
        bilinear = (aT * b.unsqueeze(-1)).sum(1)  # (E, width)
        linear = torch.addmm(self.bias, torch.cat([a, b], 1), self.M)
        return F.leaky_relu(bilinear + linear, 0.01)


class ComparisonHead(ClassHead):
    """A classifier of pairs of vectors: a comparison layer.

    Castellana and Bacciu, section V.B.

    Arguments:
        size: c, the size of a vector.
        classes: number of logits.
        comparison: width of the comparison layer, which is followed by a softmax layer as in Bowman
            et al.; by default the comparison layer itself returns the logits.
        init: distribution of the initial weights; biases are zero.

    Shapes:
        ``(2 E, c)``, where the two vectors of a pair are adjacent, to ``(E, classes)``.

    Raises:
        TreeError: the number of vectors is odd.
    """

    arity = 2

    def __init__(
        self,
        size: int,
        classes: int,
        *,
        comparison: Count | None = None,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        self.compare = Comparison(size, comparison or classes, init=init)
        self.output = MLP(comparison, classes, init=init) if comparison else nn.Identity()

    def forward(self, z: Tensor) -> Tensor:
        """Return the logits."""
        logits: Tensor = self.output(self.compare(*split_pairs(z)))
        return logits

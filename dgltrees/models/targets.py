"""Heads for custom targets: one of several classes, binary targets, and numbers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.cells.initial import Init
from dgltrees.errors import TreeError, called
from dgltrees.models.heads import MLP, Head, pair_features, split_pairs, wide
from dgltrees.settings import Count, Fraction, NonNegative, Positive, checked
from dgltrees.settings.values import PositiveShare

Pairs = Literal["ordered", "symmetric"] | None
"""How two vectors are compared; None for one vector per row."""


class TargetHead(Head):
    """A head with an MLP, over one vector per row or, with ``pairs``, over two adjacent vectors.

    Arguments:
        size: c, the size of a vector.
        outputs: number of outputs of the MLP.
        hidden: sizes of the hidden layers of the MLP.
        pairs: input of the MLP from the two vectors p and h of a pair: ``ordered``, ``[p; h; |p -
            h|; p * h]``, or ``symmetric``, ``[|p - h|; p * h]`` (Tai et al., 2015, section 4.2),
            which is invariant to the order of the two.
        dropout: probability of dropout before every layer.
        init: distribution of the initial weights.
    """

    def __init__(
        self,
        size: int,
        outputs: int,
        hidden: Sequence[int] = (),
        *,
        pairs: Pairs = None,
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        self.pairs = pairs
        self.arity = 1 if pairs is None else 2  # type: ignore[misc]
        parts = {None: 1, "ordered": 4, "symmetric": 2}[pairs]
        self.mlp = MLP(size * parts, outputs, hidden, dropout=dropout, init=init)

    def forward(self, z: Tensor) -> Tensor:
        """Return the outputs of the MLP, ``(R, outputs)``, from ``(R * arity, c)`` vectors."""
        if self.pairs is not None:
            p, h = split_pairs(z)
            symmetric = self.pairs == "symmetric"
            z = torch.cat([(p - h).abs(), p * h], 1) if symmetric else pair_features(p, h)
        return wide(self.mlp(z))

    def learn_scale(self, targets: NDArray[Any]) -> None:
        """Store statistics of the ``(R, ...)`` training targets that the loss needs."""

    @abstractmethod
    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the losses, ``(R,)``, of ``(R, outputs)`` outputs; 0 without a target."""

    def nll(self, z: Any, targets: Tensor) -> Tensor:
        """Return the losses, ``(R,)``, of ``(R * arity, c)`` vectors; 0 without a target."""
        return self.loss(self(z), targets)

    def columns(self, z: Any, targets: Tensor) -> dict[str, Tensor]:
        """Return columns ``(R,)`` by name: ``loss``, 0 without a target, and the predictions."""
        outputs = self(z)
        missing = targets.isnan() if targets.is_floating_point() else targets < 0
        nothing = missing.all()  # as where trees are predicted
        loss = outputs.new_zeros(len(targets)) if nothing else self.loss(outputs, targets)
        return {"loss": loss, **self.decode(outputs)}

    def predict(self, z: Any) -> tuple[Tensor, Tensor]:
        """Return the first prediction and its probability (1 for numbers), each ``(R,)``."""
        columns = self.decode(self(z))
        prediction = next(iter(columns.values()))
        return prediction, columns.get("probability", torch.ones_like(prediction))

    @abstractmethod
    def decode(self, outputs: Tensor) -> dict[str, Tensor]:
        """Return predictions as columns ``(R,)`` by name, from ``(R, outputs)`` outputs."""


@checked
class ClassTarget(TargetHead):
    r"""One of several classes.

    Arguments:
        size, hidden, pairs, dropout, init: see :class:`TargetHead`.
        count: number of classes.
        objective: ``cross_entropy``; ``focal``, which weights well predicted rows less; or
            ``ordinal``, for ordered classes.
        gamma: exponent of the focal loss.
        balanced: weight every row by the inverse frequency of its class in training.
        temperature_scaling: let :meth:`fit_temperature` set the temperature, if the objective is
            not ``ordinal``.

    In evaluation mode, the logits are divided by a temperature T (Guo et al., "On Calibration of
    Modern Neural Networks", ICML 2017, section 4.2), which is 1 until :meth:`fit_temperature`.
    The focal loss of Lin et al., "Focal Loss for Dense Object Detection" (ICCV 2017), equation (4),
    is :math:`-(1 - p_t)^\gamma \log p_t`. The ordinal loss has one logit per border between
    neighbouring classes, :math:`P(y > k) = \sigma(w \cdot z + b_k)` with a shared w and decreasing
    :math:`b_k` (McCullagh, "Regression Models for Ordinal Data", JRSS 1980, section 1.2), and is
    the negative log-likelihood of the class.
    """

    weight: Tensor
    temperature: Tensor

    def __init__(
        self,
        size: int,
        count: Count,
        hidden: Sequence[int] = (),
        *,
        pairs: Pairs = None,
        objective: Literal["cross_entropy", "focal", "ordinal"] = "cross_entropy",
        gamma: NonNegative = 2.0,
        balanced: bool = False,
        temperature_scaling: bool = True,
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        ordinal = objective == "ordinal"
        outputs = 1 if ordinal else count
        super().__init__(size, outputs, hidden, pairs=pairs, dropout=dropout, init=init)
        self.classes, self.objective, self.gamma = count, objective, gamma
        self.balanced = balanced
        self.temperature_scaling = temperature_scaling and not ordinal
        self.register_buffer("weight", torch.ones(count))
        self.register_buffer("temperature", torch.ones((), dtype=torch.float64))
        if ordinal:
            self.first = nn.Parameter(torch.zeros(()))
            self.gaps = nn.Parameter(torch.zeros(max(0, count - 2)))  # before softplus

    def learn_scale(self, targets: NDArray[Any]) -> None:
        """Store class weights, if the loss is balanced."""
        if self.balanced:
            labeled = targets[targets >= 0]
            counts = np.maximum(np.bincount(labeled, minlength=self.classes), 1)
            self.weight.copy_(torch.from_numpy(len(labeled) / (self.classes * counts)))

    def log_probabilities(self, outputs: Tensor) -> Tensor:
        """Return log-probabilities, ``(R, classes)``, from the outputs of the MLP."""
        if self.objective != "ordinal":
            if not self.training:
                outputs = outputs / self.temperature.to(outputs)
            return torch.log_softmax(outputs, -1)
        steps = torch.cat([self.first.view(1), -F.softplus(self.gaps)]).cumsum(0)
        above = outputs + steps.to(outputs)  # (R, classes - 1) logits of P(y > k)
        log_above = F.pad(F.logsigmoid(above), (1, 0))  # P(y > -1) = 1
        # P(y = k) = P(y > k - 1) - P(y > k), by logarithms; the last class has no border above it.
        ratio = F.logsigmoid(above) - log_above[:, :-1]
        inner = log_above[:, :-1] + torch.log(-torch.expm1(ratio.clamp(max=-1e-7)))
        return torch.cat([inner, log_above[:, -1:]], 1)

    def fit_temperature(self, probabilities: Tensor, targets: Tensor) -> None:
        r"""Set the temperature from predictions for examples that the model was not trained on.

        It is the one from 1 to 20 with the lowest negative log-likelihood, plus :math:`2 (\log
        T)^2`: few examples that are all predicted well do not make the model certain, and few wrong
        ones do not make it doubt everything.

        Arguments:
            probabilities: ``(R, classes)`` the predictions, with the current temperature.
            targets: ``(R,)`` the classes.
        """
        logits = probabilities.double().clamp(min=1e-30).log() * self.temperature
        grid = torch.logspace(0, math.log10(20), 131, dtype=torch.float64)
        losses = [F.cross_entropy(logits / t, targets, reduction="sum") for t in grid]
        best = (torch.stack(losses) + 2 * grid.log().square()).argmin()
        self.temperature.copy_(grid[best])

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the losses, ``(R,)``, of ``(R,)`` classes; 0 where the class is -1."""
        labeled = targets >= 0
        target = targets.clamp(min=0)
        log_p = self.log_probabilities(outputs).gather(1, target.unsqueeze(1)).squeeze(1)
        loss = -log_p
        if self.objective == "focal":
            loss = loss * (-torch.expm1(log_p)).clamp(min=0.0).pow(self.gamma)
        if self.balanced:
            loss = loss * self.weight.to(loss)[target]
        return torch.where(labeled, loss, torch.zeros_like(loss))

    def decode(self, outputs: Tensor) -> dict[str, Tensor]:
        """Return ``prediction``, ``probability`` and the ``probability_K`` of every class K."""
        p = self.log_probabilities(outputs).exp()
        probability, prediction = p.max(-1)
        each = {f"probability_{k}": p[:, k] for k in range(self.classes)}
        return {"prediction": prediction, "probability": probability, **each}


@checked
class FlagTargets(TargetHead):
    """Several binary targets (multi-label).

    Arguments:
        size, hidden, pairs, dropout, init: see :class:`TargetHead`.
        count: number of targets.
        balanced: weight 0 and 1 of every target by their inverse frequency in training.
    """

    weight: Tensor

    def __init__(
        self,
        size: int,
        count: Count,
        hidden: Sequence[int] = (),
        *,
        pairs: Pairs = None,
        balanced: bool = False,
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        super().__init__(size, count, hidden, pairs=pairs, dropout=dropout, init=init)
        self.flags, self.balanced = count, balanced
        self.register_buffer("weight", torch.ones(2, count))

    def learn_scale(self, targets: NDArray[Any]) -> None:
        """Store the weights of 0 and 1, if the loss is balanced."""
        if self.balanced:
            counts = np.stack([(targets == value).sum(0) for value in (0, 1)])
            self.weight.copy_(torch.from_numpy(counts.sum(0) / (2 * np.maximum(counts, 1))))

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the losses, ``(R,)``: means over the known ``(R, K)`` targets (others are -1)."""
        labeled = targets >= 0
        target = targets.clamp(min=0)
        loss = F.binary_cross_entropy_with_logits(outputs, target.to(outputs), reduction="none")
        if self.balanced:
            weight = self.weight.to(loss)
            loss = loss * torch.where(target == 1, weight[1], weight[0])
        return (loss * labeled).sum(1) / labeled.sum(1).clamp(min=1)

    def decode(self, outputs: Tensor) -> dict[str, Tensor]:
        """Return ``prediction_K``, 0 or 1, and ``probability_K``, that of 1, of every target K."""
        p = torch.sigmoid(outputs)
        columns = {f"prediction_{k}": (p[:, k] > 0.5).long() for k in range(self.flags)}
        return {**columns, **{f"probability_{k}": p[:, k] for k in range(self.flags)}}


@checked
class NumberTargets(TargetHead):
    """One or several numbers.

    The MLP predicts standardised targets: minus their mean, divided by their standard deviation in
    training. If all training targets are equal, the prediction is their value.

    Arguments:
        size, hidden, pairs, dropout, init: see :class:`TargetHead`.
        count: number of targets.
        log_target: predict the logarithm of a target. A target of 0 counts as half the smallest
            positive training target, and no prediction is 0 or less.
        objective: loss of a standardised error e: ``squared``, e^2 / 2; ``huber``, which is linear
            beyond ``huber_delta``; ``quantile``, which predicts a quantile; or ``ordinal``, for
            integers on a scale such as 1 to 5.
        huber_delta: the error beyond which the Huber loss is linear.
        quantile: the quantile of the quantile loss.
        levels: number of integers on the scale, which begins at the smallest training target.

    ``ordinal`` is the loss of Tai et al., "Improved Semantic Representations From Tree-Structured
    Long Short-Term Memory Networks" (ACL 2015), section 4.2. The MLP outputs a distribution p over
    the integers of the scale, the prediction is its mean, and the loss is the divergence from the
    sparse distribution whose mean is the target.

    Raises:
        TreeError: :meth:`learn_scale` gets negative targets or only zeros with ``log_target``, or
            targets beyond the scale.
    """

    mean: Tensor
    deviation: Tensor
    zero: Tensor
    lowest: Tensor

    def __init__(
        self,
        size: int,
        count: Count,
        hidden: Sequence[int] = (),
        *,
        pairs: Pairs = None,
        log_target: bool = False,
        objective: Literal["squared", "huber", "quantile", "ordinal"] = "huber",
        huber_delta: Positive = 1.0,
        quantile: PositiveShare = 0.5,
        levels: Count = 5,
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        outputs = count * (levels if objective == "ordinal" else 1)
        super().__init__(size, outputs, hidden, pairs=pairs, dropout=dropout, init=init)
        self.numbers, self.log_target, self.objective = count, log_target, objective
        self.huber_delta, self.quantile, self.levels = huber_delta, quantile, levels
        for name, start in (("mean", 0.0), ("deviation", 1.0), ("zero", 1.0), ("lowest", 0.0)):
            self.register_buffer(name, torch.full((count,), start, dtype=torch.float64))

    def learn_scale(self, targets: NDArray[Any], name: str = "targets") -> None:
        """Store mean and deviation of the training targets ``(R, numbers)``, NaN if unknown.

        Arguments:
            targets: the targets.
            name: what they are, for errors.
        """
        targets = targets.reshape(-1, self.numbers)
        lowest = np.nanmin(targets, 0)
        self.lowest.copy_(torch.from_numpy(np.floor(lowest)))
        if self.objective == "ordinal":
            beyond = np.nanmax(targets, 0) > np.floor(lowest) + self.levels - 1
            if beyond.any():
                raise TreeError(
                    f"expected {name} on a scale of model.levels={self.levels} integers, got "
                    f"{np.nanmin(targets):g} to {np.nanmax(targets):g}; increase it"
                )
        if self.log_target:
            if (lowest < 0).any():
                raise TreeError(
                    f"expected {name} of at least 0 with {called('model.log_target')}, got "
                    f"{lowest.min():g}; correct them, or leave it out"
                )
            positive = np.nanmin(np.where(targets > 0, targets, np.inf), 0)
            if np.isinf(positive).any():
                raise TreeError(
                    f"expected {name} above 0 with {called('model.log_target')}, got only 0; leave "
                    "it out"
                )
            self.zero.copy_(torch.from_numpy(positive / 2))
        y = self._scale_in(torch.from_numpy(targets)).numpy()
        mean, deviation = np.nanmean(y, 0), np.nanstd(y, 0)
        constant = np.nanmin(y, 0) == np.nanmax(y, 0)
        self.mean.copy_(torch.from_numpy(np.where(constant, np.nanmin(y, 0), mean)))
        self.deviation.copy_(torch.from_numpy(np.where(constant, 0.0, deviation)))

    def _scale_in(self, y: Tensor) -> Tensor:
        return torch.log(torch.where(y == 0, self.zero.double(), y)) if self.log_target else y

    def standardised(self, y: Tensor) -> Tensor:
        """Return the outputs that predict numbers ``(R, numbers)`` in the unit of the targets."""
        deviation = torch.where(self.deviation > 0, self.deviation, 1.0).double()
        return (self._scale_in(y) - self.mean.double()) / deviation

    def values(self, outputs: Tensor) -> Tensor:
        """Return predictions in the unit of the targets, ``(R, numbers)``, float64.

        With ``log_target`` they are above 0.
        """
        if self.objective == "ordinal":
            p = torch.softmax(outputs.double().view(-1, self.numbers, self.levels), -1)
            steps = torch.arange(self.levels, dtype=torch.float64, device=p.device)
            values = (p * steps).sum(-1) + self.lowest.double()
            return torch.where(self.deviation > 0, values, self.mean.double())
        y = outputs.double() * self.deviation.double() + self.mean.double()
        # never 0 by rounding
        return torch.exp(y).clamp(min=torch.finfo(y.dtype).tiny) if self.log_target else y

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the losses, ``(R,)``: means over the known numbers."""
        targets = targets.view(-1, self.numbers).double()
        known = ~targets.isnan()
        # those of training have been checked
        if self.log_target and not self.training and bool((targets < 0).any()):
            raise TreeError(
                f"expected targets of at least 0 with {called('model.log_target')}, got "
                f"{float(targets[known].min()):g}; correct them, or leave it out"
            )
        if self.objective == "ordinal":
            loss = self._divergence(outputs, targets)
        else:
            scaled = self.standardised(targets)
            loss = self._of_error(outputs - scaled.nan_to_num(0.0).to(outputs))
        return (loss * known).sum(1) / known.sum(1).clamp(min=1)

    def _of_error(self, error: Tensor) -> Tensor:
        if self.objective == "quantile":
            return torch.maximum(-self.quantile * error, (1 - self.quantile) * error)
        if self.objective == "huber":
            return F.huber_loss(
                error, torch.zeros_like(error), delta=self.huber_delta, reduction="none"
            )
        return error.square() / 2

    def _divergence(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return KL(p | prediction) of Tai et al., section 4.2, ``(R, numbers)``."""
        log_p = torch.log_softmax(outputs.view(-1, self.numbers, self.levels), -1)
        y = (targets - self.lowest.double()).nan_to_num(0.0).clamp(0, self.levels - 1)
        below = y.floor()
        steps = torch.arange(self.levels, device=y.device)
        share = (y - below).unsqueeze(-1)
        low = (steps == below.unsqueeze(-1)).double() * (1 - share)
        sparse = (low + (steps == below.unsqueeze(-1) + 1).double() * share).to(log_p)
        entropy = torch.special.entr(sparse).sum(-1)
        divergence: Tensor = -(sparse * log_p).sum(-1) - entropy
        return divergence

    def decode(self, outputs: Tensor) -> dict[str, Tensor]:
        """Return ``prediction_K``, in the unit of its target, of every number K."""
        values = self.values(outputs)
        return {f"prediction_{k}": values[:, k] for k in range(self.numbers)}

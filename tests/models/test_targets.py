"""Heads of classes, flags and numbers: losses against formulas, predictions on their scale."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.models import ClassTarget, FlagTargets, NumberTargets, TargetHead


class Given(nn.Module):
    """Outputs that are the vectors themselves."""

    def forward(self, z: Tensor) -> Tensor:
        return z


def head(kind: type[TargetHead], count: int, **options: Any) -> Any:
    """A head whose MLP gives what it gets."""
    made = kind(count, count, **options).double()
    made.mlp = Given()  # type: ignore[assignment]
    return made


def test_focal_loss_is_cross_entropy_with_a_weight() -> None:
    z, y = torch.randn(6, 3, dtype=torch.float64), torch.tensor([0, 1, 2, 2, -1, 0])
    p = torch.softmax(z, 1)[torch.arange(6), y.clamp(min=0)]
    expected = -((1 - p) ** 1.5) * p.log() * (y >= 0)
    focal = head(ClassTarget, 3, objective="focal", gamma=1.5)
    torch.testing.assert_close(focal.nll(z, y), expected)
    plain = head(ClassTarget, 3, objective="focal", gamma=0.0)
    torch.testing.assert_close(plain.nll(z, y), head(ClassTarget, 3).nll(z, y))


def test_ordinal_probabilities_are_differences_of_sigmoids() -> None:
    ordinal = ClassTarget(2, 4, objective="ordinal").double()
    with torch.no_grad():
        ordinal.first.fill_(1.0)
        ordinal.gaps.copy_(torch.tensor([0.5, -1.0]))
    z = torch.randn(5, 2, dtype=torch.float64)
    score = ordinal(z)[:, 0]
    steps = [1.0, 1.0 - math.log1p(math.exp(0.5))]
    steps.append(steps[1] - math.log1p(math.exp(-1.0)))
    above = [torch.ones(5).double(), *(torch.sigmoid(score + b) for b in steps), torch.zeros(5)]
    expected = torch.stack([above[k] - above[k + 1] for k in range(4)], 1)
    torch.testing.assert_close(ordinal.log_probabilities(ordinal(z)).exp(), expected)
    torch.testing.assert_close(expected.sum(1), torch.ones(5).double())


def test_balanced_classes_weigh_the_inverse_of_their_frequency() -> None:
    balanced = head(ClassTarget, 2, balanced=True)
    balanced.learn_scale(np.array([0, 0, 0, 1, -1]))
    z, y = torch.zeros(2, 2).double(), torch.tensor([0, 1])
    torch.testing.assert_close(
        balanced.nll(z, y) / math.log(2), torch.tensor([4 / 6, 2.0]).double()
    )


def test_flags_are_learned_where_they_are_known() -> None:
    flags = head(FlagTargets, 2)
    z, y = torch.tensor([[0.5, -2.0], [1.0, 3.0]]).double(), torch.tensor([[1, -1], [-1, -1]])
    expected = torch.tensor([math.log1p(math.exp(-0.5)), 0.0]).double()
    torch.testing.assert_close(flags.nll(z, y), expected)
    columns = flags.columns(z, y)
    assert columns["prediction_0"].tolist() == [1, 1]
    assert columns["prediction_1"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        ({"objective": "squared"}, lambda e: e**2 / 2),
        (
            {"objective": "huber", "huber_delta": 0.5},
            lambda e: min(e**2 / 2, 0.5 * (abs(e) - 0.25)),
        ),
        ({"objective": "quantile", "quantile": 0.9}, lambda e: max(-0.9 * e, 0.1 * e)),
    ],
)
def test_losses_of_numbers_are_of_standardised_errors(
    objective: dict[str, Any], expected: Any
) -> None:
    numbers = head(NumberTargets, 1, **objective)
    numbers.learn_scale(np.array([[1.0], [3.0], [5.0], [np.nan]]))
    y = torch.tensor([[1.0], [4.0], [np.nan]]).double()
    z = torch.tensor([[0.1], [-0.3], [0.7]]).double()
    deviation = math.sqrt(8 / 3)
    errors = [0.1 - (1 - 3) / deviation, -0.3 - (4 - 3) / deviation]
    losses = [*map(expected, errors), 0.0]
    torch.testing.assert_close(numbers.nll(z, y), torch.tensor(losses).double())
    prediction = numbers.columns(z, y)["prediction_0"]
    torch.testing.assert_close(prediction, z[:, 0] * deviation + 3)


@pytest.mark.parametrize("zero", [False, True])
def test_logarithms_of_targets_come_back_as_numbers(zero: bool) -> None:
    numbers = head(NumberTargets, 1, log_target=True)
    y = np.array([0.0 if zero else 0.005, 0.01, 1000.0])
    numbers.learn_scale(y[:, None])
    counts_as = np.array([0.005, 0.01, 1000.0])  # zero as half the smallest of the others
    logs = np.log(counts_as)
    z = torch.from_numpy((logs - logs.mean()) / logs.std())[:, None]
    torch.testing.assert_close(numbers.decode(z)["prediction_0"], torch.from_numpy(counts_as))
    assert numbers.nll(z, torch.from_numpy(y)).abs().max() < 1e-12
    with pytest.raises(TreeError, match="at least 0 with model.log_target, got -1; correct them"):
        numbers.eval().nll(z, torch.from_numpy(-y / y.max()))
    assert (numbers.decode(torch.tensor([[-1e6]]).double())["prediction_0"] > 0).all()


def test_a_scale_of_levels_is_the_sparse_distribution_of_tai() -> None:
    levels = NumberTargets(3, 1, objective="ordinal", levels=5).double()
    levels.learn_scale(np.array([[1.0], [5.0]]))
    z = torch.randn(3, 3, dtype=torch.float64)
    y = torch.tensor([3.6, 1.0, 5.0]).double()
    log_p = torch.log_softmax(levels(z), 1)
    sparse = torch.zeros(3, 5).double()
    sparse[0, 2], sparse[0, 3] = 0.4, 0.6  # equation (15): floor(y) - y + 1, and y - floor(y)
    sparse[1, 0] = sparse[2, 4] = 1.0
    expected = (torch.special.xlogy(sparse, sparse) - sparse * log_p).sum(1)
    torch.testing.assert_close(levels.nll(z, y), expected)
    mean = (log_p.exp() * torch.arange(1, 6)).sum(1)
    torch.testing.assert_close(levels.decode(levels(z))["prediction_0"], mean)


@pytest.mark.parametrize(
    ("options", "targets", "message"),
    [
        ({"log_target": True}, [-1.0, 2.0], "targets of at least 0 with model.log_target, got -1"),
        ({"log_target": True}, [0.0, 0.0], "targets above 0 with model.log_target, got only 0"),
        (
            {"objective": "ordinal", "levels": 3},
            [1.0, 5.0],
            "a scale of model.levels=3 integers, got 1 to 5",
        ),
    ],
)
def test_targets_off_the_scale_are_refused(
    options: dict[str, Any], targets: list[float], message: str
) -> None:
    numbers = NumberTargets(2, 1, **options)
    with pytest.raises(TreeError, match=message):
        numbers.learn_scale(np.array(targets)[:, None])


@pytest.mark.parametrize(
    ("kind", "options", "targets"),
    [
        (ClassTarget, {}, [0, 2, 1]),
        (ClassTarget, {"objective": "focal"}, [0, 2, 1]),
        (ClassTarget, {"objective": "ordinal", "balanced": True}, [0, 2, 1]),
        (FlagTargets, {}, [[0, 1, 1], [1, 0, -1], [0, 0, 1]]),
        (NumberTargets, {}, [[0.5, 1.0, 2.0], [1.0, 0.3, 0.2], [2.0, 1.0, math.nan]]),
        (NumberTargets, {"objective": "ordinal", "levels": 4}, [[0.5, 1, 2], [1, 0, 3], [2, 1, 1]]),
    ],
)
@pytest.mark.parametrize("pairs", [None, "ordered", "symmetric"])
def test_gradients_are_right(
    kind: type[TargetHead], options: dict[str, Any], targets: list[Any], pairs: Any
) -> None:
    torch.manual_seed(0)
    layers = kind(2, 3, (3,), pairs=pairs, **options).double()
    y = torch.tensor(targets, dtype=torch.float64 if kind is NumberTargets else torch.int64)
    layers.learn_scale(y.numpy())
    z = torch.randn(6 if pairs else 3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: layers.nll(z, y), z)
    assert {*layers.columns(z, y)} >= {"loss"}


@pytest.mark.parametrize(("pairs", "same"), [("ordered", False), ("symmetric", True)])
def test_the_order_of_a_pair_counts_where_it_should(pairs: Any, same: bool) -> None:
    torch.manual_seed(0)
    layers = NumberTargets(4, 1, (3,), pairs=pairs)
    z = torch.randn(6, 4)
    swapped = z.view(3, 2, 4).flip(1).reshape(6, 4)
    assert torch.equal(layers(z), layers(swapped)) is same
    assert layers(z).shape == (3, 1)


@pytest.mark.parametrize(("confidence", "is_soft"), [(0.999, True), (0.7, False)])
def test_the_temperature_softens_probabilities_that_are_too_sure(
    confidence: float, is_soft: bool
) -> None:
    """Of 40 predictions 28 are right; logits / T has the lowest loss, and training ignores T."""
    torch.manual_seed(0)
    head = ClassTarget(4, 2).eval()
    targets = torch.tensor([0] * 28 + [1] * 12)
    p = torch.tensor([confidence, 1 - confidence]).expand(40, 2)
    z = torch.randn(5, 4)
    head.fit_temperature(p, targets)
    assert bool(head.temperature > 1.5) is is_soft
    if is_soft:  # with the penalty for small samples, not quite the 0.7 of the targets
        sure = torch.softmax(p[0].log() / head.temperature, 0)[0]
        assert 0.7 < sure < 0.9
    temperature = head.temperature.clone()
    again = torch.softmax(p.log() / temperature, 1)
    head.fit_temperature(again, targets)
    torch.testing.assert_close(head.temperature, temperature)
    outputs = head(z)
    torch.testing.assert_close(
        head.log_probabilities(outputs), torch.log_softmax(outputs / temperature.float(), 1)
    )
    head.train()
    torch.testing.assert_close(head.log_probabilities(outputs), torch.log_softmax(outputs, 1))


def test_few_right_predictions_do_not_make_a_model_sure() -> None:
    head = ClassTarget(4, 2)
    head.fit_temperature(torch.tensor([[0.6, 0.4]] * 5), torch.zeros(5, dtype=torch.long))
    assert head.temperature == 1

import json

import pytest
import torch
from torch import nn

from dgltrees.errors import ConfigError
from dgltrees.settings.layers import TrainingSettings
from dgltrees.training.optimizers import (
    load_optimizer,
    make_optimizer,
    optimizer_names,
    optimizer_state,
)


def _step(layer: nn.Linear, optimizer: torch.optim.Optimizer, seed: int) -> None:
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(seed))
    optimizer.zero_grad()
    layer(x).square().mean().backward()
    optimizer.step()


def test_adadelta_has_the_rate_of_torch() -> None:
    optimizer = make_optimizer(TrainingSettings(weight_decay=0.01), nn.Linear(3, 2).parameters())
    assert isinstance(optimizer, torch.optim.Adadelta)
    assert optimizer.param_groups[0]["lr"] == 1.0
    assert optimizer.param_groups[0]["weight_decay"] == 0.01


def test_no_weight_decay_is_none_where_torch_has_one() -> None:
    for options, expected in (({}, 0.0), ({"weight_decay": 0.3}, 0.3)):
        settings = TrainingSettings("adamw", optimizer_options=options)
        (group,) = make_optimizer(settings, nn.Linear(3, 2).parameters()).param_groups
        assert group["weight_decay"] == expected


def test_weight_decay_is_the_gradient_of_the_penalty() -> None:
    """With SGD on a loss without a gradient, a step shrinks the weights by lr * weight_decay."""
    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    settings = TrainingSettings("sgd", lr=0.1, weight_decay=0.5)
    optimizer = make_optimizer(settings, layer.parameters())
    (layer(torch.ones(1, 2)).sum() * 0).backward()
    optimizer.step()
    torch.testing.assert_close(layer.weight.detach(), before * (1 - 0.1 * 0.5))


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("options", [{}, {"foreach": True}], ids=str)
def test_steps_are_alike_on_processors(name: str, options: dict[str, bool]) -> None:
    settings = TrainingSettings(name, lr=0.01, weight_decay=0.1, optimizer_options=options)
    layers = [nn.Linear(3, 2) for _ in range(2)]
    layers[1].load_state_dict(layers[0].state_dict())
    for layer, on_processor in zip(layers, (False, True)):
        optimizer = make_optimizer(settings, layer.parameters(), on_processor=on_processor)
        fused = on_processor and name != "sgd" and not options and torch.__version__ >= (2, 4)
        assert bool(optimizer.defaults.get("fused")) == fused
        for seed in range(3):
            _step(layer, optimizer, seed)
    torch.testing.assert_close(layers[0].weight, layers[1].weight)


@pytest.mark.parametrize("name", sorted(set(optimizer_names()) - {"muon"}))
def test_state_survives_json_and_tensors(name: str) -> None:
    torch.manual_seed(0)
    settings = TrainingSettings(optimizer=name, lr=0.01)
    one, two = nn.Linear(3, 2), nn.Linear(3, 2)
    first = make_optimizer(settings, one.parameters(), on_processor=True)
    for seed in range(3):
        _step(one, first, seed)
    tensors, plain = optimizer_state(first)
    two.load_state_dict(one.state_dict())
    second = make_optimizer(settings, two.parameters(), on_processor=True)
    copies = {key: tensor.clone() for key, tensor in tensors.items()}
    load_optimizer(second, copies, json.loads(json.dumps(plain)))
    for seed in range(3, 6):
        _step(one, first, seed)
        _step(two, second, seed)
    torch.testing.assert_close(two.weight, one.weight, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (TrainingSettings("adm"), r"one of adadelta, .*got 'adm'"),
        (TrainingSettings("adam", optimizer_options={"momentum": 0.9}), "momentum"),
        (TrainingSettings("lbfgs"), "lbfgs"),
        *(
            (
                TrainingSettings("adam", optimizer_options={name: value}),
                f"optimizer_options.{name} to be {words}, got {value!r}",
            )
            for name, value, words in [
                ("foreach", "maybe", "true or false, or null"),
                ("amsgrad", 1, "true or false"),
                ("eps", True, "a number"),
                ("betas", "0.9", "a list of numbers"),
            ]
        ),
    ],
)
def test_wrong_names_and_options(settings: TrainingSettings, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_optimizer(settings, nn.Linear(1, 1).parameters())


def test_options_take_numbers_that_yaml_takes_for_text() -> None:
    settings = TrainingSettings("adam", optimizer_options={"eps": "1e-3", "betas": [0.5, 0.9]})
    optimizer = make_optimizer(settings, nn.Linear(1, 1).parameters())
    assert optimizer.defaults["eps"] == 1e-3

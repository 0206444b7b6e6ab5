from __future__ import annotations

from typing import Any

import pytest
import torch

from dgltrees.training.optimizers import Adadelta

SHAPES = [(3, 70_000), (65_536,), (5,), (0, 4)]


def _train(
    kind: type[torch.optim.Optimizer], seed: int = 0, steps: int = 4, **options: Any
) -> tuple[list[torch.nn.Parameter], torch.optim.Optimizer]:
    """Parameters and optimizer after some steps on gradients of the seed."""
    generator = torch.Generator().manual_seed(seed)
    parameters = [torch.nn.Parameter(torch.randn(s, generator=generator)) for s in SHAPES]
    optimizer = kind(parameters, **options)
    for step in range(steps):
        for index, parameter in enumerate(parameters):
            # A parameter without a gradient is left alone.
            skip = index == step % 2
            parameter.grad = None if skip else torch.randn(parameter.shape, generator=generator)
        optimizer.step()
    return parameters, optimizer


@pytest.mark.parametrize(
    "options",
    [{}, {"weight_decay": 0.01, "lr": 0.5}, {"rho": 0.5, "eps": 1e-3, "maximize": True}],
)
def test_blocks_give_the_numbers_and_the_state_of_torch(options: dict[str, Any]) -> None:
    ours, own = _train(Adadelta, **options)
    theirs, plain = _train(torch.optim.Adadelta, foreach=False, **options)
    for one, two in zip(ours, theirs):
        assert torch.equal(one, two)
        assert own.state[one].keys() == plain.state[two].keys()
        for name, value in own.state[one].items():
            expected = torch.as_tensor(plain.state[two][name])  # torch 2.2 counts steps by an int
            assert torch.equal(torch.as_tensor(value).to(expected.dtype), expected), name


def test_a_transposed_parameter_and_a_closure_take_the_step_of_torch() -> None:
    steps = []
    for kind in (Adadelta, torch.optim.Adadelta):
        weight = torch.nn.Parameter(torch.arange(6.0).view(2, 3).t())
        optimizer = kind([weight])

        def closure(
            weight: torch.nn.Parameter = weight, optimizer: torch.optim.Optimizer = optimizer
        ) -> float:
            optimizer.zero_grad()
            loss = weight.square().sum()
            loss.backward()
            return loss.item()

        losses = [optimizer.step(closure) for _ in range(3)]
        optimizer.step()
        steps.append((weight.detach(), losses))
    assert torch.equal(steps[0][0], steps[1][0])
    assert steps[0][1] == steps[1][1]
    assert steps[0][1][1] < steps[0][1][0]

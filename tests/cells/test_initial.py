"""How every parameter starts: its variance by its fans, or its constant."""

import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from dgltrees.cells import BaseCell, make_cell
from dgltrees.cells.initial import initialize

M, C, L, R, K = 11, 14, 2, 9, 3  # input, state, children, rank, operators

Start = tuple[int, int] | float | Tensor
"""The fans, in and out, of what is drawn; or the constant."""

IDENTITY = torch.eye(R).flatten()
FACTORS: dict[str, Start] = {"U": (C, R), "b_U": 1.0, "Q": (R, C), "b": 0.0}
TUCKER: dict[str, Start] = {**FACTORS, "b_U": 0.0, "core": ((R + 1) ** L, R)}
TRAIN: dict[str, Start] = {"A": (R * (C + 1), R), "b_A": IDENTITY, "Q": (R, C), "b": 0.0}

AGGREGATORS: dict[str, dict[str, Start]] = {
    "sum": {"U": (L * C, C), "b": 0.0},
    "shared_sum": {"U": (L * C, C), "b": 0.0},
    "full": {"T": ((C + 1) ** L, C)},
    "hosvd": TUCKER,
    "symmetric_hosvd": TUCKER,
    "canonical": FACTORS,
    "tensor_train": {**TRAIN, "U": (C, R), "b_U": 1.0},
}
"""Of one aggregation without a label; a core's last row, where all states are absent, is zero."""

LABEL_MODES: dict[str, dict[str, Start]] = {
    "full": {"T": ((M + 1) * (C + 1) ** L, C)},
    "hosvd": {**TUCKER, "core": ((R + 1) ** (L + 1), R), "w.weight": (M, R), "w.bias": 0.0},
    "symmetric_hosvd": {
        **TUCKER,
        "core": ((R + 1) ** (L + 1), R),
        "w.weight": (M, R),
        "w.bias": 0.0,
    },
    "canonical": {**FACTORS, "w.weight": (M, R), "w.bias": 1.0},
    "tensor_train": {**TRAIN, "w.weight": (M, R), "w.bias": 1.0},
}
"""The same where the label is a mode."""

RANKED = {name for name, starts in AGGREGATORS.items() if "Q" in starts}


def cases() -> Iterator[tuple[str, dict[str, object], dict[str, Start]]]:
    """Cells, their options, and how their parameters start."""
    gate: dict[str, Start] = {"child_gate.U": (C, C), "child_gate.b": 0.0}
    leaf: dict[str, Start] = {"leaf.weight": (M, C), "leaf.bias": 0.0}
    label: dict[str, Start] = {"child_gate.W": (M, C)}
    for name, starts in AGGREGATORS.items():
        own = {f"f.{each}": start for each, start in starts.items()}
        options = {"aggregator": name, **({"rank": R} if name in RANKED else {})}
        yield "lstm", {**options, "operators": K}, {**own, **gate, **leaf}
        added = {"label": "add"} if name in LABEL_MODES else {}
        yield "rnn", {**options, **added}, {**own, "f.W": (M, C)}
    for name, starts in LABEL_MODES.items():
        own = {f"f.{each}": start for each, start in starts.items()}
        options = {"aggregator": name, "label": "mode", **({"rank": R} if name in RANKED else {})}
        yield "lstm", options, {**own, **gate, **label}
    maps: dict[str, Start] = {
        f"{f}.{each}": start
        for f in ("f_z", "f_u")
        for each, start in {"U": (L * C, C), "b": 0.0, "W": (M, C)}.items()
    }
    yield "gru", {}, {**maps, **gate, **label}
    norms: dict[str, Start] = {
        f"{norm}.{each}": value
        for norm in ("norm", "norm_f", "norm_c")
        for each, value in (("gain", 1.0), ("bias", 0.0))
    }
    tai: dict[str, Start] = {"W": (M, C), "b": 0.0, **norms}
    yield "child_sum", {"layer_norm": True}, {**tai, "U": (C, C), "U_f": (C, C)}
    yield "nary", {"layer_norm": True}, {**tai, "U": (L * C, C)}


def made(cell: str, options: dict[str, object], init: str) -> BaseCell:
    torch.manual_seed(0)
    sizes = {} if cell == "child_sum" else {"max_children": L}
    return make_cell(cell, input_size=M, hidden_size=C, init=init, **sizes, **options)


@pytest.mark.parametrize("init", ["kaiming", "xavier"])
@pytest.mark.parametrize(
    ("cell", "options", "starts"),
    list(cases()),
    ids=lambda each: each if isinstance(each, str) else "-".join(map(str, each.values()))[:40],
)
def test_how_parameters_start(
    cell: str, options: dict[str, object], starts: dict[str, Start], init: str
) -> None:
    parameters = dict(made(cell, options, init).named_parameters())
    assert parameters.keys() == starts.keys()
    for name, start in starts.items():
        p = parameters[name].detach()
        if not isinstance(start, tuple):
            expected = torch.tensor(start) if isinstance(start, float) else start
            expected = expected.repeat(p.shape[-1] // expected.numel())  # gate by gate
            assert_close(p, expected.expand_as(p), msg=name)
            continue
        if name.split(".")[-1] in ("T", "S", "core"):
            corner, p = p[..., -1, :], p[..., :-1, :]
            assert_close(corner, torch.zeros_like(corner), msg=name)
        fan_in, fan_out = start
        variance = 2 / fan_in if init == "kaiming" else 2 / (fan_in + fan_out)
        error = 1 / math.sqrt(p.numel())  # of the mean, in standard deviations
        assert p.mean().item() == pytest.approx(0.0, abs=5 * error * math.sqrt(variance)), name
        assert p.var().item() == pytest.approx(variance, rel=5 * error * math.sqrt(2)), name
        if init == "xavier":
            assert p.abs().max() <= math.sqrt(3 * variance), name
        else:  # a normal law has tails
            assert p.abs().max() > math.sqrt(3 * variance), name


def test_uniform_is_one_range_whatever_the_fans() -> None:
    """U(-0.1, 0.1), as the code of Neural Tree Indexers has it."""
    for fan_in in (1, 10_000):
        weight = torch.empty(10_000)
        initialize(weight, fan_in, 3, "uniform")
        assert 0.099 < weight.abs().max() <= 0.1
        assert weight.var().item() == pytest.approx(0.2**2 / 12, rel=0.05)

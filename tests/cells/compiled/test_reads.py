"""Compiled code never keeps old values: whatever functions read, a change of it changes them.

The generated code runs as Python here, which needs no compiling.
"""

import random
import re
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from dgltrees import Forest, compile_report, prop_nodes_topo, run_cell
from dgltrees.cells.compiled import way
from dgltrees.cells.compiled.kernels import available
from dgltrees.traversal import Nodes
from tests.cells.compiled.interpreter import compiling
from tests.cells.compiled.user_cells import Cell

pytestmark = pytest.mark.skipif(not available(), reason="no numba")

FOREST = Forest.build(parent=[-1, 0, 0, 1, 1, 1, 4], offsets=[0, 7])
HELPERS = ModuleType("helpers_of_a_user")
sys.modules["helpers_of_a_user"] = HELPERS
SCALE, NOT_A_NUMBER, SCALES, BY_NAME = 1.0, 0.0, [1.0, 2.0], {"a": 1.0}
ARRAY, WEIGHT = np.array([1.0, 2.0]), torch.tensor(2.0, dtype=torch.float64)
COUNTER = {"calls": 0}
MODE = ContextVar("MODE", default=1.0)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compile cells over any batch, to Python; variables that tests change are as before."""
    values = {"SCALES": [1.0, 2.0], "BY_NAME": {"a": 1.0}, "COUNTER": {"calls": 0}, "SCALE": 1.0}
    values["ARRAY"] = np.array([1.0, 2.0])
    for name, value in values.items():
        monkeypatch.setattr(sys.modules[__name__], name, value)
    monkeypatch.setattr(HELPERS, "scale", 1.0, raising=False)
    with compiling():
        yield


def factor() -> float:
    return SCALE


def other_factor() -> float:
    return 3.0


def with_attribute(h: Tensor) -> Tensor:
    return h * with_attribute.scale  # type: ignore[attr-defined]


with_attribute.scale = 1.0  # type: ignore[attr-defined]


def with_default(h: Tensor, scale: float = 1.0, *, shift: float = 0.0) -> Tensor:
    return h * scale + shift


class Mixin:
    scale: ClassVar[float] = 1.0
    scales: ClassVar[list[float]] = [1.0, 2.0]

    @property
    def doubled(self) -> float:
        return 2 * self.scale

    @staticmethod
    def tripled() -> float:
        return 3 * SCALE

    @classmethod
    def by_class(cls) -> float:
        return 4 * cls.scale


@dataclass
class Slotted:
    __slots__ = ("scale",)
    scale: float


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = 1.0

    def forward(self, h: Tensor) -> Tensor:
        return h * self.scale


class Stack(nn.Sequential):
    """A class whose ``forward`` is one of torch."""


class Reading(Cell, Mixin):
    """A cell whose sum over children calls a function of the cell and the states."""

    def __init__(self, function: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__(3, 4)
        self.function = function
        self.number, self.numbers, self.names = 1.0, [1.0, 2.0], {"a": 1.0}
        self.options = SimpleNamespace(scale=1.0)
        self.queue = deque([1.0, 2.0])
        self.scaled, self.layers = Scaled(), nn.ModuleList([nn.ReLU(), nn.Linear(4, 4)])
        self.stack = Stack(nn.ReLU())
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.layers[1].weight
        self.part = partial(with_default, scale=1.0)
        self.weak = weakref.ref(self.scaled)
        self.register_buffer("buffer", torch.tensor(1.0))
        self.unread: Any = 0
        self.drop = nn.Dropout(0.5)

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        return self.function(self, h).sum(1)


def _closing() -> tuple[Callable[[Any, Tensor], Tensor], Callable[[float], None]]:
    scale = 1.0

    def read(cell: Any, h: Tensor) -> Tensor:
        return h * scale

    def change(new: float) -> None:
        nonlocal scale
        scale = new

    return read, change


def _set(name: str, value: Any) -> Callable[[Any], None]:
    """A change of a global variable of this module."""
    return lambda cell: setattr(sys.modules[__name__], name, value)


def _set_class(cell: Any) -> None:
    type(cell).scale = 2.0


CLOSED, CHANGE_CLOSED = _closing()
CHANGES: dict[str, tuple[Callable[[Any, Tensor], Tensor], Callable[[Any], Any]]] = {
    "global": (lambda c, h: h * SCALE, _set("SCALE", 2.0)),
    "global -0.0": (lambda c, h: 1 / (h * 0 + SCALE), _set("SCALE", -1.0)),
    "global to int": (lambda c, h: h * SCALE, _set("SCALE", 3)),
    "global list": (lambda c, h: h * SCALES[0], lambda c: SCALES.__setitem__(0, 2.0)),
    "global dict": (lambda c, h: h * BY_NAME["a"], lambda c: BY_NAME.update(a=2.0)),
    "global array": (lambda c, h: h * float(ARRAY[0]), lambda c: ARRAY.__setitem__(0, 2.0)),
    "function": (lambda c, h: h * factor(), _set("factor", other_factor)),
    "global of a function": (lambda c, h: h * factor(), _set("SCALE", 2.0)),
    "default": (
        lambda c, h: with_default(h),
        lambda c: setattr(with_default, "__defaults__", (2.0,)),
    ),
    "keyword default": (
        lambda c, h: with_default(h),
        lambda c: with_default.__kwdefaults__.update(shift=1.0),
    ),
    "closure": (CLOSED, lambda c: CHANGE_CLOSED(2.0)),
    "module of a user": (lambda c, h: h * HELPERS.scale, lambda c: setattr(HELPERS, "scale", 2.0)),
    "attribute": (lambda c, h: h * c.number, lambda c: setattr(c, "number", 2.0)),
    "list": (lambda c, h: h * c.numbers[1], lambda c: c.numbers.__setitem__(1, 3.0)),
    "dict": (lambda c, h: h * c.names["a"], lambda c: c.names.update(a=3.0)),
    "deque": (lambda c, h: h * c.queue[0], lambda c: c.queue.rotate()),
    "namespace": (lambda c, h: h * c.options.scale, lambda c: setattr(c.options, "scale", 2.0)),
    "weak reference": (lambda c, h: h * c.weak().scale, lambda c: setattr(c.scaled, "scale", 2.0)),
    "attribute of a function": (
        lambda c, h: with_attribute(h),
        lambda c: setattr(with_attribute, "scale", 2.0),
    ),
    "getattr": (lambda c, h: h * getattr(c, "num" + "ber"), lambda c: setattr(c, "number", 2.0)),
    "vars": (lambda c, h: h * vars(c)["number"], lambda c: setattr(c, "number", 2.0)),
    "class attribute": (lambda c, h: h * c.scale, _set_class),
    "class list": (lambda c, h: h * c.scales[0], lambda c: Mixin.scales.__setitem__(0, 2.0)),
    "instance before class": (lambda c, h: h * c.scale, lambda c: setattr(c, "scale", 5.0)),
    "property": (lambda c, h: h * c.doubled, lambda c: setattr(c, "scale", 2.0)),
    "static method": (lambda c, h: h * c.tripled(), _set("SCALE", 2.0)),
    "class method": (lambda c, h: h * c.by_class(), _set_class),
    "method of the class": (
        lambda c, h: h * c.by_class(),
        lambda c: setattr(type(c), "by_class", lambda self: 7.0),
    ),
    "function of the instance": (
        lambda c, h: h,
        lambda c: setattr(c, "function", lambda cell, h: 2 * h),
    ),
    "partial": (lambda c, h: c.part(h), lambda c: c.part.keywords.update(scale=2.0)),
    "attribute of a module": (lambda c, h: c.scaled(h), lambda c: setattr(c.scaled, "scale", 2.0)),
    "module": (lambda c, h: c.layers[0](h), lambda c: c.layers.__setitem__(0, nn.Tanh())),
    "module of a class of torch": (
        lambda c, h: c.stack(h),
        lambda c: c.stack.__setitem__(0, nn.Tanh()),
    ),
    "class of a module": (lambda c, h: c.scaled(h), lambda c: setattr(c, "scaled", nn.Tanh())),
    "forward": (lambda c, h: c.scaled(h), lambda c: setattr(c.scaled, "forward", lambda h: 2 * h)),
    "parameters": (
        lambda c, h: c.layers[1](h),
        lambda c: c.layers.__setitem__(1, nn.Linear(4, 4).double()),
    ),
    "tied parameters": (
        lambda c, h: c.tied(c.layers[1](h)),
        lambda c: setattr(c.tied, "weight", nn.Parameter(torch.eye(4, dtype=torch.float64))),
    ),
    "training": (lambda c, h: h * (2 if c.training else 1), lambda c: c.eval()),
    "built-in": (lambda c, h: h * max(c.numbers), lambda c: c.numbers.append(9.0)),
}


def states(cell: nn.Module, **options: Any) -> Tensor:
    x = torch.linspace(-1, 1, 21, dtype=torch.float64).view(7, 3)
    return run_cell(cell, FOREST, {"x": x}, **options)["h"]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_between_batches_changes_compiled_code(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, change = CHANGES[name]
    torch.manual_seed(0)
    monkeypatch.setattr(with_default, "__defaults__", (1.0,))
    monkeypatch.setattr(with_default, "__kwdefaults__", {"shift": 0.0})
    monkeypatch.setattr(sys.modules[__name__], "factor", factor)
    monkeypatch.setattr(with_attribute, "scale", 1.0)
    monkeypatch.setattr(Mixin, "scales", [1.0, 2.0])
    kind = type("Own", (Reading,), {"scale": 1.0})
    cell = kind(read).double()
    before = states(cell)
    assert compile_report(cell) == "Own is compiled"
    change(cell)
    after = states(cell)
    assert not torch.allclose(before, after)
    assert_close(after, states(cell, compile=False))
    assert compile_report(cell).startswith("Own is compiled")
    CHANGE_CLOSED(1.0)


def test_functions_of_one_code_are_different() -> None:
    x = torch.linspace(-1, 1, 21, dtype=torch.float64).view(7, 3)

    def below(nodes: Nodes) -> dict[str, Tensor]:
        return {"below": nodes.mailbox["m"].sum(1)}

    def result(scale: float, **options: Any) -> Tensor:
        def update(nodes: Nodes) -> dict[str, Tensor]:
            added = nodes.data.get("below", 0.0)
            return {"h": torch.tanh(nodes.data["x"] * scale + added)}

        batch = FOREST.batch()
        batch.ndata["x"] = x
        prop_nodes_topo(
            batch, lambda e: {"m": e.src["h"]}, below, apply_node_func=update, **options
        )
        return batch.ndata["h"]

    for scale in (1.0, 2.0, 1.0):
        assert_close(result(scale), result(scale, compile=False))


def test_modules_of_a_plain_object_may_be_replaced_in_another_order() -> None:
    class Plain:
        def __init__(self) -> None:
            self.W, self.U, self.V = (nn.Linear(3, 3).double() for _ in range(3))

        def message(self, edges: Any) -> dict[str, Tensor]:
            return {"m": edges.src["h"]}

        def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
            h = nodes.mailbox["m"]
            return {"b": self.U(h.sum(1)) + 2 * self.V(h.mean(1))}

        def update(self, nodes: Nodes) -> dict[str, Tensor]:
            return {"h": torch.tanh(self.W(nodes.data["x"]) + nodes.data.get("b", 0.0))}

    cell: Any = Plain()
    states(cell)
    del cell.U
    cell.U = nn.Linear(3, 3).double()
    assert_close(states(cell), states(cell, compile=False))


def test_what_no_function_reads_is_not_traced_again() -> None:
    cell = Reading(lambda c, h: h * c.number).double()
    states(cell)
    for value in range(20):
        cell.unread, cell.new = value, value
        COUNTER["calls"] = value
        states(cell)
    assert len(way._versions[cell]) == 1
    cell.number = 1.0 + cell.unread * 0  # an equal value
    states(cell)
    assert len(way._versions[cell]) == 1


def _counted(cell: Any, h: Tensor) -> Tensor:
    cell.number += 1
    return h


def _counted_globally(cell: Any, h: Tensor) -> Tensor:
    COUNTER["calls"] += 1
    return h


def _appended(cell: Any, h: Tensor) -> Tensor:
    cell.numbers.append(h)
    return h


def _stored(cell: Any, h: Tensor) -> Tensor:
    cell.unread = h
    return h


def _replaced(cell: Any, h: Tensor) -> Tensor:
    cell.buffer = cell.buffer + 1
    return h


def _printed(cell: Any, h: Tensor) -> Tensor:
    print(h.shape)
    return h


def _opened(cell: Any, h: Tensor) -> Tensor:
    with open(__file__) as file:
        return h * len(file.readline())


def _imports(cell: Any, h: Tensor) -> Tensor:
    from helpers_of_a_user import scale

    return h * scale


class _Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor) -> Tensor:
        return h.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad.clamp(-0.1, 0.1)


def _clips(cell: Any, h: Tensor) -> Tensor:
    h = h * 2
    if h.requires_grad:
        h.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
    return h


EFFECTS: dict[str, tuple[Callable[[Any, Tensor], Tensor], str]] = {
    "counter": (_counted, r"it changes self.number \(.*test_reads.py, line \d+\)"),
    "global counter": (_counted_globally, r"it changes COUNTER.calls"),
    "list": (_appended, r"it changes self.numbers\[2\] \(.*test_reads.py, line \d+\)"),
    "state": (_stored, r"it changes self.unread \(.*test_reads.py, line \d+\)"),
    "buffer": (_replaced, r"it changes buffer \(.*test_reads.py, line \d+\)"),
    "print": (_printed, r"it prints \(.*test_reads.py, line \d+\)"),
    "iterator": (lambda c, h: h * next(c.steps), "it reads self.steps, whose state"),
    "generator": (lambda c, h: h * c.rng.random(), "it reads self.rng, whose state"),
    "slots": (lambda c, h: h * c.fixed.scale, "it reads self.fixed, whose state"),
    "numpy": (lambda c, h: h * np.random.rand(), "it draws random numbers"),
    "random": (lambda c, h: h * random.random(), "it uses the module random"),
    "file": (_opened, r"it calls open \(.*test_reads.py, line \d+\)"),
    "item": (lambda c, h: h * c.buffer.item(), r"Python reads the values of a tensor \(.*line"),
    "context": (lambda c, h: h * MODE.get(), "it reads MODE, whose state"),
    "import": (_imports, r"it imports helpers_of_a_user \(.*line"),
    "backward": (lambda c, h: _Clipped.apply(h), "it calls _Clipped, whose backward"),
    "hook": (_clips, r"it uses register_hook \(.*line"),
    "float": (lambda c, h: h * float(WEIGHT), r"Python reads the values of a tensor \(.*line"),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_a_function_with_effects_is_not_compiled(name: str) -> None:
    function, reason = EFFECTS[name]
    cell = Reading(function).double()
    cell.steps, cell.rng, cell.fixed = count(), np.random.default_rng(0), Slotted(1.0)
    random.seed(0)
    np.random.seed(0)
    states(cell)
    assert re.search(reason, compile_report(cell)), compile_report(cell)
    assert cell.number == (4 if name == "counter" else 1)  # of three levels with children
    assert all(type(each) in (float, Tensor) for each in cell.numbers)
    assert type(cell.unread) in (int, Tensor)

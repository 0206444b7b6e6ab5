"""Constructors that check their arguments by the annotations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from dgltrees.errors import ConfigError
from dgltrees.settings import Count, Fraction, Options, checked


@checked
class Layer:
    """A class with an own constructor."""

    def __init__(
        self,
        size: Count,
        kind: Literal["mlp", "dot"] = "mlp",
        *,
        dropout: Fraction = 0.0,
        hidden: Sequence[Count] = (),
        bias: bool = True,
        **options: int,
    ) -> None:
        self.size, self.kind, self.options = size, kind, options


class Wider(Layer):
    """A class that hands arguments on."""

    def __init__(self, size: int) -> None:
        super().__init__(2 * size)


@checked
@dataclass(frozen=True)
class Sampling:
    """A dataclass."""

    temperature: Fraction = 0.5
    top_k: Count | None = None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Layer(0), "expected size to be an integer of at least 1, got 0"),
        (lambda: Layer(size=1.5), "expected size to be an integer of at least 1, got 1.5"),
        (lambda: Layer(True), "expected size to be an integer of at least 1, got True"),
        (lambda: Layer(np.int64(-2)), "expected size to be an integer of .*, got -2"),
        (lambda: Layer(1, "map"), "expected kind to be one of mlp, dot, got 'map'"),
        (lambda: Layer(1, dropout=1), "expected dropout to be a number of at least 0 and below 1"),
        (lambda: Layer(1, dropout="0.5"), "expected dropout to be a number .*, got '0.5'"),
        (lambda: Layer(1, hidden=[3, 0]), "expected hidden to be a list of integers"),
        (lambda: Layer(1, bias=1), "expected bias to be true or false, got 1"),
        (lambda: Wider(0), "expected size to be an integer of at least 1, got 0"),
        (lambda: Sampling(1.0), "expected temperature to be a number of at least 0 and below 1"),
        (lambda: Sampling(top_k=0), "expected top_k to be an integer of at least 1, or null"),
    ],
)
def test_values_that_annotations_exclude_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_other_values_pass_as_they_are() -> None:
    layer = Layer(np.int64(3), "dot", dropout=np.float32(0.5), hidden=(4, 5), scale=7)
    assert (layer.size, layer.kind, layer.options) == (3, "dot", {"scale": 7})
    assert Wider(2).size == 4
    assert Sampling(0.0, None) == Sampling(temperature=0.0)
    assert Layer.__init__.__doc__ == Layer.__init__.__wrapped__.__doc__  # type: ignore[attr-defined]


def test_a_class_of_a_table_that_wants_other_arguments_is_named() -> None:
    with pytest.raises(
        ConfigError, match=r"expected Wider\(...\) to take exactly the arguments size, x,"
    ):
        Options(Wider, {"size": 3}, "model").of(Wider, x=1)


def test_arguments_that_there_are_not_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'size'"):
        Layer()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="too many positional arguments"):
        Layer(1, "dot", 3)  # type: ignore[misc]

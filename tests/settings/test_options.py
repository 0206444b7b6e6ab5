"""Constructors that check their choices by the annotations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

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
        **options: int,
    ) -> None:
        self.size, self.kind, self.options = size, kind, options


class Wider(Layer):
    """A class that hands arguments on."""

    def __init__(self, kind: str) -> None:
        super().__init__(1, kind)


@checked
@dataclass(frozen=True)
class Row:
    """A dataclass."""

    kind: Literal["mlp", "dot"] = "mlp"


@pytest.mark.parametrize(
    "make", [lambda: Layer(1, "map"), lambda: Wider("map"), lambda: Row("map")]
)
def test_values_that_are_no_choice_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigError, match="expected kind to be one of mlp, dot, got 'map'"):
        make()


def test_other_values_pass_as_they_are() -> None:
    layer = Layer(-1.5, "dot", dropout="0.5", scale=7)
    assert (layer.size, layer.kind, layer.options) == (-1.5, "dot", {"scale": 7})
    assert Wider("dot").kind == "dot"
    assert Row() == Row(kind="mlp")
    assert Layer.__init__.__doc__ == Layer.__init__.__wrapped__.__doc__  # type: ignore[attr-defined]


def test_a_class_of_a_table_that_wants_other_arguments_is_named() -> None:
    with pytest.raises(
        ConfigError, match=r"expected Wider\(...\) to take exactly the arguments kind, x,"
    ):
        Options(Wider, {"kind": "dot"}, "model").of(Wider, x=1)


def test_arguments_that_there_are_not_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'size'"):
        Layer()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="too many positional arguments"):
        Layer(1, "dot", 3)  # type: ignore[misc]

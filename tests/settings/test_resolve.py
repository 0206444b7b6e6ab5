"""Options of a class and its parts: what is read, and the objects that are made from them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from dgltrees.errors import ConfigError
from dgltrees.settings import Count, Fraction, Option, Options, Part, chosen, options_of, schema
from dgltrees.settings.layers import section_sources
from dgltrees.settings.options import fixed_parts
from dgltrees.settings.tasks import TASKS
from dgltrees.settings.values import plain_types


class Layer:
    """A layer.

    Arguments:
        inputs: what it reads.
        size: its size.
        dropout: its dropout.
    """

    hidden: ClassVar[tuple[str, ...]] = ("inputs",)

    def __init__(self, inputs: str, size: Count, dropout: Fraction = 0.0) -> None:
        self.inputs, self.size, self.dropout = inputs, size, dropout


class Wide(Layer):
    """A layer that makes its part itself."""

    def __init__(self, inputs: str, size: Count, **options: Any) -> None:
        super().__init__(inputs, 2 * size, **options)


@dataclass(frozen=True)
class Decay:
    """A decay."""

    rate: Fraction = 0.5
    """How fast."""


@dataclass(frozen=True)
class Schedule:
    """A schedule, which nobody chooses."""

    parts: ClassVar[Mapping[str, Any]] = {"decay": {"none": None, "slow": (Decay, Decay)}}

    decay: tuple[Decay, Decay] | str = chosen("none")
    """Decay."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model of parts."""

    parts: ClassVar[Mapping[str, Any]] = {
        "layer": {"plain": Layer, "wide": Wide},
        "loss": {"none": None, "decay": Decay},
        "schedule": Schedule,
    }

    schedule: Schedule
    size: Count = 3
    """Size of a layer."""
    layer: Part[Layer] = chosen("plain")
    """Layer."""
    loss: Decay | str = chosen("none")
    """Loss."""


def made(**values: Any) -> Model:
    return Options(Model, values, "model").of(Model)


def test_a_part_is_made_by_its_parent_with_the_options_that_it_reads() -> None:
    layer = made(size=4, dropout=0.1).layer(inputs="x")
    assert (type(layer), layer.inputs, layer.size, layer.dropout) == (Layer, "x", 4, 0.1)
    wide = made(layer="wide", dropout=0.2).layer(inputs="y")
    assert (type(wide), wide.size, wide.dropout) == (Wide, 6, 0.2)
    assert made(size=4).layer(inputs="z", size=9).size == 9
    assert made(layer="wide").layer.other("layer", "plain")(inputs="x").size == 3


def test_a_dataclass_is_an_object_and_a_choice_without_options_its_name() -> None:
    assert made().loss == "none"
    assert made(loss="decay", rate=0.1).loss == Decay(0.1)


def test_the_options_of_a_part_that_nobody_chooses_have_its_name_before_them() -> None:
    assert {*Options(Model, {}, "model")} == {"size", "layer", "loss", "dropout", "schedule.decay"}
    values = {"schedule.decay": "slow", "schedule.rate": 0.3}
    assert made(**values).schedule == Schedule((Decay(0.3), Decay(0.3)))
    assert made().schedule == Schedule("none")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rate": 0.3}, "model.rate has no effect with model.loss none, but with decay; leave"),
        ({"schedule.rate": 0.3}, "no effect with model.schedule.decay none, but with slow"),
        ({"inputs": "x"}, "model.inputs has no effect in model"),
        ({"dropuot": 0.3}, "model.dropuot has no effect in model; did you mean model.dropout?"),
        ({"layer": "deep"}, "expected model.layer to be one of plain, wide, got 'deep'"),
        ({"size": 0}, "expected model.size to be an integer of at least 1, got 0"),
    ],
)
def test_options_that_are_not_read_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        made(**values)


def every_option(source: Any) -> Iterator[tuple[str, Any, Option]]:
    """The options below any choice: what stands before the name, the part, and the option."""
    queue, seen = [(source, "")], set()
    while queue:
        part, start = queue.pop()
        if part is None or (part, start) in seen:
            continue
        seen.add((part, start))
        queue += [(each, f"{start}{name}.") for name, each in fixed_parts(part).items()]
        for option in options_of(part).values():
            yield start, part, option
            for choice in (option.choices or {}).values():
                parts = choice if isinstance(choice, tuple) else (choice,)
                queue += [(each, start) for each in parts]


@pytest.mark.parametrize("task", TASKS)
def test_a_name_has_one_type_whatever_is_chosen(task: str) -> None:
    for source in section_sources(TASKS[task]).values():
        types: dict[str, set[frozenset[Any]]] = defaultdict(set)
        for start, _, option in every_option(source):
            types[start + option.name].add(frozenset(plain_types(option.type) - {type(None)}))
        assert {name for name, kinds in types.items() if len(kinds) > 1} == set()
        assert types.keys() == schema(source).keys()


@pytest.mark.parametrize("task", TASKS)
def test_every_setting_has_a_sentence(task: str) -> None:
    """Those without one want a line in the docstring of the class, or below the field."""
    for source in section_sources(TASKS[task]).values():
        for _, part, option in every_option(source):
            assert option.sentence.endswith("."), f"{part.__name__}.{option.name}"

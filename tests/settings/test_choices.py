"""Constructors refuse a value that is none of their choices."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import get_type_hints

import pytest
from torch import nn

import dgltrees
from dgltrees.cells.initial import Init
from dgltrees.errors import ConfigError
from dgltrees.settings.values import choices_of


def classes() -> Iterator[type[nn.Module]]:
    """The modules of torch that cells, models and the installed papers define."""
    for found in pkgutil.walk_packages(dgltrees.__path__, "dgltrees."):
        if (
            found.name.split(".")[1] in ("cells", "models", "papers")
            and ".compiled" not in found.name
        ):
            module = importlib.import_module(found.name)
            for kind in vars(module).values():
                is_class = isinstance(kind, type) and issubclass(kind, nn.Module)
                is_here = is_class and kind.__module__ == found.name and "__init__" in vars(kind)
                if is_here and not inspect.isabstract(kind):
                    yield kind


CHOICES = [
    (kind, name)
    for kind in classes()
    for name, hint in get_type_hints(inspect.unwrap(kind.__init__), include_extras=True).items()
    if choices_of(hint) and hint is not Init  # which initialize checks
]


@pytest.mark.parametrize(("kind", "name"), CHOICES)
def test_values_that_are_no_choice_are_refused(kind: type[nn.Module], name: str) -> None:
    """Without it, ``RRNetCell(memory="restord")`` is another model than with ``restored``."""
    needed = {
        parameter.name: None
        for parameter in inspect.signature(kind).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    }
    with pytest.raises(ConfigError, match=f"^expected {name} to be .*one of .*, got 'restord'"):
        kind(**{**needed, name: "restord"})

"""Options: the arguments of constructors as settings, with their types, ranges and sentences.

A setting is an argument of a constructor: its name, type, default and sentence stand there and
nowhere else. :func:`options_of` reads them off a class. An argument whose value names another class
(``aggregator="hosvd"``) is declared in the class attribute ``parts``, and brings the arguments of
that class with it.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import (
    Annotated,
    Any,
    Callable,
    Literal,
    Optional,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import docstring_parser

from dgltrees.errors import ConfigError

__all__ = [
    "Count",
    "Fraction",
    "NonNegative",
    "NonNegativeInt",
    "Option",
    "Options",
    "Positive",
    "Range",
    "Seed",
    "Share",
    "expected",
    "nearest",
    "options_of",
]

T = TypeVar("T")
Source = Callable[..., Any]
"""A class or function whose keyword arguments are options."""
Choices = Mapping[str, Optional[Source]]
"""What an option's value names; None is a choice without options of its own."""


@dataclass(frozen=True)
class Range:
    """The values that a number may have: in words, and as a test."""

    words: str
    holds: Callable[[Any], bool]


Count = Annotated[int, Range("at least 1", lambda value: value >= 1)]
NonNegativeInt = Annotated[int, Range("at least 0", lambda value: value >= 0)]
Seed = Annotated[int, Range("at least 0 and below 2^63", lambda value: 0 <= value < 1 << 63)]
Positive = Annotated[float, Range("more than 0", lambda value: value > 0)]
NonNegative = Annotated[float, Range("at least 0", lambda value: value >= 0)]
Fraction = Annotated[float, Range("at least 0 and below 1", lambda value: 0 <= value < 1)]
Share = Annotated[float, Range("at least 0 and at most 1", lambda value: 0 <= value <= 1)]

_PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: ("a number", lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)),
    str: ("a text", lambda value: isinstance(value, str)),
    dict: ("a mapping", lambda value: isinstance(value, Mapping)),
    list: ("a list", lambda value: isinstance(value, (list, tuple))),
}


@dataclass(frozen=True)
class Option:
    """One argument of a constructor, as a setting.

    Arguments:
        name: of the argument.
        type: its annotation, with ranges (:data:`Count` and the others) and ``Literal`` choices.
        default: its default; None where the constructor has none, for code then decides.
        sentence: what the docstring of the class says of it.
        choices: where the value names a part: the classes by name.
    """

    name: str
    type: Any
    default: Any
    sentence: str
    choices: Optional[Choices] = None

    @property
    def words(self) -> str:
        """What values there are: ``"a whole number of at least 1, or null"``."""
        return _words(self.type, self.choices)

    def check(self, value: Any, section: str) -> None:
        """Raise ConfigError if ``value`` is not one that this option may have."""
        wrong = expected(self.type, value, self.choices)
        if wrong is not None:
            raise ConfigError(f"expected {section}.{self.name} to be {wrong}, got {value!r}")


def _words(kind: Any, choices: Optional[Choices] = None) -> str:
    if choices is not None:
        return f"one of {', '.join(choices)}"
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return f"{_words(args[0])} of {args[1].words}".replace("of more", "above 0, more")
    if origin is Literal:
        return f"one of {', '.join(map(str, args))}"
    if origin is Union:
        return ", or ".join("null" if arg is type(None) else _words(arg) for arg in args)
    if origin is list:
        return f"a list, each {_words(args[0])}"
    return _PLAIN.get(origin or kind, ("any value", bool))[0]


def expected(kind: Any, value: Any, choices: Optional[Choices] = None) -> Optional[str]:
    """None if ``value`` is of the annotation ``kind``, else the values that are, in words.

    Arguments:
        kind: a type, ``Optional``, ``Union``, ``Literal``, ``list[...]``, ``dict`` or a range.
        value: the value.
        choices: names that are the only values, whatever ``kind`` says.
    """
    words = _words(kind, choices)
    return None if _fits(kind, value, choices) else words


def _fits(kind: Any, value: Any, choices: Optional[Choices] = None) -> bool:
    if choices is not None:
        return isinstance(value, str) and value in choices
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _fits(args[0], value) and args[1].holds(value)
    if origin is Literal:
        return any(value == arg and type(value) is type(arg) for arg in args)
    if origin is Union:
        return any(value is None if arg is type(None) else _fits(arg, value) for arg in args)
    if origin is list:
        return _PLAIN[list][1](value) and all(_fits(args[0], member) for member in value)
    plain = _PLAIN.get(origin or kind)
    return plain is None or plain[1](value)


@cache
def options_of(source: Source) -> Mapping[str, Option]:
    """The arguments of ``source`` as options, by name and in their order.

    Sentences are those of the class, or of the nearest base class that has one; arguments that are
    passed on to a base class (``**options``) are among them.

    Arguments:
        source: a class, whose attribute ``parts`` maps names of its arguments to tables of classes;
            or a function.

    Returns:
        the options; those of parts are not among them, see :meth:`Options.names`.
    """
    parts: Mapping[str, Choices] = getattr(source, "parts", {})
    sentences = _sentences(source)
    found: dict[str, Option] = {}
    for function in _constructors(source):
        hints = get_type_hints(function, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            if name == "self" or name in found:
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            required = parameter.default is parameter.empty
            kind = hints.get(name, Any)
            found[name] = Option(
                name,
                Optional[kind] if required else kind,
                None if required else parameter.default,
                sentences.get(name, ""),
                parts.get(name),
            )
    return found


def _constructors(source: Source) -> Iterator[Callable[..., Any]]:
    """The constructor of a class, and those of its bases that it passes arguments on to."""
    if not inspect.isclass(source):
        yield source
        return
    for kind in source.__mro__:
        function = kind.__dict__.get("__init__")
        if function is None:
            continue
        yield function
        parameters = inspect.signature(function).parameters.values()
        if not any(p.kind is p.VAR_KEYWORD for p in parameters) or kind.__dict__.get("parts"):
            return  # what else it takes are the arguments of its parts


def _sentences(source: Source) -> dict[str, str]:
    kinds = reversed(source.__mro__) if inspect.isclass(source) else [source]
    sentences: dict[str, str] = {}
    for kind in kinds:
        if kind is object or not (kind.__doc__ or is_dataclass(kind)):
            continue
        docstring = (
            docstring_parser.parse_from_object(kind)
            if is_dataclass(kind)
            else docstring_parser.parse(inspect.getdoc(kind) or "")
        )
        for each in docstring.params:
            for name in each.arg_name.split(", "):
                sentences[name] = " ".join((each.description or "").split())
    return sentences


class Options(Mapping[str, Any]):
    """The values of all options that a class and its chosen parts read.

    ``Options(TreeModel, {"gate": "lstm", "aggregator": "hosvd", "rank": 3}, "model")`` holds every
    option of ``TreeModel``, of the cell ``lstm`` and of the aggregator ``hosvd``, those that are
    not among the values by their defaults, and nothing else.

    Arguments:
        source: the class.
        values: options by name.
        section: what stands before an option's name in errors.

    Raises:
        ConfigError: an option is not read, naming the nearest that is; or a value is not one that
            the option may have.
    """

    def __init__(self, source: Source, values: Mapping[str, Any], section: str) -> None:
        self.source, self.section = source, section
        self.options = self.names(source, values, section)
        for name in values:
            if name not in self.options:
                raise ConfigError(
                    f"{section}.{name} is not read here; "
                    + nearest(f"{section}.{name}", [f"{section}.{n}" for n in self.options])
                )
        self.values_by_name = {
            name: values.get(name, option.default) for name, option in self.options.items()
        }

    @staticmethod
    def names(
        source: Source, values: Mapping[str, Any], section: str = "model"
    ) -> dict[str, Option]:
        """The options that are read where they have these ``values``, parts included.

        Raises:
            ConfigError: a value is not one that its option may have.
        """
        options: dict[str, Option] = {}
        sources, hidden = [source], set(getattr(source, "hidden", ()))
        while sources:
            part = sources.pop(0)
            for name, option in options_of(part).items():
                if name in options or name in hidden:
                    continue
                options[name] = option
                value = values.get(name, option.default)
                option.check(value, section)
                chosen = None if option.choices is None else option.choices[value]
                if chosen is not None:
                    sources.append(chosen)
        return options

    def of(self, source: Callable[..., T], **arguments: Any) -> T:
        """An object of ``source``, made with the values here and with ``arguments`` besides.

        Where both have a value that of ``arguments`` counts.
        """
        names = Options.names(source, {**self.values_by_name, **arguments}, self.section)
        taken = {name: self[name] for name in names if name in self and name not in arguments}
        return source(**taken, **arguments)

    def replace(self, **values: Any) -> Options:
        """The same options with other values of some."""
        return Options(self.source, {**self.values_by_name, **values}, self.section)

    def __getitem__(self, name: str) -> Any:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __repr__(self) -> str:
        return f"Options({self.values_by_name})"


def nearest(name: str, names: Iterable[str]) -> str:
    """``"did you mean model.rank?"``, or all ``names`` where none is alike."""
    all_names = list(names)
    near = difflib.get_close_matches(name, all_names, n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(all_names)}"

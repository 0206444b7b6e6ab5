"""Options: the arguments of constructors as settings, with their types, ranges and sentences.

A setting is an argument of a constructor: its name, type, default and sentence stand there and
nowhere else. :func:`options_of` reads them off a class. An argument whose value names another class
(``aggregator="hosvd"``) is declared in the class attribute ``parts``, and brings the arguments of
that class with it.
"""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache, wraps
from inspect import signature
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
import numpy as np
import yaml

from dgltrees.errors import ConfigError

__all__ = [
    "Count",
    "Fraction",
    "NonNegative",
    "NonNegativeInt",
    "Option",
    "Options",
    "Positive",
    "PositiveShare",
    "Range",
    "Seed",
    "Share",
    "checked",
    "expected",
    "nearest",
    "options_of",
    "overlay",
]

T = TypeVar("T")
C = TypeVar("C", bound=type)
GOOGLE = docstring_parser.DocstringStyle.GOOGLE  # others take formulas for fields
Source = Callable[..., Any]
"""A class or function whose keyword arguments are options."""
Choices = Mapping[str, Union[Source, tuple[Source, ...], None]]
"""What an option's value names: a class, or several; None is a choice without options."""


@dataclass(frozen=True)
class Range:
    """The values that a number may have: in words behind "a number", and as a test."""

    words: str
    holds: Callable[[Any], bool]


Count = Annotated[int, Range("of at least 1", lambda value: value >= 1)]
NonNegativeInt = Annotated[int, Range("of at least 0", lambda value: value >= 0)]
Seed = Annotated[int, Range("of at least 0 and below 2^63", lambda value: 0 <= value < 1 << 63)]
Positive = Annotated[float, Range("above 0", lambda value: value > 0)]
NonNegative = Annotated[float, Range("of at least 0", lambda value: value >= 0)]
Fraction = Annotated[float, Range("of at least 0 and below 1", lambda value: 0 <= value < 1)]
Share = Annotated[float, Range("of at least 0 and at most 1", lambda value: 0 <= value <= 1)]

PositiveShare = Annotated[float, Range("above 0 and at most 1", lambda value: 0 < value <= 1)]

_LISTS = (list, tuple, Sequence)
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

    def parse(self, words: Sequence[str], name: str) -> Any:
        """The value that words on a command line say.

        Arguments:
            words: what stands behind the flag; none say true, several are a list.
            name: the option's full name, for errors.

        Raises:
            ConfigError: words are of no such type; ranges are not looked at.
        """
        if not words:
            text = "true" if self.takes(bool) else ""
        elif len(words) == 1 or not self.takes(list):
            text = " ".join(words)
        else:
            return [_converted(_member(self.type), word) for word in words]
        value = _converted(self.type, text)
        if self.takes(list) and not self.takes(str) and value is not None:
            return value if isinstance(value, list) else [_converted(_member(self.type), text)]
        return value

    def takes(self, kind: type) -> bool:
        """Whether values of a plain type are among this option's."""
        return kind in _plain_types(self.type)

    def check(self, value: Any, section: str) -> None:
        """Raise ConfigError if ``value`` is not one that this option may have."""
        wrong = expected(self.type, value, self.choices)
        if wrong is not None:
            raise ConfigError(f"expected {section}.{self.name} to be {wrong}, got {value!r}")


def _plain_types(kind: Any) -> set[Any]:
    """The types that an annotation stands for: ``Optional[Count]`` for int and None."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _plain_types(args[0])
    if origin is Literal:
        return {type(arg) for arg in args}
    if origin is Union:
        return set().union(*map(_plain_types, args))
    return {list} if origin in _LISTS else {origin or kind}


def _member(kind: Any) -> Any:
    """The type of a list's members."""
    for each in (kind, *get_args(kind)):
        if get_origin(each) in _LISTS:
            return get_args(each)[0]
    return str


def _converted(kind: Any, text: str) -> Any:
    """A word as a value of the annotation ``kind``, or as it is, to be refused by a check."""
    types = _plain_types(kind)
    if text in ("null", "None") and type(None) in types:
        return None
    if list in types and text.startswith("["):
        return _from_yaml(text)
    if str in types:
        return text
    value = _from_yaml(text)
    if float in types and not isinstance(value, bool):
        try:  # YAML takes 1e-3 for a text
            return float(value) if isinstance(value, (int, str)) else value
        except ValueError:
            return value
    return value


def _from_yaml(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _words(kind: Any, choices: Optional[Choices] = None) -> str:
    if choices is not None:
        return f"one of {', '.join(choices)}"
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return f"{_words(args[0])} {args[1].words}"
    if origin is Literal:
        return f"one of {', '.join(map(str, args))}"
    if origin is Union:
        names = ["null" if arg is type(None) else _words(arg) for arg in args]
        return ", or ".join(["a path"] if "a path" in names else names)
    if origin in _LISTS:
        return f"a list, each {_words(args[0])}"
    if origin is os.PathLike:
        return "a path"
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


def checked(source: C) -> C:
    """A class whose constructor refuses values that its annotations exclude.

    A class decorator, for ranges (:data:`Count` and the others), ``Literal`` choices and plain
    types. The constructor then raises ConfigError: ``expected dropout to be a number of at least 0
    and below 1, got 1.5``.
    """
    init: Callable[..., None] = source.__init__  # type: ignore[misc]
    hashable: Source = source

    @wraps(init)
    def check_and_init(self: Any, *args: Any, **kwargs: Any) -> None:
        for name, value in signature(init).bind(self, *args, **kwargs).arguments.items():
            value = value.item() if isinstance(value, np.generic) else value
            wrong = expected(_annotations(hashable, init).get(name), value)
            if wrong is not None:
                raise ConfigError(f"expected {name} to be {wrong}, got {value!r}")
        init(self, *args, **kwargs)

    setattr(source, "__init__", check_and_init)  # noqa: B010
    return source


@cache
def _annotations(source: Source, init: Callable[..., None]) -> dict[str, Any]:
    # The annotations of a dataclass belong to the modules of its bases.
    return get_type_hints(source if is_dataclass(source) else init, include_extras=True)


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
    if origin in _LISTS:
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
    defaults = (
        {each.name: _default(each) for each in fields(source)} if is_dataclass(source) else {}
    )
    found: dict[str, Option] = {}
    for function in _constructors(source):
        # The annotations of a dataclass belong to the modules of its bases.
        annotated = source if is_dataclass(source) else function
        hints = get_type_hints(annotated, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            if name == "self" or name in found:
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            default = defaults.get(name, parameter.default)
            default = list(default) if isinstance(default, tuple) else default  # as YAML has it
            required = default is parameter.empty
            kind = hints.get(name, Any)
            found[name] = Option(
                name,
                Optional[kind] if required else kind,
                None if required else default,
                sentences.get(name, ""),
                parts.get(name),
            )
    return found


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default


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
            docstring_parser.parse_from_object(kind, GOOGLE)
            if is_dataclass(kind)
            else docstring_parser.parse(inspect.getdoc(kind) or "", GOOGLE)
        )
        for each in docstring.params:
            for name in each.arg_name.split(", "):
                sentences[name] = " ".join((each.description or "").split())
    return sentences


class Options(Mapping[str, Any]):
    """The values of all options that a class and its chosen parts read.

    ``Options(TreeModel, {"cell": "lstm", "aggregator": "hosvd", "rank": 3}, "model")`` holds every
    option of ``TreeModel``, of the cell ``lstm`` and of the aggregator ``hosvd``, those that are
    not among the values by their defaults, and nothing else.

    A class takes part by optional class attributes: ``parts``, see :func:`options_of`;
    ``includes``, classes whose options are always read with its own;
    ``hidden``, names of arguments of its parts that code gives and nobody sets; ``prefix``, under
    which its options and those of its parts stand (``policy.agent``); and ``unread``, a static
    method from the values of its options to those that are not read with these values, and why.

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
        self.options = _read_options(source, values, values, section)
        self.values_by_name = {
            name: values.get(name, option.default) for name, option in self.options.items()
        }

    def of(self, source: Callable[..., T], *, prefix: str = "", **arguments: Any) -> T:
        """An object of ``source``, made with the values here and with ``arguments`` besides.

        Arguments:
            source: a class.
            prefix: under which its options stand here; its attribute ``prefix`` goes before.
            arguments: what the options do not say; where both say something these count.
        """
        start = _prefix(source, f"{prefix}." if prefix else "")
        chosen = {
            name[len(start) :]: value for name, value in self.items() if name.startswith(start)
        }
        names = _resolve(source, {**chosen, **arguments}, self.section, top="")[0]
        named = {name: chosen[name] for name in names if name in chosen and name not in arguments}
        return source(**named, **arguments)

    def replace(self, **values: Any) -> Options:
        """The same options with other values of some; what is not read any more goes."""
        merged = overlay(self.source, self.values_by_name, values, self.section)
        return Options(self.source, merged, self.section)

    def __getitem__(self, name: str) -> Any:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __repr__(self) -> str:
        return f"Options({self.values_by_name})"


def overlay(
    source: Source, below: Mapping[str, Any], above: Mapping[str, Any], section: str
) -> dict[str, Any]:
    """The values ``above`` laid over those ``below``, of which what is not read any more goes.

    Raises:
        ConfigError: an option of ``above`` is not read, or its value is not one it may have.
    """
    merged = {**below, **above}
    options = _read_options(source, merged, above, section)
    return {name: value for name, value in merged.items() if name in options}


def _read_options(
    source: Source, values: Mapping[str, Any], asked: Mapping[str, Any], section: str
) -> dict[str, Option]:
    """The options that are read with these values; those asked for must be among them."""
    options, reasons = _resolve(source, values, section)
    for name, value in asked.items():
        if name in options or value is None:  # null takes a value back
            continue
        full = f"{section}.{name}"
        if name in reasons:
            raise ConfigError(f"{full} is not read {reasons[name]}; leave it out")
        raise ConfigError(f"{full} is not read here; {nearest(name, options, section=section)}")
    return options


def _prefix(source: Source, otherwise: str) -> str:
    own = getattr(source, "prefix", None)
    return f"{own}." if own else otherwise


def _resolve(
    source: Source, values: Mapping[str, Any], section: str, top: Optional[str] = None
) -> tuple[dict[str, Option], dict[str, str]]:
    """The options read where they have these values, and why others of the parts are not.

    Arguments:
        source: the class with which it begins.
        values: options by name.
        section: for errors.
        top: the prefix of ``source`` itself; without it, as the class says.

    Raises:
        ConfigError: a value is not one that its option may have.
    """
    options: dict[str, Option] = {}
    reasons: dict[str, str] = {}
    hidden: set[str] = set()
    queue = [(source, _prefix(source, "") if top is None else top)]
    while queue:
        part, prefix = queue.pop(0)
        hidden |= {prefix + name for name in getattr(part, "hidden", ())}
        queue += [(each, _prefix(each, prefix)) for each in getattr(part, "includes", ())]
        named = {prefix + name: option for name, option in options_of(part).items()}
        unread: Optional[Callable[[Mapping[str, Any]], Mapping[str, str]]]
        unread = getattr(part, "unread", None)
        if unread is not None:
            at = len(prefix)
            here = {n[at:]: values.get(n, option.default) for n, option in named.items()}
            reasons.update({prefix + name: why for name, why in unread(here).items()})
        for name, option in named.items():
            if name in options or name in hidden or name in reasons:
                continue
            options[name] = option
            value = values.get(name, option.default)
            option.check(value, f"{section}.{prefix}"[:-1] if prefix else section)
            chosen = None if option.choices is None else option.choices[value]
            for each in chosen if isinstance(chosen, tuple) else (chosen,):
                if each is not None:
                    queue.append((each, _prefix(each, prefix)))
    return options, reasons


def nearest(name: str, names: Iterable[str], otherwise: str = "", *, section: str = "") -> str:
    """``"did you mean model.rank?"``; where no name is alike ``otherwise``, or all ``names``.

    Arguments:
        name: a name that there is not.
        names: those that there are.
        otherwise: what to say where none of them is alike.
        section: what stands before each name, with a dot.
    """
    start = f"{section}." if section else ""
    all_names = list(names)
    near = difflib.get_close_matches(name, all_names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {start}{near[0]}?"
    return otherwise or f"there are {', '.join(start + each for each in all_names)}"

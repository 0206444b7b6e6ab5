"""Options: names, types, defaults and descriptions of constructor arguments, read from a class."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, wraps
from itertools import pairwise
from typing import Any, TypeVar, cast, get_type_hints

import docstring_parser

from dgltrees.errors import ConfigError, called
from dgltrees.settings.values import (
    choices_of,
    expected,
    from_text,
    in_words,
    member_type,
    plain_types,
    suggestion,
)

C = TypeVar("C", bound=type)
GOOGLE = docstring_parser.DocstringStyle.GOOGLE  # others take formulas for fields
_COLLECTED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Source = Callable[..., Any]
"""A class or function whose keyword arguments are options."""
Choices = Mapping[str, Source | tuple[Source, ...] | None]
"""The values of an option: a class, or several, by name; None for a value without options."""


@dataclass(frozen=True)
class Option:
    """One argument of a constructor, as a setting.

    Arguments:
        name: name of the argument.
        type: its annotation, with ranges such as :data:`Count` and ``Literal`` choices.
        default: its default; None if the constructor has none and code provides the value.
        sentence: its description in the docstring of the class.
        choices: the classes by name, if the value selects a part.
        required: whether the constructor needs a value, which is not None.
    """

    name: str
    type: Any
    default: Any
    sentence: str
    choices: Choices | None = None
    required: bool = False

    @property
    def words(self) -> str:
        """The type as text for the help, without None: ``"integer of at least 1"``."""
        words = re.sub(r"^null, or |, or null$", "", in_words(self.type, self.choices))
        return re.sub(r"(^|, or )an? ", r"\1", words)

    def parse(self, words: Sequence[str], name: str) -> Any:
        """Convert words of a command line to a value.

        Arguments:
            words: the words after the flag; no words mean true, several are a list. A list of
                numbers may have commas instead of spaces.
            name: full name of the option, for errors.

        Returns:
            The value, of the type of the option where the words allow it.

        Raises:
            ConfigError: there are several words for one value, or none; types are not checked.
        """
        if not words and not self.takes(bool):
            raise ConfigError(f"missing the value of --{name}")
        if not words:
            text = "true"
        elif len(words) == 1:
            text = words[0]
        elif not self.takes(list):
            raise ConfigError(
                f"expected one value of {name}, got {' '.join(words)!r}; quote a value that "
                "contains spaces, and write flags with two dashes"
            )
        else:
            return [from_text(member_type(self.type), word) for word in words]
        value = from_text(self.type, text)
        wants_list = self.takes(list) and not self.takes(str) and not self.takes(type(value))
        if wants_list and value is not None:
            member = member_type(self.type)
            parts = [text] if str in plain_types(member) else text.split(",")
            return [from_text(member, part) for part in parts]
        return value

    def takes(self, kind: type) -> bool:
        """Return whether the type of the option includes a plain type."""
        return kind in plain_types(self.type)

    def check(self, value: Any, section: str) -> None:
        """Raise ConfigError if ``value`` is not allowed for this option."""
        wrong = expected(self.type, value, self.choices)
        if wrong is not None:
            name = called(f"{section}.{self.name}")
            hint = suggestion(value, self.choices or choices_of(self.type))
            raise ConfigError(f"expected {name} to be {wrong}, got {value!r:.200}{hint}")


def checked(source: C) -> C:
    """Make a constructor refuse values that its ``Literal`` annotations exclude: a class decorator.

    The constructor then raises ConfigError: ``expected kind to be one of mlp, dot, got 'map'``.
    Numbers are not checked: settings are (:class:`Options`), and torch checks sizes.

    Returns:
        The class with the checking constructor.
    """
    init: Callable[..., None] = source.__init__  # type: ignore[misc]
    hashable: Source = source

    @wraps(init)
    def check_and_init(self: Any, *args: Any, **kwargs: Any) -> None:
        given = inspect.signature(init).bind(self, *args, **kwargs).arguments
        for name, kind in _annotations(hashable, init).items():
            wrong = expected(kind, given[name]) if name in given and choices_of(kind) else None
            if wrong is not None:
                raise ConfigError(f"expected {name} to be {wrong}, got {given[name]!r}")
        init(self, *args, **kwargs)

    setattr(source, "__init__", check_and_init)  # noqa: B010
    return source


@cache
def _annotations(source: Source, init: Callable[..., None]) -> dict[str, Any]:
    """Return the annotations of a constructor, those of a dataclass in the modules of its bases."""
    if not is_dataclass(source):
        return get_type_hints(init, include_extras=True)
    hints: dict[str, Any] = {}
    for kind in reversed(inspect.getmro(cast(type, source))):
        names = getattr(kind, "__source__", None) or vars(sys.modules[kind.__module__])
        for name, annotation in inspect.get_annotations(kind).items():
            hints[name] = eval(annotation, names) if isinstance(annotation, str) else annotation
    return hints


def chosen(name: str) -> Any:
    """Return the name of a part as the default of an argument that selects a part."""
    return name


@cache
def collects(source: Source) -> bool:
    """Return whether a constructor takes ``**options``, and so builds its parts itself."""
    parameters = inspect.signature(source).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def fixed_parts(source: Source) -> dict[str, Source]:
    """Return the parts that are not a choice, by argument; their options have it as prefix."""
    parts: Mapping[str, Any] = getattr(source, "parts", {})
    return {name: part for name, part in parts.items() if not isinstance(part, Mapping)}


@cache
def options_of(source: Source) -> Mapping[str, Option]:
    """Return the arguments of ``source`` as options, by name and in order.

    Descriptions are taken from the class, or from the nearest base class that has one. Arguments
    that are passed to a base class (``**options``) are included.

    Arguments:
        source: a function, or a class. The class attribute ``parts`` maps the name of an
            argument to a table, from which the value of the argument selects a class, or to a
            class, see :func:`fixed_parts`.

    Returns:
        The options, without those of parts.
    """
    parts: Mapping[str, Any] = getattr(source, "parts", {})
    fixed = fixed_parts(source)
    sentences = _sentences(source)
    made = fields(source) if is_dataclass(source) else ()
    defaults = {f.name: f.default_factory() for f in made if f.default_factory is not MISSING}
    found: dict[str, Option] = {}
    for function in _constructors(source):
        hints = _annotations(source, function)
        for name, parameter in inspect.signature(function).parameters.items():
            if name == "self" or name in found or name in fixed:
                continue
            if parameter.kind in _COLLECTED:
                continue
            default = defaults.get(name, parameter.default)
            default = list(default) if isinstance(default, tuple) else default  # as YAML has it
            without = default is parameter.empty
            kind = str if name in parts else hints.get(name, Any)
            found[name] = Option(
                name,
                kind | None if without else kind,
                None if without else default,
                sentences.get(name, ""),
                parts.get(name),
                without and expected(kind, None) is not None,
            )
    return found


def _constructors(source: Source) -> Iterator[Callable[..., Any]]:
    """Yield the constructor of a class, and those of its bases that receive its arguments."""
    if not inspect.isclass(source):
        yield source
        return
    for kind in source.__mro__:
        function = kind.__dict__.get("__init__")
        if function is None:
            continue
        yield function
        if not collects(function) or kind.__dict__.get("parts"):
            return  # what else it takes are the arguments of its parts


def _sentences(source: Source) -> dict[str, str]:
    kinds = reversed(source.__mro__) if inspect.isclass(source) else [source]
    sentences: dict[str, str] = {}
    for kind in kinds:
        if kind is object or not (kind.__doc__ or is_dataclass(kind)):
            continue
        for each in docstring_parser.parse(inspect.getdoc(kind) or "", GOOGLE).params:
            for name in each.arg_name.split(", "):
                sentences[name] = " ".join((each.description or "").split())
        if is_dataclass(kind):
            sentences.update(_field_sentences(cast(type, kind)))
    return sentences


def _field_sentences(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the fields of a dataclass with the strings below them, read from its source."""
    if "__source__" in kind.__dict__:
        node = kind.__dict__["__source__"].nodes[kind.__name__][0]
    else:
        try:
            node = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
        except OSError:  # a class of an interactive session
            return
    for field, text in pairwise(node.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            with suppress(ValueError):  # it is no text
                yield ast.unparse(field.target), " ".join(ast.literal_eval(text.value).split())

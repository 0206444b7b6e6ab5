"""The values of settings: parsed from untrusted YAML and from words, and checked against types.

A type is an annotation: ``int``, ``Count | None``, ``list[Fraction]``, ``Literal["a", "b"]``.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
import yaml
from yaml.reader import ReaderError

_LONGEST = 1_000_000
_DEEPEST = 50


class _Loader(yaml.SafeLoader):
    """A YAML loader of limited depth and without aliases, which can expand to gigabytes."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem=f"got the alias *{event.anchor}, expected the value itself",
                problem_mark=event.start_mark,
            )
        if self.depth > _DEEPEST:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem=f"expected at most {_DEEPEST} nested mappings and lists, got more",
                problem_mark=event.start_mark,
            )
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = set[str]()
        for key, _ in node.value:
            name: Any = self.construct_object(key, deep=True)
            if not isinstance(name, str):
                raise yaml.MarkedYAMLError(
                    problem=f"got the name {name!r:.60}, expected a string; put it in quotes",
                    problem_mark=key.start_mark,
                )
            if name in names:
                raise yaml.MarkedYAMLError(
                    problem=f"got the name {name!r} twice, expected it once",
                    problem_mark=key.start_mark,
                )
            names.add(name)
        return super().construct_mapping(node, deep)


def load_yaml(text: str) -> Any:
    """Return the value of YAML text; it has plain types, and strings as keys."""
    if len(text) > _LONGEST:
        raise ValueError(f"expected at most {_LONGEST:,} characters, got {len(text):,}")
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, LookupError) as error:
        where, what = "", str(error)
        if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
            where = f"line {error.problem_mark.line + 1}: "
            what = ", ".join(filter(None, (error.context, error.problem)))
        elif isinstance(error, ReaderError):
            where = f"line {text.count(chr(10), 0, error.position) + 1}: "
            what = f"the character {text[error.position]!r} is not allowed"
        what = " ".join(what.split()) or type(error).__name__
        raise ValueError(f"expected YAML: {where}{what:.300}") from None


def plain(value: Any) -> Any:
    """Return a value as in YAML and JSON: scalars and arrays of NumPy or pandas as Python's."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if hasattr(value, "to_list"):
        return value.to_list()
    if isinstance(value, Mapping):
        return {plain(key): plain(member) for key, member in value.items()}
    return [plain(member) for member in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class Range:
    """The allowed values of a number: as text that follows "a number", and as a test."""

    words: str
    holds: Callable[[Any], bool]


Count = Annotated[int, Range("of at least 1", lambda value: value >= 1)]
"""Integers from 1."""
NonNegativeInt = Annotated[int, Range("of at least 0", lambda value: value >= 0)]
"""Integers from 0."""
SampleSize = Annotated[int, Range("from 0 to 10 million", lambda value: 0 <= value <= 10**7)]
"""The number of examples of a generated data set."""
Seed = Annotated[int, Range("of at least 0 and below 2^63", lambda value: 0 <= value < 1 << 63)]
"""Seeds of the generators of torch and numpy."""
Positive = Annotated[float, Range("above 0", lambda value: 0 < value < math.inf)]
"""Numbers above 0, such as a learning rate."""
NonNegative = Annotated[float, Range("of at least 0", lambda value: 0 <= value < math.inf)]
"""Numbers from 0, such as the weight of a penalty."""
Fraction = Annotated[float, Range("of at least 0 and below 1", lambda value: 0 <= value < 1)]
"""Numbers from 0 to below 1, such as a dropout probability or a held-out fraction."""
Share = Annotated[float, Range("of at least 0 and at most 1", lambda value: 0 <= value <= 1)]
"""Numbers from 0 to 1."""
PositiveShare = Annotated[float, Range("above 0 and at most 1", lambda value: 0 < value <= 1)]
"""Numbers above 0 up to 1."""

_BEYOND = 1 << 63
_LISTS = (list, tuple, Sequence)
_UNIONS = (Union, UnionType)  # the first of a range or a Literal, and another type
_PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("an integer", lambda value: isinstance(value, int) and _is_number(value)),
    float: ("a number", lambda value: _is_number(value)),
    str: ("a string", lambda value: isinstance(value, str)),
    dict: ("a mapping", lambda value: isinstance(value, Mapping)),
    list: ("a list", lambda value: isinstance(value, (list, tuple))),
}


def _is_number(value: Any) -> bool:
    """Return whether a value is a float, or an integer that others than Python can hold."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, float) or (is_integer and abs(value) < _BEYOND)


def plain_types(kind: Any) -> set[Any]:
    """Return the types of an annotation: int and None for ``Count | None``."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return plain_types(args[0])
    if origin is Literal:
        return {type(arg) for arg in args}
    if origin in _UNIONS:
        return set().union(*map(plain_types, args))
    return {list} if origin in _LISTS else {origin or kind}


def member_type(kind: Any) -> Any:
    """Return the type of a list's members."""
    for each in (kind, *get_args(kind)):
        if get_origin(each) in _LISTS:
            return get_args(each)[0]
    return str


def from_text(kind: Any, text: str) -> Any:
    """Convert a word to a value of the annotation ``kind``; unchanged if it is not one."""
    types = plain_types(kind)
    if text in ("null", "None") and type(None) in types:
        return None
    if list in types and text.startswith("["):
        return _from_yaml(text)
    if str in types or text == "-":  # standard input, and to YAML a list
        return text
    value = _from_yaml(text)
    if float in types and not isinstance(value, bool):
        try:  # 1e-3 is a string in YAML
            return float(value) if isinstance(value, (int, str)) else value
        except ValueError:
            return value
    return value


def _from_yaml(text: str) -> Any:
    try:
        return load_yaml(text)
    except ValueError:
        return text


def in_words(kind: Any, choices: Mapping[str, Any] | None = None) -> str:
    """Return the values of a type as text: ``"an integer of at least 1, or null"``."""
    if choices is not None:
        return f"one of {', '.join(choices)}"
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return f"{in_words(args[0])} {args[1].words}"
    if origin is Literal:
        return f"one of {', '.join(map(str, args))}"
    if origin in _UNIONS:
        names = ["null" if arg is type(None) else in_words(arg) for arg in args]
        return ", or ".join(["a path"] if "a path" in names else names)
    if origin in _LISTS:
        return _list_in_words(in_words(args[0]))
    if origin is os.PathLike:
        return "a path"
    return _PLAIN.get(origin or kind, ("any value", bool))[0]


def _list_in_words(member: str) -> str:
    """Return ``"a list of integers of at least 1"`` for ``"an integer of at least 1"``."""
    article, _, words = member.partition(" ")
    if article not in ("a", "an") or "," in words:
        return f"a list, each {member}"
    noun, _, rest = words.partition(" ")
    return f"a list of {noun}s {rest}".rstrip()


def expected(kind: Any, value: Any, choices: Mapping[str, Any] | None = None) -> str | None:
    """Return None if ``value`` is of the annotation ``kind``, else the allowed values as text.

    Arguments:
        kind: a type, ``X | Y``, ``Literal``, ``list[...]``, ``dict`` or a range.
        value: the value.
        choices: names that are the only values, whatever ``kind`` is.
    """
    if _fits(kind, value, choices):
        return None
    words = in_words(kind, choices)
    members = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(each, int) and abs(each) >= _BEYOND for each in members):
        words += ", of at most 63 bits"
    if isinstance(value, str) and choices is None and _fits(kind, from_text(kind, value)):
        words += " (in YAML without quotes, and 1.0e-3 instead of 1e-3)"
    return words


def choices_of(kind: Any) -> list[str]:
    """Return the strings that a type names as choices, such as those of a ``Literal``."""
    if get_origin(kind) is Literal:
        return [arg for arg in get_args(kind) if isinstance(arg, str)]
    return [choice for arg in get_args(kind) for choice in choices_of(arg)]


def near_names(name: str, names: Iterable[str], number: int = 1) -> list[str]:
    """Return the names that are most similar to a name that does not exist, at most ``number``."""
    lower = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), lower, n=number, cutoff=0.6)
    if not near and len(name) > 2:
        near = [each for each in lower if name.lower() in each][:number]
    return [lower[each] for each in near]


def suggestion(value: object, names: Iterable[str]) -> str:
    """Return ``"; did you mean lstm?"`` for a value similar to a name, else an empty string."""
    near = near_names(value, names) if isinstance(value, str) else []
    return f"; did you mean {near[0]}?" if near else ""


def _fits(kind: Any, value: Any, choices: Mapping[str, Any] | None = None) -> bool:
    if choices is not None:
        return isinstance(value, str) and value in choices
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _fits(args[0], value) and args[1].holds(value)
    if origin is Literal:
        return any(value == arg and type(value) is type(arg) for arg in args)
    if origin in _UNIONS:
        return any(value is None if arg is type(None) else _fits(arg, value) for arg in args)
    if origin in _LISTS:
        return _PLAIN[list][1](value) and all(_fits(args[0], member) for member in value)
    plain = _PLAIN.get(origin or kind)
    return plain is None or plain[1](value)

"""Options: the arguments of constructors as settings, with their types, ranges and descriptions.

A setting is an argument of a constructor: its name, type, default and description are defined there
and nowhere else. :func:`options_of` reads them from a class. An argument whose value selects
another class (``aggregator="hosvd"``) is declared in the class attribute ``parts``, and adds the
arguments of that class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from inspect import signature
from typing import Any, Generic, TypeVar

from dgltrees.errors import ConfigError, called
from dgltrees.settings.options import Option, Source, collects, fixed_parts, options_of
from dgltrees.settings.values import near_names

T = TypeVar("T")


class Options(Mapping[str, Any]):
    """The values of all options of a class and of its selected parts.

    ``Options(TreeModel, {"cell": "lstm", "aggregator": "hosvd", "rank": 3}, "model")`` contains
    every option of ``TreeModel``, of the cell ``lstm`` and of the aggregator ``hosvd``, with
    defaults for those that are not among the values.

    A class defines its options by optional class attributes: ``parts``, see :func:`options_of`;
    ``hidden``, names of arguments of the class and its parts that are not settings; and ``unread``,
    a static method that maps the values of its options to the names of options without effect, with
    the reason.

    Arguments:
        source: the class.
        values: options by name.
        section: prefix of the names of options in errors.
        reader: the object that uses the options, for errors, such as ``"the task listops"``.

    Raises:
        ConfigError: an option has no effect (with the reason, or the nearest option that has one),
            or a value is not allowed.
    """

    def __init__(
        self, source: Source, values: Mapping[str, Any], section: str, reader: str = ""
    ) -> None:
        self.source, self.section, self.reader = source, section, reader
        self.options = _read_options(source, values, values, section, reader)
        self.values_by_name = {
            name: values.get(name, option.default) for name, option in self.options.items()
        }

    def of(self, source: Callable[..., T], *, prefix: str = "", **arguments: Any) -> T:
        """Return an object of ``source``, created with these options and with ``arguments``.

        If an argument selects a part, the constructor receives the part: an object of a dataclass,
        a :class:`Part` of another class, a tuple of these for several classes, or the name if there
        is no class. A constructor with ``**options`` receives the name and the options of the part.

        Arguments:
            source: a class.
            prefix: prefix of the names of its options.
            arguments: further arguments; they override options of the same name.

        Raises:
            ConfigError: an option lacks a value, or the class needs other arguments.
        """
        start = f"{prefix}." if prefix else ""
        below = {
            name[len(start) :]: value for name, value in self.items() if name.startswith(start)
        }
        names = options_of(source)
        if collects(source):
            names = _resolve(source, {**below, **arguments}, self.section)[0]
        named = {
            name: below[name] if collects(source) else self._argument(option, below[name], start)
            for name, option in names.items()
            if name in below and name not in arguments
        }
        for name, value in named.items():
            if value is None and names[name].required:
                full = called(f"{self.section}.{start}{name}")
                raise ConfigError(f"missing {full} ({names[name].words})")
        for name, part in fixed_parts(source).items():
            named.setdefault(name, self.of(part, prefix=start + name))
        try:
            signature(source).bind(**named, **arguments)
        except TypeError as error:
            given = ", ".join({**named, **arguments})
            raise ConfigError(
                f"expected {getattr(source, '__name__', source)}(...) to take exactly the "
                f"arguments {given}, got: {error}"
            ) from None
        return source(**named, **arguments)

    def part(self, name: str) -> Any:
        """Return the part that the option ``name`` selects, as passed to a constructor."""
        option = self.options[name]
        return self._argument(option, self[name], name[: -len(option.name)])

    def source_of(self, name: str) -> Any:
        """Return the class that the option ``name`` selects; None if it has no options."""
        choices = self.options[name].choices
        return None if choices is None else choices[self[name]]

    def _argument(self, option: Option, value: Any, start: str) -> Any:
        """Return the value of an option for a constructor: the part, if the option selects one."""
        if option.choices is None or option.choices[value] is None:
            return value
        parts = [
            self.of(part, prefix=start[:-1])
            if is_dataclass(part)
            else Part(self, value, part, start[:-1])
            for part in _parts(option.choices[value])
        ]
        return parts[0] if len(parts) == 1 else tuple(parts)

    def replace(self, **values: Any) -> Options:
        """Return the same options with some values replaced; values without effect are dropped."""
        merged = overlay(self.source, self.values_by_name, values, self.section, self.reader)
        return Options(self.source, merged, self.section, self.reader)

    def __getitem__(self, name: str) -> Any:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def __repr__(self) -> str:
        return f"Options({self.values_by_name})"


class Part(Generic[T]):
    """A part of a model as a constructor receives it: a function from further arguments to a ``T``.

    Arguments:
        options: the options of the model.
        name: the name of the part in settings.
        source: its class.
        prefix: prefix of the names of its options in those of the model.
    """

    def __init__(self, options: Options, name: str, source: Callable[..., T], prefix: str) -> None:
        self.options, self.name, self.source, self.prefix = options, name, source, prefix

    def __call__(self, **arguments: Any) -> T:
        """Return the part with its options and ``arguments``; see :meth:`Options.of`."""
        return self.options.of(self.source, prefix=self.prefix, **arguments)

    def other(self, option: str, name: str) -> Part[Any]:
        """Return the part of another name for ``option``, with the options that both have."""
        part: Part[Any] = self.options.replace(**{option: name}).part(option)
        return part


def overlay(
    source: Source,
    below: Mapping[str, Any],
    above: Mapping[str, Any],
    section: str,
    reader: str = "",
) -> dict[str, Any]:
    """Merge two sets of values; ``above`` overrides ``below``.

    Values of ``below`` that have no effect after the merge are dropped.

    Returns:
        The merged values by name.

    Raises:
        ConfigError: an option of ``above`` has no effect, or its value is not allowed.
    """
    merged = {**below, **above}
    options = _read_options(source, merged, above, section, reader)
    return {name: value for name, value in merged.items() if name in options}


def _read_options(
    source: Source,
    values: Mapping[str, Any],
    asked: Mapping[str, Any],
    section: str,
    reader: str = "",
) -> dict[str, Option]:
    """Return the options that have an effect with these values, which include ``asked``."""
    options, reasons = _resolve(source, values, section)
    for name, value in asked.items():
        if name in options or value is None:  # null takes a value back
            continue
        full = called(f"{section}.{name}")
        reason = reasons.get(name) or _choice_without(name, options, values, section)
        if reason:
            raise ConfigError(f"{full} has no effect {reason}; leave it out")
        words = name.replace("_", " ")
        described = [each for each, option in options.items() if words in option.sentence.lower()]
        cure = "leave it out (dgltrees train PRESET --help lists all settings)" if reader else ""
        if described:
            cure = f"did you mean {called(f'{section}.{described[0]}')}?"
        below = schema(source)
        if cure and name not in below:
            cure = nearest(name, sorted(below), cure, section=section)
        cure = nearest(name, options, cure, section=section)
        raise ConfigError(f"{full} has no effect in {reader or section}; {cure}")
    return options


def _choice_without(
    name: str, options: Mapping[str, Option], values: Mapping[str, Any], section: str
) -> str:
    """Return the selected part without an option, and the parts with it; empty if there is none."""
    for key, option in options.items():
        prefix = key[: -len(option.name)]
        readers = [
            choice
            for choice, parts in (option.choices or {}).items()
            if any(name in schema(part, prefix) for part in _parts(parts))
        ]
        chosen = values.get(key, option.default)
        if readers and chosen not in readers:
            return f"with {called(f'{section}.{key}')} {chosen}, but with {', '.join(readers)}"
    return ""


@cache
def schema(source: Source, prefix: str = "") -> Mapping[str, Option]:
    """Return the options of a class and of all its parts by name, for any selection.

    A name has the same type in all parts, so that a word on the command line has one value.
    """
    found: dict[str, Option] = {}
    queue, seen = [(source, prefix)], set[tuple[Source, str]]()
    while queue:
        part, start = queue.pop()
        if (part, start) in seen:
            continue
        seen.add((part, start))
        queue += [(each, f"{start}{name}.") for name, each in fixed_parts(part).items()]
        for name, option in options_of(part).items():
            found.setdefault(start + name, option)
            for parts in (option.choices or {}).values():
                queue += [(each, start) for each in _parts(parts)]
    return found


def _parts(choice: Source | tuple[Source, ...] | None) -> tuple[Source, ...]:
    if choice is None:
        return ()
    return choice if isinstance(choice, tuple) else (choice,)


def _resolve(
    source: Source, values: Mapping[str, Any], section: str
) -> tuple[dict[str, Option], dict[str, str]]:
    """Return the options that have an effect with these values, and why others have none."""
    options: dict[str, Option] = {}
    reasons: dict[str, str] = {}
    hidden: set[str] = set()
    queue = [(source, "")]
    while queue:
        part, prefix = queue.pop(0)
        hidden |= {prefix + name for name in getattr(part, "hidden", ())}
        queue += [(each, f"{prefix}{name}.") for name, each in fixed_parts(part).items()]
        named = {prefix + name: option for name, option in options_of(part).items()}
        unread: Callable[[Mapping[str, Any]], Mapping[str, str]] | None
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
            chosen = _parts(option.choices[value] if option.choices else None)
            queue += [(each, prefix) for each in chosen]
    return options, reasons


def nearest(
    name: str, names: Iterable[str], otherwise: str = "", *, section: str = "", number: int = 1
) -> str:
    """Return ``"did you mean model.rank?"``; without a similar name ``otherwise`` or all names.

    Arguments:
        name: a name that does not exist.
        names: the names that exist.
        otherwise: the text if no name is similar.
        section: prefix of each name, before a dot.
        number: largest number of names to suggest.
    """
    start = f"{section}." if section else ""
    all_names = list(names)
    near = near_names(name, all_names, number)
    if near:
        return f"did you mean {' or '.join(called(start + each) for each in near)}?"
    return otherwise or f"there are {', '.join(called(start + each) for each in all_names)}"

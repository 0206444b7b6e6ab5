"""Options: the arguments of constructors as settings, with their types, ranges and sentences.

A setting is an argument of a constructor: its name, type, default and sentence stand there and
nowhere else. :func:`options_of` reads them off a class. An argument whose value names another class
(``aggregator="hosvd"``) is declared in the class attribute ``parts``, and brings the arguments of
that class with it.
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
    """The values of all options that a class and its chosen parts read.

    ``Options(TreeModel, {"cell": "lstm", "aggregator": "hosvd", "rank": 3}, "model")`` holds every
    option of ``TreeModel``, of the cell ``lstm`` and of the aggregator ``hosvd``, those that are
    not among the values by their defaults, and nothing else.

    A class takes part by optional class attributes: ``parts``, see :func:`options_of`;
    ``hidden``, names of arguments of it and its parts that code gives and nobody sets; and
    ``unread``, a static method from the values of its options to those that are not read with
    these values, and why.

    Arguments:
        source: the class.
        values: options by name.
        section: what stands before an option's name in errors.
        reader: what reads the options, for errors: ``"the task listops"``.

    Raises:
        ConfigError: an option is not read, saying why, or naming the nearest that is; or a value
            is not one that the option may have.
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
        """An object of ``source``, made with the values here and with ``arguments`` besides.

        Where an argument chooses a part, the constructor gets the part: of a dataclass an object,
        of another class a :class:`Part`, of several classes a tuple of these, and the name where
        there is no class. A constructor with ``**options`` gets the name and the part's options.

        Arguments:
            source: a class.
            prefix: under which its options stand here.
            arguments: what the options do not say; where both say something these count.

        Raises:
            ConfigError: the class wants other arguments.
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
        for name, part in fixed_parts(source).items():
            named.setdefault(name, self.of(part, prefix=start + name))
        try:
            signature(source).bind(**named, **arguments)
        except TypeError as error:
            given = ", ".join({**named, **arguments})
            raise ConfigError(
                f"expected {getattr(source, '__name__', source)}(...) to take the arguments "
                f"{given}, and to want no others, got: {error}"
            ) from None
        return source(**named, **arguments)

    def part(self, name: str) -> Any:
        """The part that the option ``name`` chooses, as :meth:`of` hands it to a constructor."""
        option = self.options[name]
        return self._argument(option, self[name], name[: -len(option.name)])

    def source_of(self, name: str) -> Any:
        """The class that the option ``name`` chooses; None where it has no options."""
        choices = self.options[name].choices
        return None if choices is None else choices[self[name]]

    def _argument(self, option: Option, value: Any, start: str) -> Any:
        """The value of an option for a constructor: the part, where it chooses one."""
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
        """The same options with other values of some; what is not read any more goes."""
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
    """A part of a model as its constructor gets it, which makes a ``T`` from more arguments.

    Arguments:
        options: those of the model.
        name: the name of the part, as settings have it.
        source: its class.
        prefix: under which its options stand in those of the model.
    """

    def __init__(self, options: Options, name: str, source: Callable[..., T], prefix: str) -> None:
        self.options, self.name, self.source, self.prefix = options, name, source, prefix

    def __call__(self, **arguments: Any) -> T:
        """The part, made with its options and with ``arguments``; see :meth:`Options.of`."""
        return self.options.of(self.source, prefix=self.prefix, **arguments)

    def other(self, option: str, name: str) -> Part[Any]:
        """The part that ``option`` would choose by another name, with the options they share."""
        part: Part[Any] = self.options.replace(**{option: name}).part(option)
        return part


def overlay(
    source: Source,
    below: Mapping[str, Any],
    above: Mapping[str, Any],
    section: str,
    reader: str = "",
) -> dict[str, Any]:
    """The values ``above`` laid over those ``below``, of which what is not read any more goes.

    Raises:
        ConfigError: an option of ``above`` is not read, or its value is not one it may have.
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
    """The options that are read with these values; those asked for must be among them."""
    options, reasons = _resolve(source, values, section)
    for name, value in asked.items():
        if name in options or value is None:  # null takes a value back
            continue
        full = called(f"{section}.{name}")
        reason = reasons.get(name) or _choice_without(name, options, values, section)
        if reason:
            raise ConfigError(f"{full} is not read {reason}; leave it out")
        words = name.replace("_", " ")
        described = [each for each, option in options.items() if words in option.sentence.lower()]
        cure = "leave it out (dgltrees train PRESET --help lists what is read)" if reader else ""
        if described:
            cure = f"did you mean {called(f'{section}.{described[0]}')}?"
        below = schema(source)
        if cure and name not in below:
            cure = nearest(name, sorted(below), cure, section=section)
        cure = nearest(name, options, cure, section=section)
        raise ConfigError(f"{full} is not read by {reader or section}; {cure}")
    return options


def _choice_without(
    name: str, options: Mapping[str, Option], values: Mapping[str, Any], section: str
) -> str:
    """The chosen part that does not read an option, and those that do; empty if none does."""
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
    """The options that a class and its parts read by name, whatever is chosen.

    A name has one type in all parts, so that a word of a command line has one value.
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
    """The classes that a choice names."""
    if choice is None:
        return ()
    return choice if isinstance(choice, tuple) else (choice,)


def _resolve(
    source: Source, values: Mapping[str, Any], section: str
) -> tuple[dict[str, Option], dict[str, str]]:
    """The options read where they have these values, and why others of the parts are not.

    Arguments:
        source: the class with which it begins.
        values: options by name.
        section: for errors.

    Raises:
        ConfigError: a value is not one that its option may have.
    """
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
    """``"did you mean model.rank?"``; where no name is alike ``otherwise``, or all ``names``.

    Arguments:
        name: a name that there is not.
        names: those that there are.
        otherwise: what to say where none of them is alike.
        section: what stands before each name, with a dot.
        number: names to suggest, at most.
    """
    start = f"{section}." if section else ""
    all_names = list(names)
    near = near_names(name, all_names, number)
    if near:
        return f"did you mean {' or '.join(called(start + each) for each in near)}?"
    return otherwise or f"there are {', '.join(called(start + each) for each in all_names)}"

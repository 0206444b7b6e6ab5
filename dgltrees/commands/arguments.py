"""Conversion of the words of a command line to the arguments of a function.

A command is a function. Its positional parameters are words in this order, keyword-only parameters
are flags, a ``list`` takes several words, and the docstring is the help. A parameter of the type
:class:`Layer` takes all flags ``--data.…``, ``--model.…`` and ``--training.…``. A parameter of the
type :class:`~dgltrees.formats.RecordLayout` takes a flag for each of its fields.
"""

from __future__ import annotations

import functools
import inspect
import shutil
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import docstring_parser

from dgltrees.errors import ConfigError
from dgltrees.settings import Option, nearest, options_of
from dgltrees.settings.catalog import preset_values
from dgltrees.settings.layers import SECTIONS, nearest_setting
from dgltrees.settings.options import GOOGLE

Command = Callable[..., None]


class Layer(dict[str, list[str]]):
    """Settings as words of a command line: ``{"model.rank": ["3"]}``.

    Arguments:
        flags: the words after each flag, at its last occurrence.
        repeated: the flags that occur more than once.
    """

    def __init__(self, flags: Mapping[str, list[str]], repeated: Collection[str] = ()) -> None:
        super().__init__(flags)
        self.repeated = repeated


def resumable(command: Command) -> Command:
    """Add a message on how to resume to a command that can be interrupted."""

    @functools.wraps(command)
    def run(*args: Any, **flags: Any) -> None:
        try:
            command(*args, **flags)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the same command continues from here") from None

    return run


def needs_settings(command: Command) -> bool:
    """Return whether a command has flags for the settings of presets."""
    return any(p.annotation == "Layer" for p in inspect.signature(command).parameters.values())


def arguments(command: Command, argv: Sequence[str], name: str) -> dict[str, Any]:
    """Parse the arguments of a command.

    Arguments:
        command: the function.
        argv: words and flags.
        name: name of the command, for errors.

    Returns:
        The arguments of the function by name.

    Raises:
        ConfigError: a flag is unknown, a value has the wrong type, or an argument is missing.
    """
    options = _options(command)
    words, flags, repeated = split(argv)
    values: dict[str, Any] = {}
    if needs_settings(command):
        section_flags = {key: v for key, v in flags.items() if _is_setting(key)}
        values["layer"] = Layer(section_flags, repeated)
        flags = {key: v for key, v in flags.items() if key not in section_flags}
    positional = [option for option in options.values() if _is_positional(command, option)]
    for option in positional:
        if option.takes(list):
            flags.setdefault(option.name, words)
            words = []
        elif words:
            flags.setdefault(option.name, [words.pop(0)])
    if words:
        usage = f"{_usage(positional)} and flags" if positional else "only flags"
        flag = "--input" if "input" in options else "--data.train" * needs_settings(command)
        cure = f"; name a file with {flag} " if flag else " "
        raise ConfigError(
            f"dgltrees {name} expected {usage}, got {' '.join(words)!r} too{cure}"
            f"(see dgltrees {name} --help)"
        )
    for option in positional:
        if not flags.get(option.name):
            first = " (before all flags)" if flags else ""
            _check_required(command, option, option.name.upper(), name, first)
    for flag, texts in flags.items():
        key = flag.replace("-", "_")
        if key not in options:
            known = [f"--{each}" for each in options if options[each] not in positional]
            hint = nearest(f"--{flag}", known)
            section, dot, rest = flag.partition(".")
            if needs_settings(command) and dot:
                hint = nearest(section, SECTIONS).replace("?", f".{rest}?")
            elif needs_settings(command) and not hint.startswith("did"):
                hint += ", and settings with their section, such as --training.epochs"
                for preset in (flags.get("presets") or flags.get("preset") or [])[:1]:
                    hint = nearest_setting(key, preset_values(preset)["task"], hint, "--")
            raise ConfigError(
                f"dgltrees {name} has no flag --{flag}; {hint} (see dgltrees {name} --help)"
            )
        option = options[key]
        check_once(option, flag, repeated)
        values[key] = option.parse(texts, key)
        _check(option, values[key])
    if needs_settings(command):  # a wrong name is said before a missing flag
        for preset in values.get("presets") or [values["preset"]]:
            preset_values(preset)
    for option in options.values():
        if values.get(option.name) in (None, []):
            _check_required(command, option, f"--{option.name}", name)
    layout = _layout(command)
    if layout is not None:
        fields = [each for each in options_of(layout) if each in values]
        values["layout"] = layout(**{each: values.pop(each) for each in fields})
    return values


def _check_required(
    command: Command, option: Option, shown: str, name: str, cure: str = ""
) -> None:
    if _is_required(command, option):
        sentence = option.sentence.replace("``", "").rstrip(".")
        raise ConfigError(
            f"missing {shown} of dgltrees {name}{cure}: {sentence} (see dgltrees {name} --help)"
        )


def check_once(option: Option, flag: str, repeated: Collection[str]) -> None:
    """Check that a flag with a list of values occurs only once.

    Other flags may be repeated; the last value counts.

    Raises:
        ConfigError: the flag occurs again.
    """
    if flag in repeated and option.takes(list):
        raise ConfigError(
            f"expected --{flag} once, with all its values, --{flag} A B, got it twice"
        )


def _is_setting(flag: str) -> bool:
    section, _, name = flag.partition(".")
    return section in SECTIONS and bool(name)


def _check(option: Option, value: Any) -> None:
    try:
        option.check(value, "")
    except ConfigError as error:
        raise ConfigError(str(error).replace("expected .", "expected --", 1)) from None


def _options(command: Command) -> dict[str, Option]:
    for name, parameter in inspect.signature(command).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ConfigError(
                f"expected named parameters of {command.__module__}.{command.__name__}, got "
                f"{parameter}; for several words write {name}: list[str]"
            )
    options = {n: each for n, each in options_of(command).items() if n not in ("layer", "layout")}
    layout = _layout(command)
    return options if layout is None else {**options, **options_of(layout)}


def _layout(command: Command) -> Any:
    """Return the class ``RecordLayout``, from the module of a command that takes one."""
    takes_layout = "layout" in inspect.signature(command).parameters
    return inspect.unwrap(command).__globals__["RecordLayout"] if takes_layout else None


def _is_required(command: Command, option: Option) -> bool:
    parameter = inspect.signature(command).parameters.get(option.name)
    return parameter is not None and parameter.default is parameter.empty


def _is_positional(command: Command, option: Option) -> bool:
    parameter = inspect.signature(command).parameters.get(option.name)
    return parameter is not None and parameter.kind is not parameter.KEYWORD_ONLY


def split(argv: Sequence[str]) -> tuple[list[str], dict[str, list[str]], set[str]]:
    """Return the words before the first flag, the words after each flag, and repeated flags."""
    words: list[str] = []
    flags: dict[str, list[str]] = {}
    repeated: set[str] = set()
    into = words
    for word in argv:
        if word.startswith("--") and len(word) > 2:
            flag, equals, value = word[2:].partition("=")
            if flag in flags:
                repeated.add(flag)
            into = flags[flag] = [value] if equals else []
        else:
            into.append(word)
    return words, flags, repeated


def _usage(positional: Sequence[Option]) -> str:
    return " ".join(
        f"{o.name.upper()} ..." if o.takes(list) else o.name.upper() for o in positional
    )


def help_text(
    command: Command,
    name: str,
    settings: Mapping[str, tuple[Mapping[str, Option], Mapping[str, Any]]] | None = None,
) -> str:
    """Return the help of a command, from its signature and docstring.

    Arguments:
        command: the function.
        name: name of the command.
        settings: for each section of settings its options and their values.
    """
    docstring = docstring_parser.parse(inspect.getdoc(command) or "", GOOGLE)
    options = _options(command)
    positional = [option for option in options.values() if _is_positional(command, option)]
    flags = [option for option in options.values() if option not in positional]
    parts = [f"usage: dgltrees {name} {_usage(positional)} [flags]".replace("  ", " ")]
    about = [docstring.short_description or "", docstring.long_description or ""]
    parts += [_filled(" ".join(text.split())) for text in about if text]
    if positional:
        parts.append("\n".join(_entry(o.name.upper(), o.sentence) for o in positional))
    defaults = {o.name: o.default for o in flags}
    parts.append(_table("flags", "--", flags, defaults, command))
    for section, (read, values) in (settings or {}).items():
        named = [replace(option, name=key) for key, option in read.items()]
        title = f"{section} settings"
        parts.append(_table(title, f"--{section}.", named, values, None))
    return "\n\n".join(filter(None, parts))


def _table(
    title: str,
    start: str,
    options: Sequence[Option],
    values: Mapping[str, Any],
    command: Command | None,
) -> str:
    if not options:
        return ""
    lines = [f"{title}:"]
    for option in options:
        required = command is not None and _is_required(command, option)
        value = "required" if required else f"default: {_shown(values[option.name])}"
        about = f"{option.sentence} ({option.words}; {value})"
        lines.append(_entry(f"{start}{option.name}", about))
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _entry(name: str, text: str) -> str:
    """Return a name and its indented description, which begins with a capital letter."""
    text = text[:1].upper() + text[1:]
    return f"  {name}\n" + textwrap.indent(_filled(text, 6), " " * 6)


def _filled(text: str, indent: int = 0) -> str:
    width = min(100, shutil.get_terminal_size((100, 24)).columns) - indent
    return "\n".join(textwrap.wrap(text.replace("``", ""), max(40, width), break_on_hyphens=False))

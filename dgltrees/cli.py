"""The command line: a table from the name of a command to its function."""

from __future__ import annotations

import codecs
import importlib
import io
import json
import logging
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from dgltrees.errors import ConfigError, TreeError, file_problem
from dgltrees.registry import Registry, first_line

COMMANDS: Registry[Any] = Registry(
    "commands",
    {
        "train": "dgltrees.commands.training:train",
        "evaluate": "dgltrees.commands.runs:evaluate",
        "predict": "dgltrees.commands.runs:predict",
        "encode": "dgltrees.commands.runs:encode",
        "sweep": "dgltrees.commands.training:sweep",
        "explain": "dgltrees.commands.inspection:explain",
        "similar": "dgltrees.commands.inspection:similar",
        "make-data": "dgltrees.formats.synthetic:GENERATORS",
        "draw": "dgltrees.commands.data:draw",
        "inspect": "dgltrees.commands.data:inspect",
        "presets": "dgltrees.commands.presets:presets",
        "show": "dgltrees.commands.presets:show",
    },
)
"""The commands by name: functions, or tables of functions that the next word selects."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Invalid data and settings print one line on standard error, and so does a warning.

    Arguments:
        argv: the words after ``dgltrees``; default: those of the process.

    Returns:
        the exit status: 0, 2 for an error, or 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:
        return _fail("the standard output is closed; to leave out what is printed, use > /dev/null")
    if sys.stderr is None:  # print would take standard output instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="dgltrees.escape")
    logger, said = logging.getLogger("dgltrees"), logging.StreamHandler(sys.stderr)
    said.setFormatter(logging.Formatter("dgltrees: %(message)s"))
    logger.addHandler(said)
    level = logger.level
    logger.setLevel(logging.INFO)
    usual = warnings.formatwarning
    warnings.formatwarning = _one_line
    try:
        status = _run(words)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader of the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ConfigError, TreeError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(file_problem(error))
    except KeyboardInterrupt as stop:
        _fail("; ".join(["stopped", *map(str, stop.args)]))
        return 130
    finally:
        warnings.formatwarning = usual
        logger.removeHandler(said)
        logger.setLevel(level)


def _run(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return 0 if words else 2
    if words[0] == "--version":
        from dgltrees import __version__

        print(f"dgltrees {__version__}")
        return 0
    name, argv = words[0], _imported(words[1:])
    if name not in COMMANDS:
        from dgltrees.settings import nearest

        raise ConfigError(f"no command {name!r}; {nearest(name, COMMANDS)}")
    _call(name, argv)
    return 0


def _imported(argv: Sequence[str]) -> list[str]:
    """Import the modules that ``--import`` names; return the words without that flag.

    No module is ever imported because a run directory names it.
    """
    rest, modules = [], []
    words = iter(argv)
    for word in words:
        flag, equals, module = word.partition("=")
        if flag == "--import":
            modules.append(module if equals else next(words, ""))
        else:
            rest.append(word)
    folder = os.getcwd()
    if modules and folder not in sys.path:
        sys.path.append(folder)
    for module in modules:
        try:
            if not all(part.isidentifier() for part in module.split(".")):
                raise ImportError("not the name of a module")
            importlib.import_module(module)
        except ImportError as error:
            raise ConfigError(
                f"expected --import to name a module in this folder or PYTHONPATH, got {module!r}: "
                f"{error}"
            ) from None
    return rest


def _call(name: str, argv: Sequence[str]) -> None:
    """Run a command, or print its help.

    Helps and wrong words are handled with the source of the command, before it is imported.
    """
    from dgltrees.commands import arguments, settings_help
    from dgltrees.settings.source import reading_sources

    asks_help = "-h" in argv or "--help" in argv
    words = [word for word in argv if word not in ("-h", "--help")]
    with reading_sources():
        command = COMMANDS[name]
        names = [word for word in words if not word.startswith("-")][:1]
        is_table = isinstance(command, Mapping)  # the next word chooses
        if is_table and not names and asks_help:
            print(f"usage: dgltrees {name} NAME [flags]\n\n{COMMANDS.summary(name)}.\n")
            for each, function in command.items():
                print(f"  {each:22} {first_line(function.__doc__ or '')}")
            print(f"\ndgltrees {name} NAME --help prints the flags.")
            return
        if is_table and (not names or names[0] not in command):
            near = arguments.nearest(" ".join(names), command)
            got = f"expected a name, got {names[0]}" if names else "missing a name"
            raise ConfigError(f"{name}: {got}; {near}")
        full = name
        if is_table:
            full, command = f"{name} {names[0]}", command[names[0]]
            words.remove(names[0])  # the first; the value of a flag may be the same word
        if asks_help:
            tables = None
            if arguments.needs_settings(command):
                tables = settings_help.settings_tables(words)
            print(arguments.help_text(command, full, tables))
            return
        values = arguments.arguments(command, words, full)
        if arguments.needs_settings(command):
            settings_help.check_settings(values)
    command = COMMANDS[name][names[0]] if is_table else COMMANDS[name]
    values = arguments.arguments(command, words, full)
    if "out" in values:
        from dgltrees.commands.outputs import check_out

        check_out(command, values)
    written = command(**values)
    if isinstance(written, Mapping):  # the files of make-data
        print(*written.values(), sep="\n")
    out = values.get("out")
    if isinstance(out, str) and os.path.isfile(out):  # in a folder, the command says what is where
        print(f"dgltrees: wrote {out}", file=sys.stderr)


def _escape(error: UnicodeError) -> tuple[str, int]:
    r"""Escape characters that the encoding of standard output lacks as in JSON: ``\u00e4``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("dgltrees.escape", _escape)


def _fail(message: str) -> int:
    print(f"dgltrees: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _one_line(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> str:
    """Format a warning as one line, without the line of code that raised it."""
    kind = "" if category is UserWarning else f"{category.__name__}: "
    return f"dgltrees: {kind}{' '.join(str(message).split())}\n"


def _help() -> str:
    lines = []
    for name in COMMANDS:
        try:
            lines.append(f"  {name:22} {COMMANDS.summary(name)}")
        except ConfigError as error:
            warnings.warn(f"{error}; it is left out", stacklevel=2)
    start = ["usage: dgltrees COMMAND ...", "", "Neural networks over trees.", ""]
    end = [
        "",
        "dgltrees COMMAND --help prints the flags; dgltrees --version prints the version.",
        "Any command accepts --import MODULE, which first imports a custom module, such as one",
        "that adds a cell to dgltrees.cells.CELLS.",
    ]
    return "\n".join([*start, *lines, *end])

"""The command line: a table from the name of a command to its function."""

from __future__ import annotations

import ast
import importlib
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from dgltrees.errors import ConfigError, TreeError, file_problem

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "train": "commands.training:train",
    "evaluate": "commands.runs:evaluate",
    "predict": "commands.runs:predict",
    "encode": "commands.runs:encode",
    "sweep": "commands.training:sweep",
    "parse": "commands.sentences:parse",
    "rerank": "commands.sentences:rerank",
    "complete": "commands.sentences:complete",
    "train-shape": "commands.generation:train_shape",
    "generate": "commands.generation:generate",
    "compress": "commands.generation:compress",
    "simplify": "commands.generation:simplify",
    "explain": "commands.inspection:explain",
    "attention": "commands.attention:attention",
    "compare-trees": "commands.compare_trees:compare_trees",
    "similar": "commands.inspection:similar",
    "accuracy-by-padding": "commands.attention:accuracy_by_padding",
    "demo": "commands.demo:demo",
    "make": "commands.data:MAKE",
    "draw": "commands.data:draw",
    "inspect": "commands.data:inspect",
    "presets": "commands.presets:presets",
    "show": "commands.presets:show",
    "bench": "bench.command:bench",
}
"""The module of each command, in this package, and the function in it."""

FORMER_NAMES = {
    "decide": "train-shape",
    "attend": "attention",
    "induce": "compare-trees",
    "nearest": "similar",
    "padding": "accuracy-by-padding",
}
"""Names that commands had before; they still work."""


def main(argv: Union[Sequence[str], None] = None) -> int:
    """Run the command line; returns the exit status.

    Wrong data and wrong settings end in one line on standard error and status 2; a warning is one
    line too.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    usual = warnings.formatwarning
    warnings.formatwarning = _one_line
    try:
        status = _run(words)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader of the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    finally:
        warnings.formatwarning = usual


def _run(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return 0 if words else 2
    if words[0] == "--version":
        from dgltrees import __version__

        print(f"dgltrees {__version__}")
        return 0
    name, argv = words[0], words[1:]
    try:
        argv = _imported(argv)
        if name in FORMER_NAMES:
            warnings.warn(f"the command {name} is called {FORMER_NAMES[name]} now", stacklevel=1)
            name = FORMER_NAMES[name]
        if name not in COMMANDS:
            from dgltrees.options import nearest

            raise ConfigError(f"no command {name!r}; {nearest(name, COMMANDS)}")
        _call(name, argv)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (ConfigError, TreeError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(file_problem(error))
    except KeyboardInterrupt:
        resumes = name in ("train", "train-shape", "sweep", "demo")
        _fail("stopped" + ("; the same command goes on from here" if resumes else ""))
        return 130
    return 0


def _imported(argv: Sequence[str]) -> list[str]:
    """Import the modules that ``--import`` names; the words without that flag.

    Nothing is ever imported because a run asks for it.

    Raises:
        ConfigError: there is no such module.
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
                raise ImportError("that is no name of a module")
            importlib.import_module(module)
        except ImportError as error:
            raise ConfigError(
                f"expected --import to name a module here or in PYTHONPATH, got {module!r}: {error}"
            ) from None
    return rest


def _call(name: str, argv: Sequence[str]) -> None:
    """Run a command, or print its help."""
    module, _, attribute = COMMANDS[name].partition(":")
    command = getattr(importlib.import_module(f"dgltrees.{module}"), attribute)
    from dgltrees.commands import arguments

    asks_help = "-h" in argv or "--help" in argv
    if isinstance(command, Mapping):  # a table: the next word chooses
        names = [word for word in argv if not word.startswith("-")][:1]
        if asks_help and not names:
            print(f"usage: dgltrees {name} NAME [flags]\n\n{_sentence(COMMANDS[name])}.\n")
            for each, function in command.items():
                print(f"  {each:21}{_first_line(function.__doc__ or '')}")
            print(f"\ndgltrees {name} NAME --help says more.")
            return
        if not names or names[0] not in command:
            near = arguments.nearest(" ".join(names), command)
            raise ConfigError(
                f"dgltrees {name} expected a name, got {' '.join(names) or 'none'}; {near}"
            )
        name, command = f"{name} {names[0]}", command[names[0]]
        argv = [word for word in argv if word != names[0]]
    if asks_help:
        from dgltrees.commands.settings_help import settings_tables

        words = [word for word in argv if word not in ("-h", "--help")]
        tables = settings_tables(words) if arguments.needs_settings(command) else None
        print(arguments.help_text(command, name, tables))
        return
    command(**arguments.arguments(command, argv, name))


def _fail(message: str) -> int:
    print(f"dgltrees: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _one_line(
    message: Union[Warning, str], category: type[Warning], *where: Any, **more: Any
) -> str:
    """Format a warning as one line, without the line of code that raised it."""
    kind = "" if category is UserWarning else f"{category.__name__}: "
    return f"dgltrees: {kind}{' '.join(str(message).split())}\n"


def _help() -> str:
    lines = [f"  {name:21}{_sentence(place)}" for name, place in COMMANDS.items()]
    start = ["usage: dgltrees COMMAND ...", "", "Neural networks over trees.", ""]
    end = [
        "",
        "dgltrees COMMAND --help says more; dgltrees --version prints the version.",
        "--import MODULE, with any command, imports a module of your own first, such as one that",
        "adds a cell to dgltrees.cells.CELLS.",
    ]
    return "\n".join([*start, *lines, *end])


def _sentence(place: str) -> str:
    """The first line of a command's docstring, parsed from its source since imports are slow."""
    module, _, function = place.partition(":")
    path = Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for node, following in zip(body, [*body[1:], None]):
        text = ""
        if isinstance(node, ast.FunctionDef) and node.name == function:
            text = ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == function:
            assert isinstance(following, ast.Expr)  # the string below a table is its docstring
            text = ast.literal_eval(following.value)
        if text:
            return _first_line(text)
    raise LookupError(place)


def _first_line(docstring: str) -> str:
    return docstring.partition("\n")[0].replace("``", "").rstrip(".")

"""Everything that can be asked for by name: ``python -m tests.walk``.

Every module is imported, every help is printed, and every preset is shown. What fails is printed,
and the status is 1.
"""

import contextlib
import importlib
import io
import pkgutil
import sys
import warnings
from collections.abc import Iterator

import dgltrees
from dgltrees.cli import COMMANDS, main
from dgltrees.formats.synthetic import GENERATORS
from dgltrees.settings.catalog import load_preset, preset_names


def commands() -> Iterator[list[str]]:
    """The words of every command of the walk."""
    yield ["--help"]
    yield ["presets"]
    yield from ([name, "--help"] for name in COMMANDS)
    yield from (["make-data", name, "--help"] for name in GENERATORS)
    yield from (["show", name] for name in preset_names())
    tasks = {load_preset(name).task.name: name for name in preset_names()}
    yield from (["train", name, "--help"] for name in tasks.values())


def walk() -> list[str]:
    """What fails, in a line each."""
    failures = []
    for module in pkgutil.walk_packages(dgltrees.__path__, "dgltrees."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for words in commands():
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            status = main(words)
        if status or errors.getvalue():
            failures.append(f"dgltrees {' '.join(words)}: {errors.getvalue().strip()}")
    return failures


if __name__ == "__main__":
    warnings.simplefilter("error")
    failed = walk()
    print("\n".join(failed) or "all modules, helps and presets are there")
    sys.exit(bool(failed))

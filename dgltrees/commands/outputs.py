"""Output of commands: the check of ``--out``, and text for people."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from glob import glob
from itertools import product
from pathlib import Path
from typing import Any

from dgltrees._files import STANDARD_INPUT, PathLike
from dgltrees.draw.strings import to_ascii
from dgltrees.errors import ConfigError
from dgltrees.formats.format import format_by_suffix
from dgltrees.tasks.files import ROLES
from dgltrees.training.rundir import ESTIMATOR, IN_RUN, RunDirectory


def speaks_utf8() -> bool:
    """Return whether standard output has all characters."""
    return (sys.stdout.encoding or "ascii").lower().startswith("utf")


def print_text(text: object) -> None:
    """Print text with signs and drawings, in ASCII if standard output lacks their characters."""
    print(text if speaks_utf8() else to_ascii(str(text)))


def check_out(command: Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Check that ``out`` does not replace a file of a run, or a file that the command reads.

    Raises:
        ConfigError: it does, or it is empty.
    """
    out = values.get("out")
    if not isinstance(out, str) or out == STANDARD_INPUT:
        return
    if not out:
        raise ConfigError("expected --out to name a file or a folder, got ''")
    place = Path(os.path.realpath(os.path.dirname(out)), os.path.basename(out))
    for folder in filter(_is_run, place.parents):
        if IN_RUN.fullmatch(place.relative_to(folder).as_posix()):
            raise ConfigError(
                f"expected --out with another name than the files of a run, got {out}"
            )
    if os.path.isfile(out):
        for argument, file in _files_read(command, values):
            check_other_file(file, out, argument)


def check_other_file(file: PathLike, out: PathLike, argument: str) -> None:
    """Raise ConfigError if the output is the file of an argument, or a tree file in its folder."""
    same = os.path.exists(out) and os.path.exists(file) and os.path.samefile(file, out)
    if os.path.isdir(file) and not _is_run(file):
        is_tree_file = format_by_suffix(out) is not None or Path(out).suffix == ".npy"
        same = is_tree_file and Path(os.path.realpath(file)) in Path(os.path.realpath(out)).parents
    if same:
        raise ConfigError(f"expected --out with another file than {argument}, got {out} twice")


def _is_run(folder: PathLike) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in ("run.json", ESTIMATOR))


def _files_read(
    command: Callable[..., Any], values: Mapping[str, Any]
) -> Iterator[tuple[str, PathLike]]:
    """Yield what arguments name and the data of the runs among them, each with its argument.

    A name that is no file is yielded too.
    """
    named: list[tuple[str, str]] = []
    for name, parameter in inspect.signature(command).parameters.items():
        value = None if name == "out" else values.get(name)
        argument = f"--{name}" if parameter.kind is parameter.KEYWORD_ONLY else name.upper()
        names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        named += [(argument, each) for each in names if isinstance(each, str)]
    places = [each for _, each in named if os.path.exists(os.path.join(each, "run.json"))]
    runs = [RunDirectory(each).settings() for each in places]
    for settings, role in product(runs, ROLES):
        files = getattr(settings.data, role) or []
        files = [files] if isinstance(files, str) else files
        named += [(f"data.{role} of the run", each) for each in files]
    bases = ["", os.environ.get("DGLTREES_DATA", ""), *(each.data.dir or "" for each in runs)]
    for argument, pattern in named:
        for base in dict.fromkeys(bases):
            path = os.path.join(base, os.path.expanduser(pattern))
            yield from ((argument, file) for file in {path, *glob(path)})

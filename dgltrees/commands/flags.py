"""Flags as people and shells write them, and their errors in one line."""

from __future__ import annotations

from collections.abc import Sequence

import yaml
from jsonargparse import ArgumentError, ArgumentParser, Namespace

from dgltrees.errors import ConfigError

__all__ = ["before_flags", "file_flags", "parse_flags"]

_FILES = ("--data.train", "--data.valid", "--data.test")


def parse_flags(made: ArgumentParser, argv: Sequence[str]) -> Namespace:
    """What ``made`` makes of ``argv``.

    Raises:
        ConfigError: an unknown flag, a missing one, or a value of a wrong type.
    """
    try:
        return made.parse_args(list(argv))
    except ArgumentError as error:
        raise ConfigError(f"{' '.join(str(error).split())} (see {made.prog} --help)") from None


def before_flags(argv: Sequence[str]) -> list[str]:
    """The words before the first flag."""
    stop = next((i for i, word in enumerate(argv) if word.startswith("-")), len(argv))
    return list(argv[:stop])


def file_flags(argv: Sequence[str]) -> list[str]:
    """``argv`` with the flags of data files as a parser of settings takes them.

    Several files after one flag, as a shell's pattern gives them, become one list. With other
    training files the preset's validation and test files do not count.
    """
    joined: list[str] = []
    at = 0
    while at < len(argv):
        joined.append(argv[at])
        at += 1
        if joined[-1] in _FILES:
            files = before_flags(argv[at:])
            if len(files) > 1:
                joined.append(yaml.safe_dump(files, default_flow_style=True, width=10**9).strip())
                at += len(files)
    given = {word.split("=")[0] for word in joined}
    if "--data.train" in given:
        for flag in ("--data.valid", "--data.test"):
            if flag not in given:
                joined += [flag, "null"]
    return joined

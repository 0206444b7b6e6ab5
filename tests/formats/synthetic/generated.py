"""Generated files read back."""

from pathlib import Path


def fields(path: Path) -> list[list[str]]:
    """The fields of each line of a file."""
    return [line.split("\t") for line in path.read_text(encoding="ascii").splitlines()]

"""A step of reading a sequence."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ReadingStep"]


@dataclass(frozen=True)
class ReadingStep:
    """What a step reads and does, and what has been read behind it.

    Arguments:
        token: its token, empty if it has none.
        operation: its name.
        parts: what has been read, in pieces that follow each other: the place of the first step in
            each, and the tokens of all its steps. Place 0 is START, whose token is empty. All but
            the last are what the stack holds, bottom first.
    """

    token: str
    operation: str
    parts: list[tuple[int, list[str]]]

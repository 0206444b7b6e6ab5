"""One column of people's own trees: what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["SUBWORDS", "Column", "name_of"]

SUBWORDS = "subwords"
"""The kind of a column of texts that a pretrained encoder reads while it is trained."""


@dataclass(frozen=True)
class Column:
    """One input column.

    Attributes:
        name: its name in the data.
        kind: what it holds; a text whose encoder is trained too is :data:`SUBWORDS`.
        size: entries of a vector, or of a text's vector by a pretrained encoder; 1 otherwise.
    """

    name: str
    kind: str
    size: int = 1

    @property
    def numeric(self) -> bool:
        """Whether it is a number or a vector."""
        return self.kind in ("number", "log", "vector")

    @property
    def named(self) -> bool:
        """Whether it is read as ids of names: of categories, or of (sub-)words of texts."""
        return self.kind in ("category", SUBWORDS) or (self.kind == "text" and self.size == 1)


def name_of(value: Any) -> str | None:
    """A value as the name of a category or class; None where it is missing (None or NaN).

    Numbers keep all their digits, whole ones without a point; truth values are true and false.
    """
    if value is None or value != value:
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)

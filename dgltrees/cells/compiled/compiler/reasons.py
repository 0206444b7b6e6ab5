"""Why a cell cannot be compiled."""

from __future__ import annotations

from typing import Any

__all__ = ["CompileError"]


class CompileError(Exception):
    """The functions of a cell do something that the compiler has no rule for.

    Arguments:
        reason: what it is, as the end of a sentence.
        node: the node of the traced graph, which knows its line in the cell.
    """

    def __init__(self, reason: str, node: Any | None = None) -> None:
        self.reason = reason
        self.place: str = getattr(node, "meta", {}).get("place") or ""
        super().__init__(f"{reason} ({self.place})" if self.place else reason)

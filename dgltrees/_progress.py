"""Bars for what takes long, where somebody watches."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")


def progress(items: Iterable[Item], what: str, *, unit: str = "it") -> Iterable[Item]:
    """The items, and on a terminal's standard error a bar that goes away at the end.

    Arguments:
        items: what is gone through; if it has a length of at most one there is no bar.
        what: a word before the bar, such as ``"evaluate"``.
        unit: a word for the items.
    """
    size: int | None = len(items) if isinstance(items, Sized) else None
    if size is not None and size <= 1:
        return items
    return tqdm(items, desc=what, unit=unit, total=size, leave=False, disable=None)

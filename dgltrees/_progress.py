"""Progress bars in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")


def progress(items: Iterable[Item], what: str, *, unit: str = "it") -> Iterable[Item]:
    """Iterate over items with a progress bar on terminals, which vanishes at the end."""
    size: int | None = len(items) if isinstance(items, Sized) else None
    if size is not None and size <= 1:
        return items
    return tqdm(items, desc=what, unit=unit, total=size, leave=False, disable=None)

"""A check that a tensor is small enough to be allocated, made before it is."""

from __future__ import annotations

import math

from dgltrees.errors import ConfigError

__all__ = ["MAX_ENTRIES", "check_entries"]

MAX_ENTRIES = 2**30
"""The most entries one parameter may have: 4 GiB in float32, three to four times that to train."""


def check_entries(
    formula: str, entries: int, gates: int, types: int, *, linear: bool = False
) -> None:
    """Raise ConfigError for a stacked parameter of more than :data:`MAX_ENTRIES` entries.

    Arguments:
        formula: how the entries are counted, for the message:
            ``"L = 32, c = 20 needs 21^32 * 20"``.
        entries: the number of entries of the tensor of one gate and one type.
        gates: the number of gates.
        types: the number of types.
        linear: whether the size grows linearly with the number of children; the message then
            suggests no other aggregator.

    Raises:
        ConfigError: there are too many; the text says how many and what to choose instead.
    """
    total = entries * gates * types
    if total > MAX_ENTRIES:
        digits = math.log10(total) + math.log10(4 / 2**30)  # total may be too large for a float
        size = f"{10**digits:,.1f}" if digits < 6 else f"about 10^{digits:.0f}"
        other = (
            ", or aggregator='canonical', 'tensor_train' or 'sum', which grow linearly with the "
            "number of children L"
        )
        raise ConfigError(
            f"{formula} entries in each of {gates} gates and {types} types ({size} GiB in "
            f"float32), over the limit of {4 * MAX_ENTRIES // 2**30} GiB; choose a smaller hidden "
            f"size or rank{'' if linear else other}"
        )

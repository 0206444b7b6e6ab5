"""Synthetic data sets, written from a seed and identical on every machine."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

from dgltrees.formats.synthetic.listops import make_listops
from dgltrees.formats.synthetic.logic import make_logic
from dgltrees.formats.synthetic.mee import make_mee

__all__ = ["GENERATORS", "make_listops", "make_logic", "make_mee"]

GENERATORS: dict[str, Callable[..., dict[str, Path]]] = {
    "listops": make_listops,
    "logic": make_logic,
    "mee": make_mee,
}
"""The generators of ``dgltrees make NAME``; their keyword arguments are its options."""

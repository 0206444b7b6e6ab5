"""Synthetic data sets, written from a seed and identical on every machine."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

from dgltrees.formats.synthetic.listops import make_listops
from dgltrees.formats.synthetic.logic import make_logic
from dgltrees.formats.synthetic.mee import make_mee
from dgltrees.formats.synthetic.plans import make_plans

__all__ = ["GENERATORS", "make_listops", "make_logic", "make_mee", "make_plans"]

GENERATORS: dict[str, Callable[..., dict[str, Path]]] = {
    "listops": make_listops,
    "logic": make_logic,
    "mee": make_mee,
    "plans": make_plans,
}
"""The generators of ``dgltrees make NAME``; their keyword arguments are its options."""

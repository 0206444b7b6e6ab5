"""Synthetic data sets, written from a seed and identical on every machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dgltrees.registry import Registry

__all__ = ["GENERATORS"]

GENERATORS: Registry[Callable[..., dict[str, Path]]] = Registry(
    "generators", {"plans": "dgltrees.formats.synthetic.plans:write_plans"}
)
"""The generators of ``dgltrees make-data NAME``; their keyword arguments are its options."""

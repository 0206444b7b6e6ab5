"""Synthetic data sets, written from a seed and identical on every machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dgltrees.registry import Registry

__all__ = ["GENERATORS"]

GENERATORS: Registry[Callable[..., dict[str, Path]]] = Registry(
    "generators", {"plans": "dgltrees.formats.synthetic.plans:write_plans"}
)
"""Write a synthetic data set from a seed: make-data NAME --out DIR.

The functions write files and return their paths; their keyword arguments are the flags.
"""

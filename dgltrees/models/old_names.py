"""The names that parameters had in earlier versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

__all__ = ["PREFIXES", "renamed"]

PREFIXES = (
    ("answer.head.", "head."),
    ("answer.pad", "encoder.answer.pad.vector"),
    ("answer.", "encoder.answer."),
    ("answer.", "head."),
    ("question.pad", "encoder.question.pad.vector"),
    ("question.", "encoder.question."),
    ("compare.", "head.compare."),
    ("head.layers.", "head.output.layers."),
    ("attention.", "encoder.attention."),
    ("attention.", "head.attention."),
    ("last.", "head.last."),
    ("lstm.", "head.lstm."),
    ("input.", "encoder.input."),
    ("input.", "encoder.encoder.input."),
    ("encoder.pad", "encoder.pad.vector"),
    ("encoder.pad", "encoder.encoder.pad.vector"),
    ("encoder.", "encoder.encoder."),
    ("reader.", "encoder."),
)
"""Prefixes of names in version 0.1.0, and what they are now; the first that fits a model counts."""


def renamed(state: Mapping[str, Any], model: nn.Module) -> dict[str, Any]:
    """Rename the entries of a state dict of an earlier version to the names of ``model``.

    Arguments:
        state: tensors by name, of this version or of an earlier one.
        model: the model that will load them.
    """
    names = set(model.state_dict())
    if not set(state) - names:
        return dict(state)
    return {_renamed(name, names): value for name, value in state.items()}


def _renamed(name: str, names: set[str]) -> str:
    candidates = (new + name[len(old) :] for old, new in PREFIXES if name.startswith(old))
    return next((candidate for candidate in (name, *candidates) if candidate in names), name)

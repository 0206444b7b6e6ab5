"""Forests of nested Python tuples, lists and dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.builders.walk import forest_of_nodes
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["from_nested"]

_FORMS = ("children", "head", "pair")
_SHAPES = {"head": "(label, child, ...)", "pair": "(label, [child, ...])"}


def from_nested(
    *trees: Any,
    form: Literal["children", "head", "pair"] = "children",
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """A forest with one tree per nested tuple, list or dictionary, nodes in preorder.

    A list or tuple is an inner node, whose items depend on ``form``:

    ============ ========================= =============================================
    form         inner node                example
    ============ ========================= =============================================
    ``children`` its children; no label    ``(("the", "cat"), "sat")``
    ``head``     its label, then children  ``("S", ("NP", "the", "cat"), "sat")``
    ``pair``     its label and a list      ``("S", [("NP", ["the", "cat"]), "sat"])``
    ============ ========================= =============================================

    In every form a dictionary ``{"label": ..., "children": [...]}``, both keys optional, is a node
    too; a string or number is a leaf with that label; None instead of a child is a missing child,
    whose position no other child takes.

    Node column: ``label``, of a number ``str(number)``; -1 without a label.

    Arguments:
        trees: the objects.
        form: the items of a list or tuple.
        vocabs: ``{"label": vocabulary}`` to use.

    Raises:
        TreeError: with tree and node: an object has another type or other items, or contains
            itself; a label is not in a frozen vocabulary.
        ConfigError: the form is not one of these.
    """
    if form not in _FORMS:
        raise ConfigError(f"form: expected one of {', '.join(_FORMS)}, got {form!r}")
    return forest_of_nodes(
        trees,
        lambda node: _label_and_children(node, form)[1],
        {"label": lambda node: _label_and_children(node, form)[0]},
        vocabs,
        repeat_shared=True,
    )


def _label_and_children(node: Any, form: str) -> tuple[str | None, Sequence[Any]]:
    if isinstance(node, dict):
        other = [key for key in node if key not in ("label", "children")]
        if other:
            raise TreeError(f"expected the keys 'label' and 'children', got {other[0]!r}")
        label, children = node.get("label"), node.get("children", ())
    elif not isinstance(node, (list, tuple)):
        return _label(node), ()
    elif form == "children":
        return None, node
    elif form == "head":
        if not node:
            raise TreeError(f"expected {_SHAPES[form]}, got an empty {type(node).__name__}")
        label, children = node[0], node[1:]
    else:
        if len(node) != 2:
            raise TreeError(f"expected {_SHAPES[form]}, got {len(node)} items")
        label, children = node
    if not isinstance(children, (list, tuple)):
        raise TreeError(
            f"expected a list or tuple of children, got an object of type {type(children).__name__}"
        )
    return (None if label is None else _label(label)), children


def _label(value: Any) -> str:
    if isinstance(value, (str, int, float, np.generic)):
        return str(value)
    raise TreeError(
        f"expected a string or number as a label, got an object of type {type(value).__name__}"
    )

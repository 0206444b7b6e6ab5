"""Forests from nested values: Python tuples, lists and dictionaries, and JSON documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from dgltrees._files import PathLike
from dgltrees._json import JSONError, load_json
from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.builders.walk import Member, check_text, forest_of_nodes
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary, check_vocabs

_FORMS = ("children", "head", "pair")
_SHAPES = {"head": "(label, child, ...)", "pair": "(label, [child, ...])"}


def from_nested(
    *trees: Any,
    form: Literal["children", "head", "pair"] = "children",
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a forest from nested tuples, lists or dictionaries: one tree each, nodes in preorder.

    A list or tuple is an inner node, whose items depend on ``form``:

    ============ ========================= =============================================
    form         inner node                example
    ============ ========================= =============================================
    ``children`` its children; no label    ``(("the", "cat"), "sat")``
    ``head``     its label, then children  ``("S", ("NP", "the", "cat"), "sat")``
    ``pair``     its label and a list      ``("S", [("NP", ["the", "cat"]), "sat"])``
    ============ ========================= =============================================

    In every form, a dictionary ``{"label": ..., "children": [...]}`` with optional keys is a node
    too, a string or number is a leaf with that label, and None is a missing child, whose position
    stays empty. The node column is ``label``; -1 without a label.

    Arguments:
        trees: the objects.
        form: the items of a list or tuple.
        vocabs: ``{"label": vocabulary}`` to use.

    Returns:
        the forest.

    Raises:
        TreeError: an object has another type or other items, or contains itself; or a label is not
            in a frozen vocabulary.
        ConfigError: the form does not exist.

    Example:
        >>> forest = from_nested((("the", "cat"), "sat"))
        >>> forest.parent
        array([-1,  0,  1,  1,  0], dtype=int32)
        >>> forest.columns["label"], forest.vocabs["label"].names
        (array([-1, -1,  0,  1,  2], dtype=int32), ['the', 'cat', 'sat'])
    """
    if form not in _FORMS:
        raise ConfigError(f"form: expected one of {', '.join(_FORMS)}, got {form!r}")
    for number, tree in enumerate(trees):
        if isinstance(tree, str):
            check_text(tree, "nested lists, tuples or dictionaries", tree=number)
    return forest_of_nodes(
        trees,
        lambda node: _label_and_children(node, form)[1],
        {"label": lambda node: _label_and_children(node, form)[0]},
        vocabs,
        share=False,
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


JSON_KINDS = ("object", "array", "string", "number", "boolean", "null")
"""The kinds of JSON values, the vocabulary of the column ``kind`` of :func:`from_json`."""


class _Object(list[tuple[str, Any]]):
    """The members of a JSON object, in their order: pairs of key and value."""


class _Number(str):
    """A number as it is written in the text."""


_KINDS = {
    _Object: "object",
    list: "array",
    str: "string",
    _Number: "number",
    bool: "boolean",
    type(None): "null",
}


def from_json(
    *texts: str | bytes,
    vocabs: Mapping[str, Vocabulary] | None = None,
    file: PathLike | None = None,
) -> Forest:
    """Build a forest from JSON documents: one tree each, nodes in preorder.

    Every value is a node. Its children are the members of an object or the elements of an array, in
    the order of the text. Node columns:

    - ``label``: the key of a member; otherwise -1;
    - ``kind``: one of :data:`JSON_KINDS`;
    - ``value``: a string, a number as it is written, ``true`` or ``false``; -1 at objects, arrays
      and null.

    Arguments:
        texts: the documents.
        vocabs: vocabularies of ``label`` and ``value`` to use.
        file: the file of the texts, for the errors.

    Returns:
        the forest.

    Raises:
        TreeError: a string is not JSON (NaN and Infinity are not JSON) or not UTF-8, or is nested
            too deeply for Python's ``json`` (about ``sys.getrecursionlimit()``); an object has a
            key twice; or a name is not in a frozen vocabulary.

    Example:
        >>> forest = from_json('{"op": "scan", "rows": [10, null]}')
        >>> [JSON_KINDS[kind] for kind in forest.columns["kind"]]
        ['object', 'string', 'array', 'number', 'null']
    """
    check_vocabs(vocabs or {}, ("label", "value"))
    return forest_of_nodes(
        (Member(None, _load_document(text, tree, file)) for tree, text in enumerate(texts)),
        _json_members,
        {
            "label": lambda member: member.field,
            "kind": lambda member: _KINDS[type(member.node)],
            "value": lambda member: _json_value(member.node),
        },
        {**(vocabs or {}), "kind": Vocabulary(JSON_KINDS, frozen=True)},
        file=file,
    )


def _load_document(text: str | bytes, tree: int, file: PathLike | None) -> Any:
    check_text(text, "JSON as text", file=file, tree=tree)
    try:
        decoded = text if isinstance(text, str) else text.decode(json.detect_encoding(text))
        return load_json(decoded.removeprefix("\ufeff"), _Object, _Number)
    except JSONError as error:
        message, line = str(error), error.line
    except UnicodeDecodeError as error:
        message = f"expected JSON in UTF-8, got the byte 0x{error.object[error.start]:02x}"
        line = 1 + error.object.count(b"\n", 0, error.start)
    raise TreeError(message, file=file, line=line, tree=tree)


def _json_members(member: Member) -> Sequence[Member]:
    if isinstance(member.node, _Object):
        return [Member(key, value) for key, value in member.node]
    if isinstance(member.node, list):
        return [Member(None, value) for value in member.node]
    return ()


def _json_value(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str) else None

"""Forests of the elements of parsed XML and HTML: xml.etree and lxml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dgltrees.errors import TreeError
from dgltrees.trees.builders.walk import forest_of_nodes
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["from_elements"]


class _Piece(NamedTuple):
    """A node that is no element: an attribute, or text."""

    label: str
    value: str


def from_elements(
    *roots: Any,
    attributes: bool = False,
    text_nodes: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """A forest with one tree per parsed element, nodes in preorder.

    Like :func:`~dgltrees.trees.builders.from_xml` of its text: every element is a node, comments
    and processing instructions are left out, and the text of an element is joined, wherever it is
    among the children, unless it becomes nodes.

    Node columns: ``label``, the tag; ``value``, the text of the element without that of its
    children, white space collapsed; -1 without text.

    Arguments:
        roots: elements or trees of ``xml.etree.ElementTree`` or lxml.
        attributes: attributes are nodes too: children ``@name`` with their value, before the
            elements.
        text_nodes: each piece of text is a node too: a child ``#text`` at its place among the
            elements, instead of the value of the element.
        vocabs: vocabularies of ``label`` and ``value`` to use.

    Raises:
        TreeError: with tree and node: a root is none of these, an element contains itself or is at
            two places, an entity is not replaced by its text, or a name is not in a frozen
            vocabulary.
    """

    def children_of(node: Any) -> list[Any]:
        if isinstance(node, _Piece):
            return []
        children: list[Any] = []
        if attributes:
            children += [_Piece(f"@{name}", _text(value)) for name, value in node.attrib.items()]
        for part in _content(node):
            if not isinstance(part, str):
                children.append(part)
            elif text_nodes and part.strip():
                children.append(_Piece("#text", _text(part)))
        return children

    def value_of(node: Any) -> str | None:
        if isinstance(node, _Piece):
            return node.value
        if text_nodes:
            return None
        return _text("".join(part for part in _content(node) if isinstance(part, str))) or None

    return forest_of_nodes(
        (root.getroot() if hasattr(root, "getroot") else root for root in roots),
        children_of,
        {
            "label": lambda node: node.label if isinstance(node, _Piece) else str(node.tag),
            "value": value_of,
        },
        vocabs,
    )


def _text(value: str) -> str:
    return " ".join(value.split())


def _content(element: Any) -> Iterator[Any]:
    """The elements in an element, and the pieces of text between them."""
    if not (hasattr(element, "tag") and hasattr(element, "tail")):
        raise TreeError(
            "expected an element of xml.etree or lxml, "
            f"got an object of type {type(element).__name__}"
        )
    yield element.text or ""
    for child in element:
        if isinstance(child.tag, str):
            yield child
        elif child.tag.__name__ == "Entity":
            raise TreeError(f"expected entities replaced by their text, got {child.text}")
        yield child.tail or ""

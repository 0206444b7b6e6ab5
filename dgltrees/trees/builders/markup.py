"""Forests of XML: documents of any depth, and the elements of xml.etree and lxml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.walk import NodeLists, forest_of_nodes
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary, check_vocabs


def from_xml(
    *documents: str | bytes,
    attributes: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
    file: PathLike | None = None,
) -> Forest:
    """A forest with one tree per XML document, nodes in the order of the start tags.

    Every element is a node. Comments and processing instructions are left out. The text of an
    element is joined, wherever it is among the children.

    Node columns: ``label``, the tag with its prefix; ``value``, the text of the element without
    that of its children, white space collapsed; -1 without text.

    Arguments:
        documents: the documents, as text, or as bytes in the encoding that they declare.
        attributes: attributes are nodes too: children ``@name`` with their value, before the
            elements.
        vocabs: vocabularies of ``label`` and ``value`` to use.
        file: the file of the documents, for the errors.

    Raises:
        TreeError: with line, or tree and node: a document is not well-formed or not in its
            encoding, declares an entity or, with ``attributes``, a default of an attribute (a few
            lines of either can expand to gigabytes), or uses an entity that is not XML's own; a
            name is not in a frozen vocabulary.
    """
    check_vocabs(vocabs or {}, ("label", "value"))
    reader = _Reader(attributes, file)
    for document in documents:
        reader.read(document)
    return reader.lists.named(
        {
            "label": reader.labels,
            "value": [" ".join("".join(pieces).split()) or None for pieces in reader.texts],
        },
        vocabs,
    )


class _Reader:
    """The handlers of the parser expat, which append the nodes of all documents to ``lists``.

    Attributes:
        lists: the nodes of all documents.
        labels, texts: of each node the tag, and the pieces of its text.
        open: the elements whose end tag is still to come, outermost first.
        children: the number of children so far of each of them, and before these of the document.
    """

    def __init__(self, attributes: bool, file: PathLike | None) -> None:
        self.attributes, self.file = attributes, file
        self.lists = NodeLists(file=file)
        self.labels: list[str] = []
        self.texts: list[list[str]] = []

    def read(self, document: str | bytes) -> None:
        self.open: list[int] = []
        self.children = [0]
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.EntityDeclHandler = self.entity
        parser.SkippedEntityHandler = self.skipped
        parser.AttlistDeclHandler = self.attribute
        try:
            parser.Parse(document, True)
        except expat.ExpatError as error:
            self.fail(f"expected well-formed XML, got: {expat.ErrorString(error.code)}")
        except TreeError:
            raise
        except (LookupError, ValueError) as error:
            self.fail(f"expected an encoding that Python's expat reads, got: {error}")
        self.lists.offsets.append(len(self.labels))

    def fail(self, message: str) -> NoReturn:
        raise TreeError(
            message,
            file=self.file,
            line=self.parser.CurrentLineNumber,
            tree=len(self.lists.offsets) - 1,
        ) from None

    def add(self, label: str, texts: list[str]) -> None:
        lists, is_root = self.lists, not self.open
        lists.parent.append(-1 if is_root else self.open[-1] - lists.offsets[-1])
        lists.pos.append(self.children[-1])
        lists.depth.append(len(self.open))
        self.children[-1] += 1
        self.labels.append(label)
        self.texts.append(texts)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.add(tag, [])
        self.open.append(len(self.labels) - 1)
        self.children.append(0)
        if self.attributes:
            for name, value in attributes.items():
                self.add(f"@{name}", [value])

    def end(self, _: str) -> None:
        self.open.pop()
        self.children.pop()

    def text(self, text: str) -> None:
        self.texts[self.open[-1]].append(text)

    def entity(self, name: str, *_: Any) -> NoReturn:
        self.fail(
            f"expected a document without entity declarations, got one of {name!r}; "
            "replace the entities by their text"
        )

    def attribute(self, tag: str, name: str, _: str, default: str | None, __: bool) -> None:
        if default is not None and self.attributes:
            self.fail(
                f"expected a document without default attributes, got one of <{tag}> for {name!r}; "
                "write the attribute where it is meant"
            )

    def skipped(self, name: str, _: bool) -> NoReturn:
        self.fail(
            f"expected every entity to be XML's own, got &{name};, which is declared elsewhere; "
            "replace the entities by their text"
        )


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

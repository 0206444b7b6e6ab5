"""Forests from XML: documents of any depth, and elements of xml.etree and lxml."""

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
    """Build a forest from XML documents: one tree each, nodes in the order of the start tags.

    Every element is a node. Comments and processing instructions are ignored. Node columns:

    - ``label``: the tag with its prefix;
    - ``value``: the text of the element without that of its children, joined and with white space
      collapsed; -1 without text.

    Arguments:
        documents: the documents, as strings, or as bytes in the encoding that they declare.
        attributes: whether attributes are nodes too: children ``@name`` with their value, before
            the elements.
        vocabs: vocabularies of ``label`` and ``value`` to use.
        file: the file of the documents, for the errors.

    Returns:
        the forest.

    Raises:
        TreeError: a document is not well-formed or not in its encoding; it declares an entity or,
            with ``attributes``, a default of an attribute (a few lines of either can expand to
            gigabytes); it uses an entity that is not predefined in XML; or a name is not in a
            frozen vocabulary.

    Example:
        >>> forest = from_xml("<plan><scan>users</scan></plan>")
        >>> forest.vocabs["label"].names, forest.vocabs["value"].names
        (['plan', 'scan'], ['users'])
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
    """Handlers of the parser expat, which append the nodes of all documents to ``lists``.

    Attributes:
        lists: the nodes of all documents.
        labels, texts: the tag of each node, and the pieces of its text.
        open: the elements without their end tag so far, outermost first.
        children: the number of children of each open element so far, after that of the document.
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
                "write the attribute in the elements"
            )

    def skipped(self, name: str, _: bool) -> NoReturn:
        self.fail(
            f"expected only the predefined entities of XML, got &{name};; replace the entities by "
            "their text"
        )


class _Piece(NamedTuple):
    """A node that is not an element: an attribute, or text."""

    label: str
    value: str


def from_elements(
    *roots: Any,
    attributes: bool = False,
    text_nodes: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a forest from parsed XML elements: one tree each, nodes in preorder.

    The result is that of :func:`~dgltrees.trees.builders.from_xml` for the text of the elements,
    except for namespaces: these libraries replace a prefix by the namespace, ``{http://...}name``.

    Arguments:
        roots: elements or trees of ``xml.etree.ElementTree`` or lxml.
        attributes: whether attributes are nodes too: children ``@name`` with their value, before
            the elements.
        text_nodes: whether each piece of text is a node too: a child ``#text`` between the
            elements, instead of the value of the element.
        vocabs: vocabularies of ``label`` and ``value`` to use.

    Returns:
        the forest.

    Raises:
        TreeError: a root is not an element, an element contains itself or occurs twice, an entity
            is not replaced by its text, or a name is not in a frozen vocabulary.

    Example:
        >>> import xml.etree.ElementTree as ET
        >>> from_elements(ET.fromstring("<plan><scan>users</scan></plan>"))
        Forest(1 tree, 2 nodes, columns: label (2 names), value (1 name))
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
            return node.value or None
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
    """Iterate over the elements in an element, and the pieces of text between them."""
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

"""Forests from XML documents of any depth."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn
from xml.parsers import expat

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.walk import NodeLists, check_text
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary, check_vocabs

_NO_TAG = re.compile(r"[^<]+")
_NOT_UTF_16 = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']utf-?16", re.IGNORECASE)
"""A declaration of UTF-16 in single bytes: the text was converted to UTF-8 after it was written."""


def from_xml(
    *documents: str | bytes,
    attributes: bool = False,
    text_nodes: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
    file: PathLike | None = None,
) -> Forest:
    """Build a forest from XML documents: one tree each, nodes in the order of the start tags.

    Every element is a node. Text next to elements, as in ``<p>one<br/>two</p>``, is a child
    ``#text`` between them. Comments and processing instructions are ignored. Node columns:

    - ``label``: the tag with its prefix, or ``#text``;
    - ``value``: the text of ``#text``, or of an element that contains only text, with white space
      collapsed; -1 without text.

    Arguments:
        documents: the documents, as strings, or as bytes in the encoding that they declare; no
            paths of files, which ``read`` takes.
        attributes: whether attributes are nodes too: children ``@name`` with their value, before
            the elements. Declarations of namespaces are no attributes.
        text_nodes: whether the text of an element that contains only text is a child ``#text`` too,
            instead of the value of the element.
        vocabs: vocabularies of ``label`` and ``value`` to use.
        file: the file of the documents, for the errors.

    Returns:
        the forest.

    Raises:
        TreeError: a document is no text, not well-formed or not in its encoding; it declares an
            entity or, with ``attributes``, a default of an attribute (a few lines of either can
            expand to gigabytes); it uses an entity that is not predefined in XML; or a name is not
            in a frozen vocabulary.

    Example:
        >>> forest = from_xml("<plan><scan>users</scan></plan>")
        >>> forest.vocabs["label"].names, forest.vocabs["value"].names
        (['plan', 'scan'], ['users'])
    """
    check_vocabs(vocabs or {}, ("label", "value"))
    reader = _Reader(attributes, text_nodes, file)
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
        in_leaf: whether the last tag is a start tag, so that its element has no elements so far.
    """

    def __init__(self, attributes: bool, text_nodes: bool, file: PathLike | None) -> None:
        self.attributes, self.text_nodes, self.file = attributes, text_nodes, file
        self.lists = NodeLists(file=file)
        self.labels: list[str] = []
        self.texts: list[list[str]] = []

    def read(self, document: str | bytes) -> None:
        what = "XML as text, which tostring of lxml.etree and xml.etree.ElementTree writes"
        check_text(document, what, _NO_TAG, file=self.file, tree=len(self.lists.offsets) - 1)
        if isinstance(document, bytes) and _NOT_UTF_16.match(document):
            document = document.decode("utf-8", "surrogateescape")
        self.open: list[int] = []
        self.in_leaf = False
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

    def separate(self) -> None:
        """Make a node of the text since the last tag."""
        if self.open and "".join(self.texts[self.open[-1]]).strip():
            self.add("#text", self.texts[self.open[-1]])
            self.texts[self.open[-1]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.separate()
        self.add(tag, [])
        self.open.append(len(self.labels) - 1)
        self.children.append(0)
        self.in_leaf = True
        if self.attributes:
            for name, value in attributes.items():
                if name.partition(":")[0] != "xmlns":
                    self.add(f"@{name}", [value])

    def end(self, _: str) -> None:
        if self.text_nodes or not self.in_leaf:
            self.separate()
        self.open.pop()
        self.children.pop()
        self.in_leaf = False

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

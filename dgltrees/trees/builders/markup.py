"""Forests from XML documents of any depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn
from xml.parsers import expat

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.walk import NodeLists
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary, check_vocabs


def from_xml(
    *documents: str | bytes,
    attributes: bool = False,
    text_nodes: bool = False,
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
        text_nodes: whether each piece of text is a node too: a child ``#text`` between the
            elements, instead of the value of the element.
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
    """

    def __init__(self, attributes: bool, text_nodes: bool, file: PathLike | None) -> None:
        self.attributes, self.text_nodes, self.file = attributes, text_nodes, file
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

    def separate(self) -> None:
        """Make a node of the text since the last tag, if text has nodes."""
        if self.text_nodes and self.open and "".join(self.texts[self.open[-1]]).strip():
            self.add("#text", self.texts[self.open[-1]])
            self.texts[self.open[-1]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.separate()
        self.add(tag, [])
        self.open.append(len(self.labels) - 1)
        self.children.append(0)
        if self.attributes:
            for name, value in attributes.items():
                self.add(f"@{name}", [value])

    def end(self, _: str) -> None:
        self.separate()
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

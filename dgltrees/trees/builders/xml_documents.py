"""XML documents, read by expat: as deep as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, Optional, Union
from xml.parsers import expat

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.objects import NodeLists
from dgltrees.trees.builders.vocabs import own_vocabs
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["from_xml"]


def from_xml(
    *documents: Union[str, bytes],
    attributes: bool = False,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    max_children: Optional[int] = None,
    file: Optional[PathLike] = None,
) -> Forest:
    """A forest of XML documents, a tree an argument, nodes in the order of the start tags.

    Every element is a node. Comments and processing instructions are left out; where an element's
    text stands among its children is not kept.

    Node columns: ``label``, the tag with its prefix; ``value``, the element's own text with white
    space collapsed, -1 where there is none.

    Arguments:
        documents: one document a tree, as text, or as bytes in the encoding it declares.
        attributes: whether attributes are nodes too: children ``@name`` with their value, before
            the elements.
        vocabs: ``{"label": vocabulary, "value": vocabulary}`` to use, or either.
        max_children: the number of children a node may have; None for any.
        file: where the text stands, for the errors.

    Raises:
        TreeError: a document is not well-formed or not in its encoding, declares an entity (a few
            lines of entities can stand for gigabytes) or uses one that is not in it, with its
            line; a name is not in a frozen vocabulary; too many children.
    """
    known = own_vocabs(vocabs, "label", "value")
    reader = _Reader(attributes, file)
    for document in documents:
        reader.read(document)
    names = {"label": reader.labels, "value": [_collapse(text) for text in reader.texts]}
    return reader.lists.forest(names, known, max_children=max_children, file=file)


def _collapse(pieces: list[str]) -> Optional[str]:
    return " ".join("".join(pieces).split()) or None


class _Reader:
    """Expat's handlers, and the elements that are open."""

    def __init__(self, attributes: bool, file: Optional[PathLike]) -> None:
        self.attributes, self.file = attributes, file
        self.lists = NodeLists([], [], [0])
        self.labels: list[Optional[str]] = []
        self.texts: list[list[str]] = []
        self.open: list[int] = []
        self.children: list[int] = []  # of the open elements

    def read(self, document: Union[str, bytes]) -> None:
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.EntityDeclHandler = self.entity
        parser.SkippedEntityHandler = self.skipped
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

    def add(self, label: str) -> None:
        if self.open:
            self.lists.parent.append(self.open[-1] - self.lists.offsets[-1])
            self.lists.pos.append(self.children[-1])
            self.children[-1] += 1
        else:
            self.lists.parent.append(-1)
            self.lists.pos.append(0)
        self.labels.append(label)
        self.texts.append([])

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.add(tag)
        self.open.append(len(self.labels) - 1)
        self.children.append(0)
        if self.attributes:
            for name, value in attributes.items():
                self.add("@" + name)
                self.texts[-1].append(value)

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

    def skipped(self, name: str, _: bool) -> NoReturn:
        self.fail(
            f"expected every entity to be XML's own, got &{name};, which is declared elsewhere; "
            "replace the entities by their text"
        )

"""INEX 2005: the structure of XML documents, with a class per document.

Denoyer & Gallinari, "Report on the XML Mining Track at INEX 2005 and INEX 2006", SIGIR Forum 2007.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dgltrees._files import PathLike
from dgltrees.formats.lines import fields_of_lines, gather, labels_of_lines, line_chunks
from dgltrees.formats.table import Format
from dgltrees.trees.builders.brackets import assemble, check_children, items_in
from dgltrees.trees.builders.scan import Brackets, scan
from dgltrees.trees.examples import Examples
from dgltrees.trees.vocabulary import Vocabulary, vocabs_for

__all__ = ["INEX", "read_inex", "stream_inex"]

_FORM = "class:label(child child ...)"


def read_inex(
    path: PathLike,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    max_children: int | None = None,
    labeled: bool = True,
) -> Examples:
    """All trees of an INEX file; see :func:`stream_inex`."""
    return gather(stream_inex(path, vocabs=vocabs, max_children=max_children, labeled=labeled))


def stream_inex(
    path: PathLike,
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    max_children: int | None = None,
    labeled: bool = True,
) -> Iterator[Examples]:
    """The trees of an INEX file, ``trees`` lines at a time.

    A line is ``class:label(child child ...)``; a child is ``label(child child ...)`` again, and
    ``label($)`` is a leaf.

    Node column: ``label``. Example column: ``target``, the class.

    Arguments:
        path: the file.
        trees: lines per chunk; the last chunk may have fewer.
        vocabs: ``{"label": vocabulary, "target": vocabulary}`` to use, or one of the two; where a
            name is missing from a frozen one it is an error, or becomes the vocabulary's unknown
            name. All chunks share them.
        max_children: the most children that a node may have; None for any number.
        labeled: whether every line must have a class; otherwise ``target`` is -1 without one.

    Raises:
        TreeError: with file and line: the file is empty or not UTF-8, a line is cut off, a bracket
            is unbalanced or not behind a label, a label has no bracket, a label or class is not in
            a frozen vocabulary, or a node has too many children.
        ConfigError: ``trees`` is below 1.
    """
    vocabs = vocabs_for(vocabs, "label", "target")
    for data, line in line_chunks(path, trees):
        items = scan(data, blank=b":", file=path, first_line=line)
        yield _parse(items, vocabs, max_children, labeled)


def _parse(
    items: Brackets, vocabs: Mapping[str, Vocabulary], max_children: int | None, labeled: bool
) -> Examples:
    field = fields_of_lines(items, 3, _FORM, label=0, labeled=labeled)
    is_class = field == 0
    is_end = ~items.is_open & np.array([*(n == "$" for n in items.names), False])[items.name]
    is_node = ~items.is_open & ~is_class & ~is_end
    count = items_in(items)
    items.refuse(is_class & items.is_open, lambda _: f"expected {_FORM}, got no class")
    items.refuse(
        is_end & ((items.parent < 0) | (count[items.parent] != 1)),
        lambda _: "expected $ alone in its bracket, got it elsewhere",
    )
    behind_label = np.roll(is_node, 1) & (items.parent == np.roll(items.parent, 1))
    opens_children = items.is_open & behind_label
    items.refuse(
        (items.is_open & ~behind_label) | (is_node & ~np.append(opens_children[1:], False)),
        lambda i: f"expected a bracket behind every label and nowhere else, got {items.text(i)}",
    )
    items.refuse(items.is_open & (count == 0), lambda _: "expected children or $, got none")
    check_children(items, count // 2, max_children)
    target = labels_of_lines(items, is_class, items.encode(is_class, vocabs["target"]))
    forest = assemble(
        is_node,
        np.where(items.parent < 0, -1, items.parent - 1),  # a bracket stands behind its node
        items.place // 2,  # every child is a label and a bracket
        {"label": items.encode(is_node, vocabs["label"])},
        {"label": vocabs["label"]},
    )
    return Examples(forest, {"target": target}, targets=vocabs["target"])


INEX = Format(
    "Structures of XML documents, a line per tree: class:label(child child ...).",
    stream_inex,
    first_line=r"\d+:\d+\(",
)

"""INEX 2005: the structure of XML documents, with a class per document.

Denoyer and Gallinari, "Report on the XML Mining Track at INEX 2005 and INEX 2006" (SIGIR Forum
2007).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.formats.brackets import Grammar, labels_of_lines
from dgltrees.formats.format import Format
from dgltrees.trees.builders.brackets import assemble, items_in
from dgltrees.trees.builders.scan import Brackets
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.vocabulary import Vocabulary, vocabs_for

_GRAMMAR = Grammar("class:label(child child ...)", 3, label=0, blank=b":")


def stream_inex(
    path: PathLike,
    trees: int = 10_000,
    *,
    vocabs: Mapping[str, Vocabulary] | None = None,
    labeled: bool = True,
) -> Iterator[LabeledTrees]:
    """Yield the trees of an INEX file, ``trees`` lines at a time.

    A line is ``class:label(child child ...)``. A child is ``label(child child ...)``, and a leaf is
    ``label($)``.

    Node column: ``label``. Example column: ``target``, the class.
    """
    vocabs = vocabs_for(vocabs, "label", "target")
    for items, is_class in _GRAMMAR.lines(path, trees, labeled=labeled):
        yield _examples(items, is_class, vocabs, labeled)


def _examples(
    items: Brackets, is_class: NDArray[np.bool_], vocabs: Mapping[str, Vocabulary], labeled: bool
) -> LabeledTrees:
    is_open, up, count = items.is_open, items.parent, items_in(items)
    is_end = ~is_open & items.among("$")
    is_node = ~is_open & ~is_class & ~is_end
    items.refuse(is_class & is_open, lambda _: f"missing class, expected {_GRAMMAR.form}")
    items.refuse(
        is_end & ((up < 0) | (count[up] != 1)),
        lambda _: "expected $ only as the single item of a bracket, got it elsewhere",
    )
    after_label = np.roll(is_node, 1) & (up == np.roll(up, 1))
    opens_children = is_open & after_label
    items.refuse(
        (is_open & ~after_label) | (is_node & ~np.append(opens_children[1:], False)),
        lambda i: f"expected a bracket after every label and only there, got {items.text(i)}",
    )
    items.refuse(is_open & (count == 0), lambda _: "expected children or $, got an empty bracket")
    known = is_class if labeled else is_class & items.among(vocabs["target"])
    target = labels_of_lines(items, known, items.encode(known, vocabs["target"]))
    forest = assemble(
        is_node,
        np.where(up < 0, -1, up - 1),  # a bracket comes after its node
        items.place // 2,  # every child is a label and a bracket
        {"label": items.encode(is_node, vocabs["label"])},
        {"label": vocabs["label"]},
    )
    return LabeledTrees(forest, {"target": target}, targets=vocabs["target"])


INEX = Format(
    "Structures of XML documents, a line per tree: class:label(child child ...).",
    stream_inex,
    first_line=r"\d+:\d+\(",
)

"""Lines of trees in brackets: the grammar of lines, and functions that all such formats share.

:func:`~dgltrees.trees.builders.scan.scan` splits a string into items, its brackets and words. A
:class:`Grammar` defines how items form lines. The reader of a format then interprets the items, and
:func:`~dgltrees.trees.builders.brackets.assemble` builds a forest of those that are nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike, replacing
from dgltrees.errors import TreeError
from dgltrees.formats.lines import line_chunks
from dgltrees.trees.builders.scan import Brackets, scan
from dgltrees.trees.forest import Forest
from dgltrees.trees.labeled import LabeledTrees
from dgltrees.trees.segments import Bools, Ints, locate, within


@dataclass(frozen=True)
class Grammar:
    """Grammar of the lines of a format; each item outside all brackets is a field of a line.

    Arguments:
        form: the form of a line, for the errors.
        fields: the number of fields of each line that is not blank.
        label: the index of the field that is the label of the line, if there is one.
        pair: the opening and the closing bracket.
        blank: further bytes that are white space.
    """

    form: str
    fields: int = 1
    label: int | None = None
    pair: bytes = b"()"
    blank: bytes = b""

    def lines(
        self, path: PathLike, trees: int, *, labeled: bool = True
    ) -> Iterator[tuple[Brackets, Bools]]:
        """Iterate over the items of ``trees`` lines at a time, and the mask of their labels."""
        for data, line in line_chunks(path, trees):
            yield self.items(data, path, line, labeled=labeled)

    def items(
        self, data: bytes, path: PathLike, first_line: int, *, labeled: bool = True
    ) -> tuple[Brackets, Bools]:
        """Return the ``M`` items of some lines, and a mask ``(M,)`` of the labels of lines.

        With ``labeled``, every line must have its label; for errors see :meth:`lines`.
        """
        try:
            items = scan(data, pair=self.pair, blank=self.blank, file=path, first_line=first_line)
        except TreeError as error:  # a line before it may be of another form
            before = data.split(b"\n")[: (error.line or first_line) - first_line]
            if any(map(bytes.strip, before)):
                self.items(b"\n".join(before), path, first_line, labeled=labeled)
            raise
        outside = np.flatnonzero(items.depth == 0)
        line = np.searchsorted(items.ends, items.start[outside])
        count = np.bincount(line, minlength=len(items.ends))
        unlabeled = (count == self.fields - 1) & (self.label is not None)
        wrong = (count != self.fields) & (count != 0) & (~unlabeled | labeled)
        if wrong.any():
            row = int(np.argmax(wrong))
            cause = "is it cut off, or of another format?"
            if unlabeled[row]:
                cause = f"training and evaluation need labels; if it has one, {cause}"
            raise TreeError(
                f"expected a line of the form {self.form}, with {self.fields} "
                f"part{'s' * (self.fields > 1)} outside all brackets, got {count[row]}; {cause}",
                file=items.file,
                line=items.first_line + row,
            )
        is_label = np.zeros(len(items.depth), np.bool_)
        if self.label is not None:
            is_label[outside] = (within(count[count > 0]) == self.label) & ~unlabeled[line]
        return items, is_label


def at_brackets(items: Brackets, of: Bools, values: NDArray[Any]) -> NDArray[Any]:
    """Return the values of some items at the brackets that contain them, ``(M,)``; otherwise -1."""
    moved = np.full_like(values, -1)
    moved[items.parent[of]] = values[of]
    return moved


def labels_of_lines(items: Brackets, is_label: Bools, numbers: NDArray[np.integer[Any]]) -> Ints:
    """Return the label of each line that is not blank, ``(E,)``; -1 without a label."""
    lines = np.unique(np.searchsorted(items.ends, items.start[items.depth == 0]))
    labels = np.full(len(lines), -1, np.int64)
    line = np.searchsorted(items.ends, items.start[is_label])
    labels[np.searchsorted(lines, line)] = numbers[is_label]
    return labels


def check_nodes(forest: Forest, wrong: Bools, rule: str) -> None:
    """Check that a format can express every node of a forest."""
    if wrong.any():
        tree, node = locate(forest.offsets, int(np.argmax(wrong)))
        raise TreeError(f"{rule}, got another", tree=tree, node=node)


def choose(texts: Sequence[str], rows: NDArray[np.generic]) -> NDArray[np.object_]:
    """Return ``texts[row]`` per row; sums of such arrays join the texts row by row."""
    return np.array(texts, object)[rows.astype(np.int64)]


def write_lines(examples: LabeledTrees, path: PathLike, trees: Sequence[str]) -> None:
    """Write a line per example: the name of its class, then its trees, separated by tabs."""
    names = examples.targets.decode(examples.columns["target"])
    sides = [trees[side :: examples.arity] for side in range(examples.arity)]
    with replacing(path) as file:
        for fields in zip(names, *sides):
            file.write("\t".join(text.rstrip() for text in fields) + "\n")

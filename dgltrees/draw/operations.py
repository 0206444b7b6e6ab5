"""``draw_operations``: a sequence read step by step, with the stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import numpy as np
from numpy.typing import ArrayLike

from dgltrees._files import PathLike
from dgltrees.draw.labels import visible
from dgltrees.draw.operations_steps import ReadingStep
from dgltrees.draw.operations_svg import reading_svg
from dgltrees.draw.operations_text import reading_lines
from dgltrees.draw.picture import check_size, save_picture
from dgltrees.errors import TreeError
from dgltrees.trees.operations import Operation, match_splits

__all__ = ["OperationsDrawing", "draw_operations"]


@dataclass(frozen=True)
class OperationsDrawing:
    """The steps of one sequence, as SVG (what Jupyter shows) and as text (what print shows).

    Made by :func:`draw_operations`. Each step has its token, its operation, and the stack after it
    (:class:`~dgltrees.draw.operations_steps.ReadingStep`).
    """

    steps: list[ReadingStep]
    title: Optional[str]
    svg_limit: int

    @cached_property
    def svg(self) -> str:
        """The drawing as one self-contained SVG element, legible on light and dark pages.

        Raises:
            TreeError: there are more tokens in all lines together than ``svg_limit``.
        """
        check_size(self._cells, self.svg_limit)
        return reading_svg(self.steps, self.title, self._about)

    @cached_property
    def text(self) -> str:
        """The drawing as text, a step a line (:mod:`dgltrees.draw.operations_text`)."""
        return "\n".join(self.lines())

    def lines(self, *, ascii_only: bool = False) -> Iterator[str]:
        """The lines of :attr:`text`, without line ends; ``ascii_only``: of ASCII characters."""
        return reading_lines(self.steps, self.title, ascii_only)

    def save(self, path: PathLike, *, ascii_only: bool = False) -> None:
        """Write a picture to a path that ends in ``.svg``, text to one that ends in ``.txt``.

        Raises:
            TreeError: another ending, or an SVG of too many tokens.
        """
        save_picture(self, path, ascii_only=ascii_only)

    @property
    def _cells(self) -> int:
        return len(self.steps) * (len(self.steps) + 1) // 2

    @property
    def _about(self) -> str:
        deepest = max(len(step.parts) - 1 for step in self.steps)
        return f"{len(self.steps)} steps of reading, with up to {deepest} entries on the stack"

    def _repr_svg_(self) -> Optional[str]:
        """What Jupyter shows; nothing if it is too large: then it shows the repr."""
        return self.svg if self._cells <= self.svg_limit else None

    def __repr__(self) -> str:
        return f"OperationsDrawing({self._about}: print it for text, .svg for a picture)"

    def __str__(self) -> str:
        return self.text


def draw_operations(
    operations: ArrayLike,
    tokens: Sequence[str],
    *,
    recur_only: bool = False,
    title: Optional[str] = None,
    svg_limit: int = 2000,
) -> OperationsDrawing:
    """Draw how a recurrent-recursive network reads a sequence: evaluate, print or ``save`` it.

    Arguments:
        operations: ``(L,)`` SPLIT, RECUR or MERGE, without START. Splits may be left open.
        tokens: the ``L`` tokens; with ``recur_only`` as many as there are RECURs.
        recur_only: only RECUR has a token.
        title: a line above the steps.
        svg_limit: the most tokens an SVG may have, all lines together: ``L (L + 1) / 2``.

    Raises:
        TreeError: there is no step, an operation is another, a merge has no split, or there are
            tokens for another number of steps.
    """
    ops = np.asarray(operations, np.int64)
    if not len(ops) or not ((ops >= Operation.SPLIT) & (ops <= Operation.MERGE)).all():
        raise TreeError(f"expected operations SPLIT, RECUR or MERGE (1 to 3), got {ops.tolist()}")
    match_splits(ops, [len(ops)])  # refuses a merge without a split
    has_token = ops == Operation.RECUR if recur_only else np.ones(len(ops), np.bool_)
    if len(tokens) != has_token.sum():
        raise TreeError(f"expected a token for each of {has_token.sum()} steps, got {len(tokens)}")
    given = iter(tokens)
    shown = [visible(next(given)) if there else "" for there in has_token.tolist()]
    steps, begins = [], [0]  # where each open sub-tree begins, the whole sequence first
    for place, (token, operation) in enumerate(zip(shown, ops.tolist())):
        if operation == Operation.SPLIT:
            begins.append(place + 1)
        elif operation == Operation.MERGE:
            begins.pop()
        bounds = [*begins, place + 2]
        read = ["", *shown]
        parts = [(first, read[first:stop]) for first, stop in zip(bounds, bounds[1:])]
        steps.append(ReadingStep(token, Operation(operation).name, parts))
    return OperationsDrawing(steps, None if title is None else visible(title, 120), svg_limit)

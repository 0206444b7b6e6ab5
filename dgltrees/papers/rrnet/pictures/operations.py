"""``draw_operations``: a sequence of SPLIT, RECUR and MERGE, step by step, with the stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dgltrees.draw.inputs import MAX_TITLE
from dgltrees.draw.picture import Picture
from dgltrees.draw.strings import printable
from dgltrees.errors import TreeError
from dgltrees.papers.rrnet.graphs import Operation
from dgltrees.papers.rrnet.graphs.matching import match_splits
from dgltrees.papers.rrnet.pictures.operations_steps import OperationStep, operation_steps
from dgltrees.papers.rrnet.pictures.operations_svg import operations_svg
from dgltrees.papers.rrnet.pictures.operations_text import operations_text

__all__ = ["OperationsDrawing", "draw_operations"]


@dataclass(frozen=True, repr=False)
class OperationsDrawing(Picture):
    """An operation sequence drawn by :func:`draw_operations`: one line per step."""

    steps: list[OperationStep]
    title: str | None
    svg_limit: int

    _unit: ClassVar[str] = "tokens"

    @property
    def _size(self) -> int:
        return len(self.steps) * (len(self.steps) + 1) // 2

    @property
    def _description(self) -> str:
        deepest = max(step.stack_size for step in self.steps)
        return f"{len(self.steps)} steps of reading, with up to {deepest} entries on the stack"

    def _svg(self) -> str:
        return operations_svg(self.steps, self.title, self._description)

    def _lines(self, ascii_only: bool) -> Iterator[str]:
        return operations_text(self.steps, self.title, ascii_only)


def draw_operations(
    operations: ArrayLike,
    tokens: Sequence[str],
    *,
    recur_only: bool = False,
    title: str | None = None,
    svg_limit: int = 2000,
) -> OperationsDrawing:
    """Draw the operations of a recurrent-recursive network, and its stack after each of them.

    Evaluate it in Jupyter for a picture, print it for text, ``save`` it to a file.

    Arguments:
        operations: ``(L,)`` SPLIT, RECUR or MERGE, without START. A SPLIT need not have a MERGE.
        tokens: the ``L`` tokens; with ``recur_only`` as many as there are RECURs.
        recur_only: whether only RECUR has a token.
        title: a line above the steps.
        svg_limit: the most tokens an SVG may have, all lines together: ``L (L + 1) / 2``.

    Raises:
        TreeError: there is no step, an operation is another, a MERGE has no SPLIT, or the number
            of tokens differs from the number of steps that have one.
    """
    ops = np.asarray(operations, np.int64)
    if not len(ops) or not ((ops >= Operation.SPLIT) & (ops <= Operation.MERGE)).all():
        raise TreeError(f"expected operations SPLIT, RECUR or MERGE (1 to 3), got {ops.tolist()}")
    match_splits(ops, [len(ops)])  # raises on a MERGE without a SPLIT
    has_token = ops == Operation.RECUR if recur_only else np.ones(len(ops), np.bool_)
    if len(tokens) != has_token.sum():
        raise TreeError(f"expected a token for each of {has_token.sum()} steps, got {len(tokens)}")
    texts = map(printable, tokens)
    step_tokens = [next(texts) if has else "" for has in has_token.tolist()]
    steps = operation_steps(ops.tolist(), step_tokens)
    return OperationsDrawing(
        steps, None if title is None else printable(title, MAX_TITLE), svg_limit
    )

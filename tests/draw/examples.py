"""Forests to draw, some of them drawn by hypothesis."""

import numpy as np
from hypothesis import strategies as st

from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

OPERATORS = Vocabulary(["MAX", "MED", "MIN", "SM"], frozen=True)


def listops() -> Forest:
    """``[MAX 3 [MIN 9 7] 2]`` and ``[SM 5 6]``, the nodes of the first in another order."""
    return Forest.build(
        parent=[2, 4, 4, 2, -1, 4, -1, 0, 0],
        pos=[1, 2, 1, 0, 0, 0, 0, 0, 1],
        offsets=[0, 6, 9],
        columns={
            "op": np.array([-1, -1, 2, -1, 0, -1, 3, -1, -1]),
            "value": np.array([7, 2, -1, 9, -1, 3, -1, 5, 6]),
        },
        vocabs={"op": OPERATORS},
    )


@st.composite
def forests(draw: st.DrawFn) -> Forest:
    """One to three trees of 1 to 25 nodes in any order, with labels of different lengths."""
    parents: list[int] = []
    offsets = [0]
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 25))
        grown = [-1] + [draw(st.integers(max(0, i - 6), i - 1)) for i in range(1, size)]
        order = draw(st.permutations(range(size)))
        moved = [0] * size
        for old, parent in enumerate(grown):
            moved[order[old]] = -1 if parent < 0 else order[parent]
        parents += moved
        offsets.append(len(parents))
    lengths = st.lists(st.integers(1, 14), min_size=len(parents), max_size=len(parents))
    names = ["W" * length for length in draw(lengths)]
    return Forest.build(parents, offsets=offsets, columns={"name": np.array(names)})

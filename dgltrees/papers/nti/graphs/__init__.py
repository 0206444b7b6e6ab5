"""The trees over sentences, and the phrases at their nodes."""

from dgltrees.papers.nti.graphs.full import (
    FullShape,
    full_shape,
    full_trees,
    full_width,
    left_branching_trees,
)
from dgltrees.papers.nti.graphs.phrases import phrases

__all__ = ["FullShape", "full_shape", "full_trees", "full_width", "left_branching_trees", "phrases"]

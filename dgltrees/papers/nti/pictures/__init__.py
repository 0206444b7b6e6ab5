"""The pictures of Neural Tree Indexers."""

from dgltrees.papers.nti.pictures.attention import (
    AttentionDrawing,
    draw_attention,
    tree_cells,
)

__all__ = ["AttentionDrawing", "draw_attention", "tree_cells"]

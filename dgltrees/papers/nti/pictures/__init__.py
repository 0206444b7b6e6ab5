"""Pictures of this paper."""

from dgltrees.papers.nti.pictures.attention import (
    AttentionDrawing,
    draw_attention,
    tree_cells,
)

__all__ = ["AttentionDrawing", "draw_attention", "tree_cells"]

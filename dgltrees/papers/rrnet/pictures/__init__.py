"""The pictures of RRNet."""

from dgltrees.papers.rrnet.pictures.operations import (
    OperationsDrawing,
    draw_operations,
)

__all__ = ["OperationsDrawing", "draw_operations"]

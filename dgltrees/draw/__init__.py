"""Trees as SVG (in Jupyter and to a file) and as text (in a terminal)."""

from __future__ import annotations

from dgltrees.draw.arcs import ArcDrawing, draw_arcs
from dgltrees.draw.attention import AttentionDrawing, draw_attention, tree_cells
from dgltrees.draw.drawing import Drawing, draw
from dgltrees.draw.files import draw_examples, draw_file
from dgltrees.draw.reading import ReadingDrawing, draw_reading

__all__ = [
    "ArcDrawing",
    "AttentionDrawing",
    "Drawing",
    "ReadingDrawing",
    "draw",
    "draw_arcs",
    "draw_attention",
    "draw_examples",
    "draw_file",
    "draw_reading",
    "tree_cells",
]

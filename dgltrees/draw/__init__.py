"""Drawings of trees, dependency arcs, attention and operation sequences, as SVG and as text.

Jupyter shows the SVG of a drawing, ``print`` its text, and ``save`` writes either to a file.
"""

from __future__ import annotations

from dgltrees.draw.arcs import ArcDrawing, draw_arcs
from dgltrees.draw.files import draw_examples, draw_file
from dgltrees.draw.picture import Picture
from dgltrees.draw.trees import Drawing, draw

__all__ = ["ArcDrawing", "Drawing", "Picture", "draw", "draw_arcs", "draw_examples", "draw_file"]

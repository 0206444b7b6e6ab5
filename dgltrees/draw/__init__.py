"""Drawings of trees, attention and operation sequences, as SVG and as text.

Jupyter shows the SVG of a drawing, ``print`` its text, and ``save`` writes either to a file.
"""

from __future__ import annotations

from dgltrees.draw.files import draw_examples, draw_file
from dgltrees.draw.picture import Picture
from dgltrees.draw.trees import Drawing, draw

__all__ = ["Drawing", "Picture", "draw", "draw_examples", "draw_file"]

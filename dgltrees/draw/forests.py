"""The representation of a forest in Jupyter."""

from __future__ import annotations

from html import escape

from dgltrees.draw.trees import draw
from dgltrees.trees.forest import Forest

_SHOWN_NODES = 100  # of the first tree; a larger one is only counted


def forest_html(forest: Forest) -> str:
    """Return the counts of a forest, a table of its columns, and its first tree if it is small."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(kind)}</td></tr>"
        for name, kind in forest.column_types.items()
    )
    trees, nodes = len(forest), forest.num_nodes
    text = f"{trees:,} tree{'s' * (trees != 1)}, {nodes:,} node{'s' * (nodes != 1)}"
    html = f"<div><p>Forest of {text}</p>" + (f"<table>{rows}</table>" if rows else "")
    if trees and forest.sizes[0] <= _SHOWN_NODES:
        html += draw(forest[0]).svg
    elif trees:
        html += (
            f"<p>The first tree has {forest.sizes[0]:,} nodes: draw(forest, tree=0) draws it.</p>"
        )
    return html + "</div>"

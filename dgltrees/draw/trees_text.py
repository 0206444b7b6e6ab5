"""Trees as lines of text, one line per node.

::

    MAX  → 7
    ├─ 3
    ├─ MIN
    │  ├─ 9
    │  └─ 7
    └─ 2

The indentation shows depths up to ``MAX_INDENT``. A deeper node is not indented further and shows
its depth as a number instead, ``⋯17 MIN``: its parent is the last node above it whose depth is one
less. So a chain of n nodes takes n lines of bounded length.
"""

from __future__ import annotations

from collections.abc import Iterator

from dgltrees.draw.labels import Labels
from dgltrees.draw.layout import Layout

__all__ = ["MAX_INDENT", "trees_text"]

MAX_INDENT = 16

_GUIDES = {False: ("├", "└", "─", "│", "⋯"), True: ("|", "`", "-", "|", "...")}


def trees_text(layout: Layout, labels: Labels, ascii_only: bool = False) -> Iterator[str]:
    """The lines of a drawing, without line ends.

    Arguments:
        layout: the trees.
        labels: what is written on them.
        ascii_only: whether guides are in ASCII; labels are as they are.
    """
    tee, corner, bar, pipe, dots = _GUIDES[ascii_only]
    last_children = {children[-1] for children in layout.children if children}
    indent = [""] * len(layout)  # of a node's children
    tree = -1
    for node in layout.preorder:
        parent, depth = layout.parent[node], layout.depth[node]
        position = "" if labels.positions[node] is None else f"{labels.positions[node]}{bar}"
        if parent < 0:
            tree += 1
            if tree:
                yield ""
            title = labels.titles[tree]
            if title:
                yield title
            guide = ""
        elif depth <= MAX_INDENT:
            is_last = node in last_children
            guide = f"{indent[parent]}{corner if is_last else tee}{bar}{position} "
            indent[node] = indent[parent] + ("   " if is_last else f"{pipe}  ")
        else:
            indent[node] = indent[parent]
            guide = f"{indent[node]}{dots}{depth}{bar * bool(position)}{position} "
        texts = (" ".join(labels.names[node]), labels.details[node])
        yield guide + "  ".join(filter(None, texts))

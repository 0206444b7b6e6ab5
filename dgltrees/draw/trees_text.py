"""Trees as lines of text, one a node.

::

    MAX  → 7
    ├─ 3
    ├─ MIN
    │  ├─ 9
    │  └─ 7
    └─ 2

The indentation shows the depth down to ``DEEPEST`` levels. A node further down is indented no
more and shows its depth as a number instead, ``⋯17 MIN``: its parent is the last node above it
whose depth is one less. So a chain of n nodes takes n lines of bounded length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional

from dgltrees.draw.labels import Marks
from dgltrees.draw.layout import Skeleton

__all__ = ["DEEPEST", "escaped", "text_lines"]

DEEPEST = 16

_GUIDES = {False: ("├", "└", "─", "│", "⋯"), True: ("|", "`", "-", "|", "...")}
_ASCII = str.maketrans({"→": "->", "←": "<-", "✓": "ok", "✗": "wrong", "·": ".", "…": "..."})


def text_lines(
    skeleton: Skeleton,
    marks: Marks,
    numbered: Sequence[bool],
    titles: Sequence[Optional[str]],
    ascii_only: bool = False,
) -> Iterator[str]:
    """The lines of a drawing, without line ends.

    Arguments:
        skeleton: the trees.
        marks: what stands on their nodes.
        numbered: whether each node shows its position.
        titles: a line above each tree, or None.
        ascii_only: whether to do without box-drawing and other characters outside ASCII.
    """
    tee, corner, bar, pipe, dots = _GUIDES[ascii_only]
    last = {children[-1] for children in skeleton.children if children}
    indent = [""] * len(skeleton)  # of a node's children
    tree = -1
    for node in skeleton.preorder:
        parent, depth = skeleton.parent[node], skeleton.depth[node]
        position = f"{skeleton.pos[node]}{bar}" if numbered[node] else ""
        if parent < 0:
            tree += 1
            if tree:
                yield ""
            title = titles[tree]
            if title:
                yield escaped(title) if ascii_only else title
            guide = ""
        elif depth <= DEEPEST:
            guide = f"{indent[parent]}{corner if node in last else tee}{bar}{position} "
            indent[node] = indent[parent] + ("   " if node in last else f"{pipe}  ")
        else:
            indent[node] = indent[parent]
            guide = f"{indent[node]}{dots}{depth}{bar * bool(position)}{position} "
        words = "  ".join(filter(None, (" ".join(marks.labels[node]), marks.details[node])))
        yield guide + (escaped(words) if ascii_only else words)


def escaped(text: str) -> str:
    """The text in ASCII characters."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")

"""Trees in the language of Graphviz."""

from __future__ import annotations

import json
from typing import Any

from dgltrees.trees.builders.objects import records
from dgltrees.trees.forest import Forest

__all__ = ["to_dot"]


def to_dot(forest: Forest, tree: int = 0) -> str:
    """One tree in the language of Graphviz, for ``dot -Tsvg`` and other programs that read it.

    The text of a node is its columns, one per line; an edge has the position of its child as text
    where a child is missing before another.

    Arguments:
        forest: the trees.
        tree: the index of the tree.
    """
    chosen = forest[tree]
    lines = ["digraph {", "  node [shape=box];"]
    for node, row in enumerate(records(chosen)):
        text = "\n".join(f"{name}: {value}" for name, value in row.items())
        lines.append(f"  {node} [label={_quoted(text or node)}];")
    with_gaps = set(chosen.parent[chosen.pos >= chosen.degree[chosen.parent]].tolist())
    for node in chosen.pos.argsort(kind="stable").tolist():
        up = int(chosen.parent[node])
        if up >= 0:
            label = f" [label={_quoted(chosen.pos[node])}]" if up in with_gaps else ""
            lines.append(f"  {up} -> {node}{label};")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: Any) -> str:
    return json.dumps(str(text), ensure_ascii=False)

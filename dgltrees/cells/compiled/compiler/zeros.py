"""Products with zeros are left out of a graph, as those of leaves with a state that is zero."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

__all__ = ["without_products_of_zeros"]

aten = torch.ops.aten
_MADE = {aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default}
_FILLED = {aten.full.default, aten.full_like.default, aten.new_full.default}
_SAME = {
    *(aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.expand.default),
    *(aten.alias.default, aten.clone.default, aten.detach.default, aten.t.default),
    *(aten.transpose.int, aten.permute.default, aten.unsqueeze.default, aten.squeeze.dim),
    *(aten.slice.Tensor, aten.select.int),
}
_PRODUCTS = {aten.mm.default: 0, aten.bmm.default: 0, aten.addmm.default: 1}
"""Products, and the place of their first factor."""


def without_products_of_zeros(graph: fx.Graph) -> None:
    """Replace ``0 W`` by 0 and ``b + 0 W`` by b, in place; what W holds is finite."""
    zeros: set[fx.Node] = set()
    for node in list(graph.nodes):
        if _is_zero(node, zeros):
            zeros.add(node)
        first = _PRODUCTS.get(node.target)
        if first is None or node.args[first] not in zeros or node.kwargs:
            continue
        shape = list(node.meta["val"].shape)
        with graph.inserting_before(node):
            if first == 0:
                new = graph.call_function(aten.zeros.default, (shape,))
                zeros.add(new)
            else:
                new = graph.call_function(aten.expand.default, (node.args[0], shape))
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        graph.erase_node(node)


def _is_zero(node: fx.Node, zeros: set[fx.Node]) -> bool:
    """Whether all numbers of a node are known to be zero."""
    first: Any = node.args[0] if node.args else None
    if node.target in _FILLED:
        fill = node.args[2 if node.target is aten.new_full.default else 1]
        return isinstance(fill, (int, float)) and fill == 0
    return node.target in _MADE or (node.target in _SAME and first in zeros)

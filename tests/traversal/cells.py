"""Cells that a user of DGL would write."""

import torch
from torch import Tensor, nn

from dgltrees.traversal.views import Edges, Nodes


class BinaryTreeLSTM(nn.Module):
    """Binary Tree-LSTM as tutorials write it: concatenated children, bias in apply."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.U_iou = nn.Linear(2 * size, 3 * size, bias=False)
        self.b_iou = nn.Parameter(torch.randn(1, 3 * size))
        self.U_f = nn.Linear(2 * size, 2 * size)

    def message(self, edges: Edges) -> dict[str, Tensor]:
        return {"h": edges.src["h"], "c": edges.src["c"]}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        both = nodes.mailbox["h"].view(nodes.mailbox["h"].size(0), -1)
        f = torch.sigmoid(self.U_f(both)).view(*nodes.mailbox["h"].size())
        return {"iou": self.U_iou(both), "c": torch.sum(f * nodes.mailbox["c"], 1)}

    def apply_node(self, nodes: Nodes) -> dict[str, Tensor]:
        iou = nodes.data["iou"] + self.b_iou
        i, o, u = torch.chunk(iou, 3, 1)
        c = torch.sigmoid(i) * torch.tanh(u) + nodes.data["c"]
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}


class Mixing(nn.Module):
    """Reads everything the contract offers: both ends, edge data, order of the mailbox, groups."""

    def __init__(self, size: int, group_by: str | None = None, slots: int | None = None) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(size, size))
        self.scale = nn.Parameter(torch.randn(4, size))
        self.group_by, self.slots = group_by, slots

    def message(self, edges: Edges) -> dict[str, Tensor]:
        return {
            "m": edges.src["h"] @ self.w + edges.dst["x"] * edges.data["e"],
            "n": edges.src["x"],
        }

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        m = nodes.mailbox["m"]
        order = torch.arange(1, m.shape[1] + 1, dtype=m.dtype, device=m.device)[None, :, None]
        a = (m / order).sum(1).tanh() + nodes.mailbox["n"].sum(1)
        if nodes.mask is not None:
            a = a * nodes.mask.sum(1, keepdim=True)
        return {"a": a + nodes.data["x"]}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        a = nodes.data["a"] if "a" in nodes.data else nodes.data["x"]
        if nodes.groups is not None:
            a = torch.cat(
                [
                    part * self.scale[value]
                    for part, (value, _) in zip(
                        a.split([count for _, count in nodes.groups]), nodes.groups
                    )
                ]
            )
        return {"h": torch.tanh(a)}

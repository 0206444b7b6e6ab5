"""Cells that users write by DGL's contract, without a compiled way of their own."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell
from dgltrees.traversal import Nodes


class Cell(BaseCell):
    """One state, and an input part of the same size."""

    ordered = False

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.W = nn.Linear(input_size, hidden_size)
        self.U = nn.Linear(hidden_size, hidden_size, bias=False)

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {"wx": self.W(self.check(ndata))}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        return {"uh": self.U(self.below(nodes, nodes.mailbox["h"]))}

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        raise NotImplementedError

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        a = nodes.data["wx"]
        if "uh" in nodes.data:
            a = a + nodes.data["uh"]
        return {"h": torch.tanh(a)}


class Largest(Cell):
    """The cell of docs/howto/write_cell.md: the largest component, a little of the mean."""

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        return 0.75 * h.amax(1) + 0.25 * h.mean(1)


class First(Cell):
    """Where several children have the largest or smallest component, the first counts."""

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        h = torch.relu(h)  # many zeros
        return h.max(1).values - nn.functional.leaky_relu(h - 0.1).min(dim=1)[0]


class Attention(Cell):
    """A softmax over the children, scored by the node's input."""

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        weights = torch.softmax((h * nodes.data["wx"].unsqueeze(1)).sum(-1), 1)
        return (weights.unsqueeze(-1) * h).sum(1)


class Heads(Cell):
    """Two heads of attention with queries, keys and values, by einsum."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.Q = nn.Linear(input_size, hidden_size)
        self.KV = nn.Linear(hidden_size, 2 * hidden_size)

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        q = self.Q(nodes.data["x"]).view(len(h), 2, -1)
        k, v = self.KV(h).view(len(h), h.size(1), 2, 2, -1).unbind(2)
        scores = torch.einsum("nkc,ndkc->nkd", q, k) / q.size(-1) ** 0.5
        return torch.einsum("nkd,ndkc->nkc", scores.log_softmax(-1).exp(), v).flatten(1)


class Gated(Cell):
    """A gated sum with layer normalisation."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.gate = nn.Linear(2 * hidden_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        wx = nodes.data["wx"].unsqueeze(1).expand_as(h)
        gate = torch.sigmoid(self.gate(torch.cat([h, wx], -1)))
        return self.norm((gate * h).sum(1))


class GRU(Cell):
    """A gated recurrent unit over the sum of the children."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.gru = nn.GRUCell(input_size, hidden_size)

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {"gates": self.check(ndata) @ self.gru.weight_ih.t() + self.gru.bias_ih}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        return {"before": nodes.mailbox["h"].sum(1)}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        gates = nodes.data["gates"]
        h = nodes.data.get("before")
        if h is None:
            h = torch.zeros_like(gates[:, : self.hidden_size])
        u = nn.functional.linear(h, self.gru.weight_hh, self.gru.bias_hh)
        (r, z, n), (ur, uz, un) = gates.chunk(3, 1), u.chunk(3, 1)
        z = torch.sigmoid(z + uz)
        new = torch.tanh(n + torch.sigmoid(r + ur) * un)
        return {"h": (1 - z) * new + z * h}


class Statistics(Cell):
    """Everything else: masks, slices, spreads, numbers of children, several activations."""

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        order = torch.arange(1, h.shape[1] + 1, dtype=h.dtype)[None, :, None]
        spread = (h - h.mean(1, keepdim=True)).pow(2).sum(1) / h.shape[1]
        some = torch.where(h > 0, nn.functional.gelu(h), -h.abs() / order).sum(1)
        some = some + torch.full((len(h), 1), float(h.shape[1]), dtype=h.dtype)
        half = self.hidden_size // 2
        a = torch.cat([h[:, :, half:].amin(1), nn.functional.silu(spread)[:, :half]], 1)
        a += torch.nn.functional.elu(some).clamp(-0.5, 2)
        return torch.lerp(a, torch.sqrt(1 + spread), 0.3) * self.U.weight.diagonal()


class Modules(Cell):
    """Modules of torch that are more than one operation."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        heads = 1 + (hidden_size % 2 == 0)
        self.attend = nn.MultiheadAttention(hidden_size, heads, batch_first=True)
        self.both = nn.Bilinear(hidden_size, hidden_size, hidden_size)
        self.lstm = nn.LSTMCell(hidden_size, hidden_size)
        self.slope = nn.PReLU()

    def below(self, nodes: Nodes, h: Tensor) -> Tensor:
        functions = nn.functional
        wx = nn.functional.normalize(nodes.data["wx"], dim=1)
        a, _ = self.attend(wx.unsqueeze(1), h, h, need_weights=False)
        near = functions.cosine_similarity(h, wx.unsqueeze(1), dim=-1).unsqueeze(-1)
        c = self.both((near * h).sum(1), torch.logsumexp(h, 1))
        h, c = self.lstm(a.squeeze(1), (self.slope(c), functions.mish(c)))
        return functions.glu(torch.cat([functions.selu(h), c], 1)) + h.abs().pow(1.5) / (1 + c**-2)


class Published(nn.Module):
    """The child-sum Tree-LSTM cell of DGL's examples, whose inner nodes have no input."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.W_iou = nn.Linear(input_size, 3 * hidden_size, bias=False)
        self.U_iou = nn.Linear(hidden_size, 3 * hidden_size, bias=False)
        self.b_iou = nn.Parameter(torch.zeros(1, 3 * hidden_size))
        self.U_f = nn.Linear(hidden_size, hidden_size)

    def message_func(self, edges: Any) -> dict[str, Tensor]:
        return {"h": edges.src["h"], "c": edges.src["c"]}

    def reduce_func(self, nodes: Any) -> dict[str, Tensor]:
        h_tild = torch.sum(nodes.mailbox["h"], 1)
        f = torch.sigmoid(self.U_f(nodes.mailbox["h"]))
        c = torch.sum(f * nodes.mailbox["c"], 1)
        return {"iou": self.U_iou(h_tild), "c": c}

    def apply_node_func(self, nodes: Any) -> dict[str, Tensor]:
        iou = nodes.data["iou"] + self.b_iou
        i, o, u = torch.chunk(iou, 3, 1)
        i, o, u = torch.sigmoid(i), torch.sigmoid(o), torch.tanh(u)
        c = i * u + nodes.data["c"]
        h = o * torch.tanh(c)
        return {"h": h, "c": c}

    message, reduce, update = message_func, reduce_func, apply_node_func

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        iou = self.W_iou(ndata["x"])
        zeros = iou.new_zeros(len(iou), self.U_f.in_features)
        return {"iou": iou, "h": zeros, "c": zeros}


class ByType(Cell):
    """Each type has operations of its own, chosen in Python, at leaves too."""

    group_by = "op"
    input_fields = ("x", "op")

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        h, first, parts = nodes.mailbox["h"], 0, []
        for kind, count in nodes.groups or []:
            parts.append(self.of(kind, h[first : first + count]))
            first += count
        return {"uh": torch.cat(parts)}

    def of(self, kind: int, h: Tensor) -> Tensor:
        if kind == 0:
            return self.U(h.sum(1))
        return h.amax(1) if kind == 1 else torch.sin(kind * self.U(h).mean(1))

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        a = nodes.data["wx"] + nodes.data.get("uh", 0)
        negative = (nodes.data["op"] == 1).unsqueeze(1)
        return {"h": torch.tanh(torch.where(negative, -a, a))}


CELLS: dict[str, Callable[[int, int], nn.Module]] = {
    "largest": Largest,
    "first": First,
    "attention": Attention,
    "heads": Heads,
    "gated": Gated,
    "gru": GRU,
    "statistics": Statistics,
    "modules": Modules,
    "published": Published,
}

"""A recurrent-recursive network as one reads the paper: a sequence, a stack, a step at a time.

Jacob et al. (2018), section 2; what the paper leaves open is as the cell's docstring says.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from dgltrees.cells import RRNetCell
from dgltrees.trees.kinds import Operation

F_1, F_2, LSTM, F_4 = 3, 0, 1, 2
"""Where the parameters of each unit stand."""


def normal(v: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """Layer normalisation of one vector."""
    centred = v - v.mean()
    return centred / (centred.square().mean() + 1e-5).sqrt() * gain + shift


def unit(cell: RRNetCell, k: int, h: Tensor, c: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """An LSTM unit: new h and c."""
    gates = (x @ cell.W[k] + cell.b[k] + h @ cell.U[k]).view(4, -1)
    if cell.layer_norm:
        rows = zip(gates, cell.gain[k, :4], cell.shift[k, :4])
        gates = torch.stack([normal(*row) for row in rows])
    i, f, o, u = gates
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(u)
    inner = normal(c, cell.gain[k, 4], cell.shift[k, 4]) if cell.layer_norm else c
    return torch.sigmoid(o) * torch.tanh(inner), c


def merged(cell: RRNetCell, h: Tensor, down: Tensor) -> Tensor:
    """``h_m`` of what is inside a sub-tree and what was before it."""
    hidden = torch.tanh(torch.cat([h, down]) @ cell.V_1 + cell.b_1)
    return hidden @ cell.V_2 + cell.b_2 if cell.merge == "two_layers" else hidden


def read(
    cell: RRNetCell, operations: Sequence[int], fields: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """h, c, and what is pushed, at every node of one sequence."""
    zero = torch.zeros(len(operations), cell.hidden_size, dtype=torch.float64)
    begin = {name: fields.get(name, zero) for name in ("h", "c", "down", "down_c")}
    stack: list[tuple[Tensor, Tensor]] = []
    made: list[tuple[Tensor, ...]] = []
    for t, operation in enumerate(operations):
        x, nothing = fields["x"][t], (zero[0], zero[0])
        pushed = nothing
        if operation in (Operation.START, Operation.OPEN):
            own = begin["h"][t], begin["c"][t]
            if operation == Operation.OPEN:
                pushed = begin["down"][t], begin["down_c"][t]
                stack.append(pushed)
            else:
                h, c = own
            made.append((*own, *pushed))
            continue
        if "mask" in fields:
            h = h * fields["mask"][t]
        if operation == Operation.SPLIT:
            pushed = unit(cell, F_1, h, c, x)
            stack.append(pushed)
            h, c = unit(cell, F_2, h, c, x)
        elif operation == Operation.RECUR:
            h, c = unit(cell, LSTM, h, c, x)
        else:
            down, down_c = stack.pop()
            c = {"restored": down_c, "running": c}[cell.memory]
            h, c = unit(cell, F_4, merged(cell, h, down), c, x)
        made.append((h, c, *pushed))
    columns = dict(zip(("h", "c", "down", "down_c"), map(torch.stack, zip(*made))))
    return {name: columns[name] for name in cell.state_fields}

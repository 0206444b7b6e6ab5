"""Training steps on a device: nodes per second of two Tree-LSTMs and of torch's LSTM."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees._dgl import dgl
from dgltrees.bench.cases import Case, operations, random_binary
from dgltrees.bench.contenders import CLASSES, VOCABULARY, Model, States, dgl_way, fused_way
from dgltrees.cells import TreeLSTM
from dgltrees.errors import ConfigError
from dgltrees.traversal import run_cell
from dgltrees.trees import Forest, TreeBatch

SIZES = (64, 256, 1024, 4096)
"""The numbers of trees in a batch."""


class _TreeClassifier(nn.Module):
    """The child-sum Tree-LSTM of the other benchmarks, with one backend."""

    def __init__(self, hidden: int, states: States) -> None:
        super().__init__()
        self.model, self.states = Model(hidden), states

    def forward(self, batch: TreeBatch) -> Tensor:
        logits: Tensor = self.model.out(self.states(self.model, batch)[batch.roots])
        return logits


class _ListOps(nn.Module):
    """An HOSVD Tree-LSTM with c = 20 and r = 3 whose operators have 2 to 5 arguments."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(VOCABULARY, 20)
        self.cell = TreeLSTM(20, 20, max_children=5, operators=4, aggregator="hosvd", rank=3)
        self.out = nn.Linear(20, CLASSES)

    def forward(self, batch: TreeBatch) -> Tensor:
        ndata = {"x": self.embed(batch.ndata["token"]), "op": batch.ndata["op"]}
        h = run_cell(self.cell, batch, ndata, outputs=["h"])["h"]
        logits: Tensor = self.out(h[batch.roots])
        return logits


class _Sequences(nn.Module):
    """torch's LSTM over as many tokens as the trees have nodes, in sequences of one length."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(VOCABULARY, hidden)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, CLASSES)

    def forward(self, batch: TreeBatch) -> Tensor:
        length = batch.num_nodes // batch.num_trees
        token = batch.ndata["token"][: length * batch.num_trees].view(batch.num_trees, length)
        logits: Tensor = self.out(self.lstm(self.embed(token))[0][:, -1])
        return logits


@dataclass(frozen=True)
class DeviceContender:
    """A model and its training trees.

    Arguments:
        name: the name in the table.
        make: constructs the model, given the hidden size.
        tree: samples one tree, as the parent of each node.
        cpu_only: whether it runs only on the CPU.
    """

    name: str
    make: Callable[[int], nn.Module]
    tree: Callable[[np.random.Generator], list[int]] = random_binary
    cpu_only: bool = False

    def forest(self, trees: int) -> Forest:
        """Sample this many trees; the operator of a node is its number of children."""
        forest = Case(self.name, trees, self.tree).forest(VOCABULARY)
        op = np.where(forest.degree > 0, forest.degree.astype(np.int64) - 2, -1)
        columns = {**forest.columns, "op": op}
        return Forest(forest.parent, forest.pos, forest.offsets, columns)


DEVICE_CONTENDERS = (
    DeviceContender("torch.nn.LSTM", _Sequences),
    DeviceContender("child-sum", lambda hidden: _TreeClassifier(hidden, fused_way)),
    DeviceContender("HOSVD, c = 20", lambda hidden: _ListOps(), operations),
    *(
        [DeviceContender("child-sum, dgl", lambda h: _TreeClassifier(h, dgl_way), cpu_only=True)]
        if dgl is not None
        else []
    ),
)


@dataclass(frozen=True)
class DeviceRow:
    """The results for one batch size on a device.

    Attributes:
        device: the name of the device.
        trees: the number of trees in the batch.
        rates: the nodes per second of each contender that runs there.
    """

    device: str
    trees: int
    rates: Mapping[str, float]


def usable(name: str) -> torch.device:
    """Return the device with this name; raise ConfigError if torch cannot use it here."""
    try:
        torch.empty(1, device=name)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        raise ConfigError(
            f"expected a device that torch can use on this machine, got {name!r}: {error}"
        ) from None
    return torch.device(name)


def device_rows(
    device: torch.device, sizes: Sequence[int], hidden: int = 128, rounds: int = 7
) -> list[DeviceRow]:
    """Time training steps on a device, from making the batch to the update.

    Arguments:
        device: the device of the tensors; plans are made on the CPU.
        sizes: the numbers of trees in a batch.
        hidden: c, the hidden size of the child-sum Tree-LSTM and of the LSTM.
        rounds: the number of timed steps, after three to warm up.

    Returns:
        the results, one row for each batch size, in nodes per second.
    """
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
    rows = []
    for trees in sizes:
        rates = {}
        for each in DEVICE_CONTENDERS:
            if each.cpu_only and device.type != "cpu":
                continue
            forest, model = each.forest(trees), each.make(hidden).to(device)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            times = [_step(model, optimizer, forest, device) for _ in range(rounds + 3)]
            rates[each.name] = forest.num_nodes / statistics.median(times[3:])
        rows.append(DeviceRow(name, trees, rates))
    return rows


def _step(
    model: nn.Module, optimizer: torch.optim.Optimizer, forest: Forest, device: torch.device
) -> float:
    """Return the seconds of one training step, including the work queued on the device."""
    _wait(device)
    start = time.perf_counter()
    batch = forest.batch().to(device)
    target = torch.arange(batch.num_trees, device=device) % CLASSES
    loss: Tensor = nn.functional.cross_entropy(model(batch), target)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    _wait(device)
    return time.perf_counter() - start


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def device_table(rows: Sequence[DeviceRow]) -> str:
    """Format results as a Markdown table of thousands of nodes per second."""
    names = [each.name for each in DEVICE_CONTENDERS]
    lines = ["| device | trees | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for row in rows:
        cells = [f"{row.rates[n] / 1e3:,.0f}" if n in row.rates else "-" for n in names]
        lines.append(f"| {row.device} | {row.trees} | " + " | ".join(cells) + " |")
    return "\n".join(lines)

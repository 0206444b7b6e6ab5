"""Training steps on a device and the CPU: nodes a second of two Tree-LSTMs and torch's LSTM.

``python -m tests.benchmarks.device --threads 1 --rounds 3`` prints the table for CUDA.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees._dgl import dgl
from dgltrees.cells import TreeLSTM
from dgltrees.trees import Forest, TreeBatch
from tests.benchmarks.cases import Case, operations, random_binary
from tests.benchmarks.contenders import (
    VOCABULARY,
    Contender,
    Model,
    dgl_way,
    fused_way,
    root_states,
)
from tests.benchmarks.tables import machine, markdown

SIZES = (64, 256, 1024, 4096)
"""The numbers of trees in a batch."""

Rates = tuple[str, int, Mapping[str, float]]
"""A device, the trees in a batch, and the nodes per second of each contender that runs there."""


def _listops(model: Model, batch: TreeBatch) -> Tensor:
    """Run backend levels, with the operators of the nodes as a second input."""
    x = model.embed(batch.ndata["token"])
    return root_states(model, batch, {"x": x, "op": batch.ndata["op"]})


def _sequences(model: Model, batch: TreeBatch) -> Tensor:
    """Run torch's LSTM over as many tokens as the trees have nodes, in sequences of one length."""
    length = batch.num_nodes // batch.num_trees
    token = batch.ndata["token"][: length * batch.num_trees].view(batch.num_trees, length)
    h: Tensor = model.cell(model.embed(token))[0]
    return h[:, -1]


_HOSVD = partial(TreeLSTM, max_children=5, operators=4, aggregator="hosvd", rank=3)
"""A cell whose operators have 2 to 5 arguments."""


@dataclass(frozen=True)
class DeviceContender(Contender):
    """A model and its training trees.

    Arguments:
        make: constructs the model, given the hidden size.
        tree: samples one tree, as the parent of each node.
        cpu_only: whether it runs only on the CPU.
    """

    make: Callable[[int], Model] = Model
    tree: Callable[[np.random.Generator], list[int]] = random_binary
    cpu_only: bool = False

    def forest(self, trees: int) -> Forest:
        """Sample this many trees; the operator of a node is its number of children."""
        forest = Case(self.name, trees, self.tree).forest(VOCABULARY)
        op = np.where(forest.degree > 0, forest.degree.astype(np.int64) - 2, -1)
        columns = {**forest.columns, "op": op}
        return Forest(forest.parent, forest.pos, forest.offsets, columns)


DEVICE_CONTENDERS = (
    DeviceContender(
        "torch.nn.LSTM",
        _sequences,
        lambda hidden: Model(hidden, partial(nn.LSTM, batch_first=True)),
    ),
    DeviceContender("child-sum", fused_way),
    DeviceContender("HOSVD, c = 20", _listops, lambda hidden: Model(20, _HOSVD), operations),
    *([] if dgl is None else [DeviceContender("child-sum, dgl", dgl_way, cpu_only=True)]),
)


def device_rows(
    device: torch.device, sizes: Sequence[int], hidden: int = 128, rounds: int = 7
) -> list[Rates]:
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
    rows: list[Rates] = []
    for trees in sizes:
        rates = {}
        for each in DEVICE_CONTENDERS:
            if each.cpu_only and device.type != "cpu":
                continue
            forest, model = each.forest(trees), each.make(hidden).to(device)
            times = []
            for _ in range(rounds + 3):
                start = time.perf_counter()
                each.step(model, forest)
                times.append(time.perf_counter() - start)
            rates[each.name] = forest.num_nodes / statistics.median(times[3:])
        rows.append((name, trees, rates))
    return rows


def device_table(rows: Sequence[Rates]) -> str:
    """Format results as a Markdown table of thousands of nodes per second."""
    names = [each.name for each in DEVICE_CONTENDERS]
    cells = (
        [device, trees, *(f"{rates[n] / 1e3:,.0f}" if n in rates else "-" for n in names)]
        for device, trees, rates in rows
    )
    return markdown(["device", "trees", *names], cells)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table for a device and the CPU."""
    parser = argparse.ArgumentParser(description="nodes per second of training steps")
    parser.add_argument("--device", default="cuda", help="the device to compare with the CPU")
    parser.add_argument("--hidden", type=int, default=128, help="size of a state")
    parser.add_argument("--rounds", type=int, default=7, help="timed steps of each contender")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="CPU threads")
    values = parser.parse_args(argv)
    try:
        torch.empty(1, device=values.device)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        sys.exit(f"expected a device that torch can use here, got {values.device!r}: {error}")
    torch.set_num_threads(values.threads)
    torch.set_flush_denormal(True)  # as training does
    print(f"Thousands of nodes per second, hidden size {values.hidden}; {machine()}")
    print("(torch.nn.LSTM over as many tokens; the dgl of PyPI runs only on the CPU)\n")
    devices = dict.fromkeys([torch.device(values.device), torch.device("cpu")])
    rates = [device_rows(each, SIZES, values.hidden, values.rounds) for each in devices]
    print(device_table([*itertools.chain(*rates)]))


if __name__ == "__main__":
    main()

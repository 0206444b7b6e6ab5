"""Training steps of recurrent-recursive networks with gold operations, and of LSTMs.

Math expressions as the paper trains on them, 4 and 5 operators, 128 a batch, hidden size 128. A
step takes one character under every contender; the time of the making of the batch is included.
"""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from dgltrees import run_cell
from dgltrees.cells import RRNetCell
from dgltrees.papers.rrnet.graphs import operation_graph
from dgltrees.papers.rrnet.models.stepping import advance, initial_state
from dgltrees.trees.kinds import Operation
from tests.benchmarks.conftest import _compiled, _threads  # noqa: F401 (fixtures)
from tests.benchmarks.test_speed import measure

SIZE, BATCH = 128, 128
CHARACTERS = "()0123456789+-*%"
VALUES = 100

Read = Callable[[list[Tensor]], Tensor]


def expression(rng: np.random.Generator, operators: int) -> str:
    """A bracketed expression; how many operators are on the left is drawn uniformly."""
    if not operators:
        return str(rng.integers(0, 10))
    left = int(rng.integers(0, operators))
    sides = expression(rng, left), expression(rng, operators - 1 - left)
    return f"({sides[0]}{rng.choice([*'+-*%'])}{sides[1]})"


def expressions() -> list[Tensor]:
    """The ids of the characters of each."""
    rng = np.random.default_rng(0)
    drawn = [expression(rng, int(rng.integers(4, 6))) for _ in range(BATCH)]
    drawn.sort(key=len, reverse=True)  # which is the order of all contenders
    return [torch.tensor([CHARACTERS.index(each) for each in text]) for text in drawn]


def operations_of(tokens: Tensor) -> Tensor:
    """Split at an opening bracket, merge at a closing one, recur elsewhere."""
    operations = torch.full_like(tokens, Operation.RECUR)
    operations[tokens == CHARACTERS.index("(")] = Operation.SPLIT
    operations[tokens == CHARACTERS.index(")")] = Operation.MERGE
    return operations


class Model(nn.Module):
    """Characters to the value of an expression, with the paper's cell or torch's LSTM."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(len(CHARACTERS) + 1, SIZE, padding_idx=len(CHARACTERS))
        self.cell, self.lstm = RRNetCell(SIZE, SIZE), nn.LSTM(SIZE, SIZE)
        self.out = nn.Linear(SIZE, VALUES)

    def graph(self, texts: list[Tensor], **how: object) -> Tensor:
        """The state at the end of each, read along the graph of its operations."""
        start = torch.tensor([len(CHARACTERS)])
        tokens = torch.cat([piece for text in texts for piece in (start, text)])
        operations = operations_of(tokens)
        operations[tokens == start] = Operation.START
        sizes = np.array([len(text) + 1 for text in texts])
        batch = operation_graph(operations.numpy(), sizes, complete=True)
        ndata = {"x": self.embed(tokens), "op": batch.ndata["op"]}
        return run_cell(self.cell, batch, ndata, outputs=["h"], **how)["h"][np.cumsum(sizes) - 1]

    def on_the_fly(self, texts: list[Tensor]) -> Tensor:
        """The same step by step, with a stack: as where operations are chosen by the state."""
        tokens = pad_sequence(texts, padding_value=len(CHARACTERS))
        x, operations = self.embed(tokens).unbind(), operations_of(tokens)
        lengths = torch.tensor([len(text) for text in texts])
        state, found = initial_state(self.cell, len(texts), max_open=8), []
        for step in range(len(tokens)):
            there = int((lengths > step).sum())
            if there < len(state.size):
                found.append(state.h[there:])
                state = state.select(torch.arange(there))
            state = advance(self.cell, x[step][:there], operations[step, :there], state)
        return torch.cat([state.h, *reversed(found)])

    def padded(self, texts: list[Tensor]) -> Tensor:
        """The same by the LSTM, which reads all to the length of the longest."""
        h, _ = self.lstm(self.embed(pad_sequence(texts, padding_value=len(CHARACTERS))))
        ends = torch.tensor([len(text) - 1 for text in texts])
        return h[ends, torch.arange(len(texts))]

    def packed(self, texts: list[Tensor]) -> Tensor:
        """The same, each to its end."""
        x = self.embed(pad_sequence(texts, padding_value=len(CHARACTERS)))
        lengths = torch.tensor([len(text) for text in texts])
        _, (h, _) = self.lstm(pack_padded_sequence(x, lengths, enforce_sorted=False))
        return h[0]


CONTENDERS: dict[str, Callable[[Model], Read]] = {
    "torch.nn.LSTM, padded": lambda model: model.padded,
    "torch.nn.LSTM, packed": lambda model: model.packed,
    "dgl": lambda model: lambda texts: model.graph(texts, backend="dgl"),
    "levels, compile=False": lambda model: lambda texts: model.graph(texts, compile=False),
    "levels": lambda model: model.graph,
    "on the fly": lambda model: model.on_the_fly,
}


def training(contender: str, texts: list[Tensor]) -> Callable[[], float]:
    """A step: the loss of the values, its gradients, the update."""
    model = Model()
    read, optimizer = CONTENDERS[contender](model), torch.optim.SGD(model.parameters(), lr=0.1)
    values = torch.arange(len(texts)) % VALUES

    def step() -> float:
        loss = F.cross_entropy(model.out(read(texts)), values)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


@pytest.fixture(scope="module")
def losses() -> list[float]:
    """Of the first two steps by backend dgl: the second is right only if gradients are too."""
    step = training("dgl", expressions())
    return [step() for _ in range(2)]


@pytest.mark.parametrize("contender", CONTENDERS)
def test_gold_operations(benchmark: BenchmarkFixture, losses: list[float], contender: str) -> None:
    texts = expressions()
    if contender.startswith("levels") or contender == "on the fly":
        step = training(contender, texts)
        assert [step() for _ in losses] == pytest.approx(losses, rel=1e-3)
    group = f"RRNet, {BATCH} expressions of 4 and 5 operators, hidden {SIZE}"
    steps = sum(len(text) for text in texts)
    measure(benchmark, group, contender, steps, training(contender, texts))

"""``dgltrees bench``."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jsonargparse import ArgumentParser

from dgltrees.bench import CASES, CONTENDERS, table
from dgltrees.bench.device import SIZES, device_rows, device_table, usable
from dgltrees.bench.timing import machine, time_steps
from dgltrees.commands.flags import parse_flags
from dgltrees.errors import ConfigError

__all__ = ["bench"]


def bench(argv: Sequence[str]) -> None:
    """``bench``: this machine's speed of levels against dgl, as a table of ratios.

    With a device, nodes a second there and on the CPU.
    """
    made = ArgumentParser(prog="dgltrees bench", exit_on_error=False)
    made.add_argument("--hidden", type=int, default=128, help="size of a state")
    made.add_argument("--rounds", type=int, default=7, help="timed steps of each contender")
    made.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of torch")
    made.add_argument("--device", type=str, help="compare it with the CPU: cuda, or cpu alone")
    values = parse_flags(made, argv)
    for name in ("hidden", "rounds", "threads"):
        if values[name] < 1:
            raise ConfigError(f"expected --{name} to be at least 1, got {values[name]}")
    torch.set_num_threads(values.threads)
    torch.set_flush_denormal(True)  # as training does
    if values.device is not None:
        _on(values.device, values.hidden, values.rounds)
        return
    print(f"A training step of a child-sum Tree-LSTM, hidden size {values.hidden}, milliseconds")
    print(f"(times faster than dgl); {machine()}\n")
    contenders = list(CONTENDERS.values())
    rows = [
        time_steps(case, contenders, hidden=values.hidden, rounds=values.rounds)
        for case in CASES.values()
    ]
    print(table(rows))


def _on(name: str, hidden: int, rounds: int) -> None:
    devices = dict.fromkeys([usable(name), torch.device("cpu")])
    print(f"Training steps, hidden size {hidden}: thousands of nodes a second; {machine()}")
    print("(torch.nn.LSTM over as many tokens; the dgl of PyPI runs on the CPU alone)\n")
    rows = [row for each in devices for row in device_rows(each, SIZES, hidden, rounds)]
    print(device_table(rows))

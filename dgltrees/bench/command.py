"""``dgltrees bench``."""

from __future__ import annotations

import torch

from dgltrees.bench import CASES, CONTENDERS, table
from dgltrees.bench.device import SIZES, device_rows, device_table, usable
from dgltrees.bench.timing import machine, time_steps
from dgltrees.settings import Count


def bench(
    *,
    hidden: Count = 128,
    rounds: Count = 7,
    threads: Count | None = None,
    device: str | None = None,
) -> None:
    """Time training steps: backend levels against dgl, or a device against the CPU.

    Prints a table of times and ratios, or with --device of nodes per second.

    Arguments:
        hidden: size of a state.
        rounds: timed steps of each contender.
        threads: CPU threads; default: torch's number.
        device: device to compare with the CPU, such as cuda; cpu times only the CPU.
    """
    torch.set_num_threads(threads or torch.get_num_threads())
    torch.set_flush_denormal(True)  # as training does
    if device is not None:
        devices = dict.fromkeys([usable(device), torch.device("cpu")])
        print(f"Training steps, hidden size {hidden}: thousands of nodes per second; {machine()}")
        print("(torch.nn.LSTM over as many tokens; the dgl of PyPI runs only on the CPU)\n")
        rates = [row for each in devices for row in device_rows(each, SIZES, hidden, rounds)]
        print(device_table(rates))
        return
    print(f"A training step of a child-sum Tree-LSTM, hidden size {hidden}, milliseconds")
    contenders = list(CONTENDERS.values())
    print(f"(times faster than {contenders[0].name}); {machine()}\n")
    rows = [time_steps(case, contenders, hidden=hidden, rounds=rounds) for case in CASES.values()]
    print(table(rows, base=contenders[0].name))

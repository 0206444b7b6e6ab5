"""``dgltrees bench``."""

from __future__ import annotations

from typing import Optional

import torch

from dgltrees.bench import CASES, CONTENDERS, table
from dgltrees.bench.timing import machine, time_steps
from dgltrees.options import Count

__all__ = ["bench"]


def bench(*, hidden: Count = 128, rounds: Count = 7, threads: Optional[Count] = None) -> None:
    """Time backend levels against dgl on this machine.

    Prints a table of ratios.

    Arguments:
        hidden: size of a state.
        rounds: timed steps of each contender.
        threads: CPU threads; by default torch's number.
    """
    torch.set_num_threads(threads or torch.get_num_threads())
    torch.set_flush_denormal(True)  # as training does
    print(f"A training step of a child-sum Tree-LSTM, hidden size {hidden}, milliseconds")
    print(f"(times faster than dgl); {machine()}\n")
    contenders = list(CONTENDERS.values())
    rows = [time_steps(case, contenders, hidden=hidden, rounds=rounds) for case in CASES.values()]
    print(table(rows))

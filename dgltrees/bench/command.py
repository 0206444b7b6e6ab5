"""``dgltrees bench``."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jsonargparse import ArgumentParser

from dgltrees.bench import CASES, CONTENDERS, table
from dgltrees.bench.timing import machine, time_steps
from dgltrees.commands.flags import parse_flags
from dgltrees.errors import ConfigError

__all__ = ["bench"]


def bench(argv: Sequence[str]) -> None:
    """``bench``: this machine's speed of levels against dgl, as a table of ratios."""
    made = ArgumentParser(prog="dgltrees bench", exit_on_error=False)
    made.add_argument("--hidden", type=int, default=128, help="size of a state")
    made.add_argument("--rounds", type=int, default=7, help="timed steps of each contender")
    made.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of torch")
    values = parse_flags(made, argv)
    for name in ("hidden", "rounds", "threads"):
        if values[name] < 1:
            raise ConfigError(f"expected --{name} to be at least 1, got {values[name]}")
    torch.set_num_threads(values.threads)
    torch.set_flush_denormal(True)  # as training does
    print(f"A training step of a child-sum Tree-LSTM, hidden size {values.hidden}, milliseconds")
    print(f"(times faster than dgl); {machine()}\n")
    contenders = list(CONTENDERS.values())
    rows = [
        time_steps(case, contenders, hidden=values.hidden, rounds=values.rounds)
        for case in CASES.values()
    ]
    print(table(rows))

"""Peak memory of a training step: the resident set's high-water mark, each step in a new process.

``python -m dgltrees.bench.memory CONTENDER CASE TREES HIDDEN`` prints the bytes of one step.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch

from dgltrees.bench.cases import CASES
from dgltrees.bench.contenders import CONTENDERS, VOCABULARY, Contender, Model, checkpoint_way

__all__ = ["MEASURED", "bytes_a_node", "high_water", "peak"]

MEASURED: Mapping[str, Contender] = {
    **{name: CONTENDERS[name] for name in ("dgl", "levels, fused=False", "levels")},
    "levels, checkpoint": Contender("levels, checkpoint", checkpoint_way),
}
"""Those whose memory is compared."""


def high_water() -> int:
    """The most bytes that this process has held, as Linux counts them (in KiB)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _step(contender: str, case: str, trees: int, hidden: int) -> int:
    """The bytes that one step holds at its peak on top of trees and model, in this process."""
    torch.set_num_threads(1)
    forest = replace(CASES[case], trees=trees).forest(VOCABULARY)
    model, small = Model(hidden), replace(CASES[case], trees=1).forest(VOCABULARY)
    MEASURED[contender].step(model, small)  # libraries are loaded, workspaces made
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the mark falls to what is held now
    before = high_water()
    MEASURED[contender].step(model, forest)
    return high_water() - before


def peak(contender: str, case: str, trees: int, *, hidden: int = 128) -> int:
    """The bytes that one training step holds at its peak, on top of trees and model.

    Arguments:
        contender: a name of :data:`MEASURED`.
        case: a name of :data:`dgltrees.bench.cases.CASES`.
        trees: how many trees of that case.
        hidden: c.
    """
    argv = [sys.executable, "-m", __name__, contender, case, str(trees), str(hidden)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return int(done.stdout)


def bytes_a_node(contender: str, case: str, trees: int, *, hidden: int = 128) -> float:
    """:func:`peak`, divided by the nodes."""
    nodes = replace(CASES[case], trees=trees).forest(VOCABULARY).num_nodes
    return peak(contender, case, trees, hidden=hidden) / nodes


if __name__ == "__main__":
    print(_step(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))

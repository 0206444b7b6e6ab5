"""Peak memory of a training step, each step in a new process.

The peak is the largest resident set reported by Linux. ``python -m tests.benchmarks.memory
CONTENDER CASE TREES HIDDEN`` prints the bytes of one step.
"""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from dgltrees.trees import TreeBatch
from tests.benchmarks.cases import CASES
from tests.benchmarks.contenders import CONTENDERS, VOCABULARY, Contender, Model, root_states


def checkpoint_way(model: Model, batch: TreeBatch) -> Tensor:
    """Backend levels, with the three functions and checkpoints."""
    x = model.embed(batch.ndata["token"])
    return root_states(model, batch, {"x": x}, activation_checkpointing=True)


MEASURED: Mapping[str, Contender] = {
    **{
        name: CONTENDERS[name]
        for name in ("dgl", "levels, compile=False", "levels")
        if name in CONTENDERS
    },
    "levels, checkpoint": Contender("levels, checkpoint", checkpoint_way),
}
"""The contenders whose memory is compared, by name."""


def peak_of_process() -> int:
    """The largest resident set of this process so far, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _step(contender: str, case: str, trees: int, hidden: int) -> int:
    """The measurement of :func:`peak`, made in this process."""
    torch.set_num_threads(1)
    forest = replace(CASES[case], trees=trees).forest(VOCABULARY)
    model, one_tree = Model(hidden), replace(CASES[case], trees=1).forest(VOCABULARY)
    MEASURED[contender].step(model, one_tree)  # loads libraries and allocates workspaces
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak becomes the present size
    before = peak_of_process()
    MEASURED[contender].step(model, forest)
    return peak_of_process() - before


def peak(contender: str, case: str, trees: int, *, hidden: int = 128) -> int:
    """The peak memory of one training step in bytes, without the trees and the model.

    Arguments:
        contender: a name of :data:`MEASURED`.
        case: a name of :data:`tests.benchmarks.cases.CASES`.
        trees: the number of trees of this case.
        hidden: the size of a state.
    """
    argv = [sys.executable, "-m", __name__, contender, case, str(trees), str(hidden)]
    process = subprocess.run(argv, check=True, capture_output=True, text=True)
    return int(process.stdout)


if __name__ == "__main__":
    print(_step(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))

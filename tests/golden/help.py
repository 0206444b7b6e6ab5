"""The help of every command, and of ``train`` with a preset of each task and family."""

from __future__ import annotations

from typing import Any

from dgltrees.cli import COMMANDS
from dgltrees.training.catalog import preset_names
from tests.golden.rows import run
from tests.golden.samples import task_of

FAMILIES = [
    *("listops-full-c3", "listops-hosvd-c10-r3", "listops-tensor-train-c50-r4", "logic-rrnet"),
    *("logic-transformer", "mee-dqn", "mee-ppo", "mee-reinforce", "ptb-lstm", "ptb-recur"),
    *("ptb-trees", "ptb-trees-reinforce", "sick-fullmatching-global", "sick-lstm", "sick-rrnet"),
    *("sick-slstm", "snli-slstm-lstm-node-tree", "sst-phrases-rrnet", "sst-phrases-lstm"),
    *("tree-lm-lstm", "tree-lm-ld", "tree-lm-msr-bilstm-d200"),
]
"""Presets whose settings are other ones than those of the first preset of their task."""


def record() -> dict[str, Any]:
    """A row for each command line."""
    top = {"": run([]), "--help": run(["--help"]), "--version": run(["--version"])}
    table = run(["make", "--help"])["out"].splitlines()
    makers = [line.split()[0] for line in table if line.startswith("  ")]
    lines = [[name] for name in COMMANDS] + [["make", name] for name in makers]
    presets = list({task_of(name): name for name in reversed(preset_names())}.values())
    lines += [["train", preset] for preset in sorted({*presets, *FAMILIES})]
    return top | {" ".join(words): run([*words, "--help"]) for words in lines}


fast = record

"""The help of every command, and of ``train`` with a preset of each task and family."""

from __future__ import annotations

import re
from typing import Any

from dgltrees.cli import COMMANDS
from dgltrees.settings.catalog import preset_names
from tests.golden.rows import run, sha
from tests.golden.samples import task_of

FAMILIES = [
    *("listops-full-c3", "listops-hosvd-c10-r3", "listops-tensor-train-c50-r4", "logic-rrnet"),
    *("logic-transformer", "mee-dqn", "mee-reinforce", "ptb-lstm", "ptb-recur"),
    *("ptb-trees", "ptb-trees-reinforce", "sick-fullmatching-global", "sick-lstm", "sick-rrnet"),
    *("sick-slstm", "snli-slstm-lstm-node-tree", "sst-phrases-rrnet", "sst-phrases-lstm"),
    *("tree-lm-lstm", "tree-lm-ld", "tree-lm-msr-bilstm-d200"),
]
"""Presets whose settings are other ones than those of the first preset of their task."""


def record() -> dict[str, Any]:
    """A row for each command line; settings of presets have hashes, and a row for each text."""
    rows = {" ".join(words): run(words) for words in ([], ["--help"], ["--version"])}
    table = run(["make", "--help"])["out"].splitlines()
    makers = [line.split()[0] for line in table if line.startswith("  ")]
    for words in [[name] for name in COMMANDS] + [["make", name] for name in makers]:
        rows[" ".join(words)] = run([*words, "--help"])
    presets = {task_of(name): name for name in reversed(preset_names())}.values()
    for preset in sorted({*presets, *FAMILIES}):
        row = rows[f"train {preset}"] = {}
        for text in re.split(r"(?m)^(?=  \S)", run(["train", preset, "--help"])["out"]):
            row[text.split("\n")[0]] = sha(text)
            rows[f"text {sha(text)}"] = text
    return rows


fast = record

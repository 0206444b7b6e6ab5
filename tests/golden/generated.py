"""The code that the compiler writes for every row of the table of cells, or why it writes none.

The code runs as Python, as in the tests of the compiler, so numba compiles nothing.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import torch

from dgltrees.cells.compiled import run
from dgltrees.cells.compiled.kernels import compiled
from dgltrees.cells.compiled.way import explain_compile
from dgltrees.traversal import traverse
from tests.cells.compiled.interpreter import compiling
from tests.cells.table import TABLE, Row
from tests.cells.test_laws import graph, sample, world
from tests.golden.rows import sha


def _code(row: Row) -> dict[str, Any]:
    """Digests of the code for the values and for all gradients, and their numbers of lines."""
    cell, forest = row.make(), sample(row.children)
    batch, ndata = graph(cell, forest, *world(forest))
    ndata = {n: t.requires_grad_() if t.is_floating_point() else t for n, t in ndata.items()}
    texts: dict[str, list[str]] = {}
    with compiling():
        write = run.machine_code

        def noted(body: str, name: str, arguments: str, threaded: bool) -> Any:
            text = f"def {name}({arguments})\n{body}"
            if text not in texts.setdefault(name, []):
                texts[name].append(text)
            return write(body, name, arguments, threaded)

        with patch.object(run, "machine_code", noted), compiled(True):
            states = traverse(cell, batch, ndata)
            torch.stack([state.sum() for state in states.values()]).sum().backward()
        reason = explain_compile(cell)
    found = {n: [f"{sha(t)} of {t.count(chr(10))} lines" for t in ts] for n, ts in texts.items()}
    return {"reason": reason, **found}


def record() -> dict[str, Any]:
    """A row for each of the table."""
    return {str(row): _code(row) for row in TABLE}

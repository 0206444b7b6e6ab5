"""Code that is compiled now and code from the cache compute the same bits.

A process with an empty cache, then one with what the first has left there.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from dgltrees import Forest, compile_report, run_cell
from dgltrees.cells.compiled.kernels import available
from tests.cells.compiled.user_cells import GRU

pytestmark = pytest.mark.skipif(not available(), reason="no numba")


def digest() -> str:
    """The SHA-256 of a compiled cell's states and gradients."""
    torch.manual_seed(0)
    cell, forest = GRU(5, 20), Forest.build([-1, *(i // 2 for i in range(63))])
    h = run_cell(cell, forest, {"x": torch.randn(64, 5)})["h"]  # type: ignore[arg-type]
    assert compile_report(cell) == "GRU is compiled"
    h.square().mean().backward()
    tensors = [h, *(p.grad for p in cell.parameters() if p.grad is not None)]
    texts = [t.detach().numpy().tobytes() for t in tensors]
    return hashlib.sha256(b"".join(texts)).hexdigest()


def test_an_empty_and_a_filled_cache_give_the_same_bits(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    digests = []
    for _ in range(2):
        command = [sys.executable, "-m", "tests.cells.compiled.test_same_bits"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        digests.append((done.stdout, "compiling" in done.stderr))
    (first, compiled), (second, compiled_again) = digests
    assert (compiled, compiled_again) == (True, False)
    assert first == second


if __name__ == "__main__":
    sys.stdout.write(digest())

"""The laws of cells on CUDA: the CPU's numbers, and no stream that waits."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from dgltrees import TreeBatch, run_cell
from tests.gpu.worlds import WAYS, WORLDS, World, on, step  # noqa: F401  (read by conftest)

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

CLOSE = {torch.float64: (1e-9, 1e-10), torch.float32: (1e-3, 1e-4)}
"""Relative and absolute tolerance."""


@needs_cuda
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", CLOSE, ids=str)
def test_the_numbers_of_the_cpu(world: World, way: str, dtype: torch.dtype) -> None:
    rtol, atol = CLOSE[dtype]
    h, exact = step(*on("cpu", dtype, *world.make()), **WAYS[way])
    there, gradients = step(*on("cuda", dtype, *world.make()), **WAYS[way])
    assert there.is_cuda
    assert_close(there.cpu(), h, rtol=rtol, atol=atol)
    assert gradients.keys() == exact.keys()
    for name, gradient in gradients.items():
        assert_close(gradient.cpu(), exact[name], rtol=rtol, atol=atol, msg=lambda m, n=name: n + m)


@contextmanager
def no_waiting() -> Iterator[None]:
    """An operation that waits for the device raises RuntimeError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that it cannot see every one yet
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@needs_cuda
@pytest.mark.parametrize("way", ["own way", "three functions"])
def test_no_stream_waits(world: World, way: str) -> None:
    cell, batch = on("cuda", torch.float32, *world.make())
    with no_waiting():
        step(cell, batch, **WAYS[way])


@needs_cuda
def test_waiting_is_seen() -> None:
    with no_waiting(), pytest.raises(RuntimeError):
        torch.ones(1, device="cuda").item()


@needs_cuda
def test_autocast(world: World) -> None:
    """States and gradients keep to those of float32 as far as bfloat16 can."""
    h, exact = step(*on("cuda", torch.float32, *world.make()))
    with torch.autocast("cuda", torch.bfloat16):
        low, gradients = step(*on("cuda", torch.float32, *world.make()))
    assert_close(low.float(), h, atol=0.1, rtol=0.1)
    assert gradients.keys() == exact.keys()
    for name, gradient in gradients.items():
        assert (gradient - exact[name]).norm() < 0.2 * exact[name].norm() + 0.02, name


@needs_cuda
def test_a_batch_travels(world: World) -> None:
    """From page-locked memory and back: data move, integers are still known on the host."""
    cell, batch = world.make()
    pinned = batch.pin_memory()
    assert all(tensor.is_pinned() for tensor in pinned.ndata.values())
    moved = pinned.to("cuda")
    assert moved.device.type == moved.roots.device.type == moved.tree_of_node.device.type == "cuda"
    for name, tensor in moved.ndata.items():
        assert_close(tensor.cpu(), batch.ndata[name], rtol=0, atol=0)
        if not tensor.is_floating_point():
            assert moved.on_host(tensor) is pinned.ndata[name]

    def states(batch: TreeBatch) -> Tensor:
        return run_cell(cell.to(batch.device), batch, batch.ndata)["h"].cpu()

    with torch.no_grad():
        assert_close(states(moved.to("cpu")), states(moved), rtol=1e-9, atol=1e-10)

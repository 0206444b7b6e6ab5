"""What can be said of a GPU without one: torch's meta device has shapes, and no values to read."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.gpu.worlds import WAYS, WORLDS, World, on, step  # noqa: F401  (read by conftest)


class NoWaiting(TorchDispatchMode):
    """Refuses what would make a stream wait, or fail: tensors of two devices in one operation.

    A copy from the CPU that nobody waits for is no such thing.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        tensors = [t for t in tree_leaves((args, kwargs, out)) if isinstance(t, Tensor) and t.dim()]
        is_copy = func is torch.ops.aten._to_copy.default and kwargs.get("non_blocking")
        assert is_copy or len({t.device for t in tensors}) < 2, f"{func} on two devices"
        return out


@pytest.mark.parametrize("way", ["own way", "three functions"])
def test_no_stream_waits(world: World, way: str) -> None:
    """Forwards and backwards nothing is read, and nothing is copied that a stream waits for."""
    cell, batch = on("meta", torch.float32, *world.make())
    with NoWaiting():
        h, gradients = step(cell, batch, **WAYS[way])
    assert h.device.type == "meta"
    assert {*gradients} >= {name for name, _ in cell.named_parameters()}
    assert all(gradient.device.type == "meta" for gradient in gradients.values())


@pytest.mark.parametrize("read", [Tensor.item, Tensor.tolist, Tensor.cpu, Tensor.nonzero, bool])
def test_a_read_is_seen(read: Any) -> None:
    with NoWaiting(), pytest.raises((NotImplementedError, RuntimeError)):
        read(torch.ones(1, device="meta"))


def test_a_copy_that_is_waited_for_is_seen() -> None:
    with NoWaiting():
        torch.ones(2).to("meta", non_blocking=True)
        with pytest.raises(AssertionError, match="on two devices"):
            torch.ones(2).to("meta")

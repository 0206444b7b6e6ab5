"""The device of a trained model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import nn

from dgltrees.errors import ConfigError

_TRUE = {"64-true": torch.float64, "bf16-true": torch.bfloat16}
_MIXED = {"16-mixed": torch.float16, "bf16-mixed": torch.bfloat16}


class OneDevice:
    """One device and a precision, with the part of Fabric's interface that predictions use.

    Importing lightning-fabric, with torch's compiler, takes longer than most predictions.

    Arguments:
        accelerator: the kind of device, a value of ``training.accelerator`` other than auto.
        precision: a value of ``training.precision``.

    Attributes:
        device: the device.

    Raises:
        ConfigError: the device is not available.
    """

    global_rank, world_size = 0, 1

    def __init__(self, accelerator: str, precision: str) -> None:
        has_mps = torch.backends.mps.is_available()
        kind = accelerator
        if accelerator == "gpu":
            kind = "mps" if has_mps else "cuda"
        if kind == "cpu":
            self.device = torch.device("cpu")
        elif torch.cuda.is_available() if kind == "cuda" else has_mps:
            self.device = torch.device(kind, 0)
        else:
            raise ConfigError(
                f"cannot use training.accelerator {accelerator}, training.precision {precision} "
                "on this machine: it has no such device, or this torch does not support it"
            )
        if kind == "cuda":
            torch.cuda.set_device(self.device)
        self._true, self._mixed = _TRUE.get(precision), _MIXED.get(precision)
        if kind == "cpu" and self._mixed is not None:  # as Fabric: processors have no float16
            self._mixed = torch.bfloat16

    def setup_module(self, model: nn.Module) -> None:
        """Move a model to the device, and convert it to the precision of its parameters."""
        model.to(device=self.device, dtype=self._true)

    def autocast(self) -> AbstractContextManager[None]:
        """Return a context in which torch computes in the precision."""
        if self._mixed is not None:
            return torch.autocast(self.device.type, dtype=self._mixed)
        return nullcontext() if self._true is None else _default_dtype(self._true)


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)

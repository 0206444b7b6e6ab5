"""The base of tasks whose models read sentences by one of several encoders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from dgltrees.settings import Options
from dgltrees.tasks.sequence_encoders import encoder_hook
from dgltrees.tasks.task import Task

__all__ = ["ReaderTask"]


@dataclass(frozen=True)
class ReaderTask(Task):
    """A task whose examples are sentences or pairs of sentences."""

    def display_name(self, model: Options) -> str:
        """The encoder's name."""
        name: str = encoder_hook(model, "display_name")
        return name

    def separate_losses(self, model: Options) -> bool:
        """Whether the encoder has a training loss of its own."""
        separate: bool = encoder_hook(model, "separate_losses")
        return separate

    def word_parameters(self, model: nn.Module) -> Iterable[Tensor]:
        """The vectors of tokens."""
        encoder: Any = model.encoder
        vectors: Iterable[Tensor] = encoder.input.parameters()
        return vectors

"""Common parts of tasks on sequences: encoders, the head of pairs, a base class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from dgltrees.errors import ConfigError
from dgltrees.models.classifier import Classifier
from dgltrees.models.encoder import Encoder
from dgltrees.models.heads import Head, PairHead
from dgltrees.models.inputs import Input
from dgltrees.models.readout import Root
from dgltrees.models.sequence_encoder import SequenceEncoder, TransformerEncoder
from dgltrees.registry import Registry, subclass_of
from dgltrees.settings import Count, Options, Part
from dgltrees.tasks.task import Task


class EncoderSettings(ABC):
    """Base class of the settings of an encoder with parts, a dataclass.

    Fields without a default are settings of the model, such as ``hidden_size``. An encoder without
    parts needs no such class: the arguments of its constructor are its settings, except ``inputs``.
    """

    @abstractmethod
    def __call__(self, inputs: Input) -> Encoder:
        """Build the encoder."""

    def classifier(self, encoder: Encoder, head: Head) -> Classifier:
        """Return a classifier of the encoder's vectors."""
        return Classifier(encoder, Root(), head)

    @staticmethod
    def display_name(model: Options) -> str:
        """Return the name of the encoder in tables and plots; default: the name in settings."""
        return str(model["encoder"])

    @staticmethod
    def separate_losses(model: Options) -> bool:
        """Return the value of :meth:`dgltrees.tasks.task.Task.separate_losses`; default: False."""
        return False


def classifier(
    settings: EncoderSettings | Part[Encoder], encoder: Encoder, head: Head
) -> Classifier:
    """Return a classifier of an encoder's vectors, built by the settings of the encoder."""
    if isinstance(settings, EncoderSettings):
        return settings.classifier(encoder, head)
    return Classifier(encoder, Root(), head)


def encoder_hook(model: Options, name: str) -> Any:
    """Return the result of a static method of the class that ``model.encoder`` selects."""
    source = model.source_of("encoder")
    return getattr(source, name, getattr(EncoderSettings, name))(model)


class BidirectionalLSTM(SequenceEncoder):
    """A bidirectional LSTM over sentences."""

    def __init__(self, inputs: Input, hidden_size: Count, **options: Any) -> None:
        super().__init__(inputs, hidden_size, bidirectional=True, **options)

    @staticmethod
    def display_name(model: Options) -> str:
        """Return "bidirectional LSTM"."""
        return "bidirectional LSTM"


Encoders = Mapping[str, type[Encoder] | type[EncoderSettings]]
SEQUENCES: Encoders = {
    "lstm": SequenceEncoder,
    "bilstm": BidirectionalLSTM,
    "transformer": TransformerEncoder,
}
"""The encoders of sequences in the core."""

SENTENCE_ENCODERS: Registry[type[Encoder] | type[EncoderSettings]] = Registry(
    "sentence_encoders", {}, subclass_of(Encoder, EncoderSettings)
)
"""More encoders of sentences by name, added by papers and other packages."""


def make_pair_head(size: int, classes: int, sizes: Sequence[int], **options: Any) -> PairHead:
    """Return a head that compares two vectors of ``size``."""
    if len(sizes) != 1:
        raise ConfigError(
            "expected model.head_hidden_sizes to be the size of one hidden layer for pairs, got "
            f"{sizes}; use [1024] as in Neural Tree Indexers"
        )
    return PairHead(size, classes, hidden=sizes[0], **options)


@dataclass(frozen=True)
class ReaderTask(Task):
    """A task whose examples are sentences or pairs of sentences."""

    def display_name(self, model: Options) -> str:
        """Return the encoder's name."""
        name: str = encoder_hook(model, "display_name")
        return name

    def separate_losses(self, model: Options) -> bool:
        """Return whether the encoder has its own training loss."""
        separate: bool = encoder_hook(model, "separate_losses")
        return separate

    def word_parameters(self, model: nn.Module) -> Iterable[Tensor]:
        """Return the vectors of tokens."""
        encoder: Any = model.encoder
        vectors: Iterable[Tensor] = encoder.input.parameters()
        return vectors

"""The settings of encoders, which make them; those of encoders that read sequences are here."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from dgltrees.models.classifier import Classifier
from dgltrees.models.encoding import Encoder
from dgltrees.models.heads import Head
from dgltrees.models.inputs import Input
from dgltrees.models.readout import Root
from dgltrees.models.sequence_encoder import SequenceEncoder
from dgltrees.models.transformer_encoder import TransformerEncoder
from dgltrees.options import Count, Fraction, Options
from dgltrees.registry import Registry, subclass_of

__all__ = [
    "SENTENCE_ENCODERS",
    "SEQUENTIAL",
    "BidirectionalLSTMSettings",
    "EncoderSettings",
    "LSTMSettings",
    "SequenceEncoderSettings",
    "TransformerSettings",
    "encoder_settings",
    "sentence_encoders",
]


class EncoderSettings:
    """The base class of the settings of an encoder, which is one of several in a model."""

    @staticmethod
    def make(model: Options, inputs: Input) -> Encoder:
        """Make the encoder.

        Arguments:
            model: the model's settings, these among them.
            inputs: maps every node or token to its vector.

        Raises:
            ConfigError: settings contradict each other.
        """
        raise NotImplementedError


class SequenceEncoderSettings(EncoderSettings):
    """The base class of the settings of an encoder that needs no trees."""

    @staticmethod
    def display_name(model: Options) -> str:
        """The name of the encoder in tables and plots; by default the one in settings."""
        return str(model["encoder"])

    @staticmethod
    def classifier(model: Options, encoder: Encoder, head: Head) -> Classifier:
        """A classifier of sentence vectors."""
        return Classifier(encoder, Root(), head)

    @staticmethod
    def separate_losses(model: Options) -> bool:
        """See :meth:`dgltrees.tasks.task.Task.separate_losses`."""
        return False


def encoder_settings(model: Options) -> type[SequenceEncoderSettings]:
    """The class of the settings of the encoder that ``model.encoder`` chooses."""
    choices = model.options["encoder"].choices
    assert choices is not None
    return cast(type[SequenceEncoderSettings], choices[model["encoder"]])


@dataclass(frozen=True)
class DropoutSettings(SequenceEncoderSettings):
    """Dropout of an encoder of sentences."""

    dropout: Fraction = 0.0
    """Probability of dropout on the inputs and between the layers."""


@dataclass(frozen=True)
class LSTMSettings(DropoutSettings):
    """An LSTM over sentences."""

    layers: Count = 1
    """Number of layers."""

    @staticmethod
    def make(model: Options, inputs: Input) -> Encoder:
        """Make the encoder."""
        return _lstm(model, inputs, model["dropout"])

    @staticmethod
    def display_name(model: Options) -> str:
        """LSTM."""
        return "LSTM"


@dataclass(frozen=True)
class BidirectionalLSTMSettings(LSTMSettings):
    """Two LSTMs over sentences, one in each direction."""

    @staticmethod
    def make(model: Options, inputs: Input) -> Encoder:
        """Make the encoder."""
        return _lstm(model, inputs, model["dropout"], bidirectional=True)

    @staticmethod
    def display_name(model: Options) -> str:
        """Bidirectional LSTM."""
        return "bidirectional LSTM"


@dataclass(frozen=True)
class TransformerSettings(DropoutSettings):
    """A transformer encoder over sentences."""

    layers: Count = 1
    """Number of layers."""
    heads: Count = 4
    """Number of attention heads, which must divide hidden_size."""

    @staticmethod
    def make(model: Options, inputs: Input) -> Encoder:
        """Make the encoder."""
        size, layers, heads = model["hidden_size"], model["layers"], model["heads"]
        return TransformerEncoder(
            inputs, size, layers=layers, heads=heads, dropout=model["dropout"]
        )


@dataclass(frozen=True)
class WordLSTMSettings(SequenceEncoderSettings):
    """An LSTM over sentences."""

    layers: Count = 1
    """Number of layers."""
    input_dropout: Fraction = 0.0
    """Probability of dropout on the word vectors and between the layers."""

    @staticmethod
    def make(model: Options, inputs: Input) -> Encoder:
        """Make the encoder."""
        return _lstm(model, inputs, model["input_dropout"])

    @staticmethod
    def display_name(model: Options) -> str:
        """LSTM."""
        return LSTMSettings.display_name(model)


@dataclass(frozen=True)
class BidirectionalWordLSTMSettings(WordLSTMSettings):
    """Two LSTMs over sentences, one in each direction."""

    @staticmethod
    def make(model: Options, inputs: Input) -> Encoder:
        """Make the encoder."""
        return _lstm(model, inputs, model["input_dropout"], bidirectional=True)

    @staticmethod
    def display_name(model: Options) -> str:
        """Bidirectional LSTM."""
        return BidirectionalLSTMSettings.display_name(model)


def _lstm(
    model: Options, inputs: Input, dropout: float, *, bidirectional: bool = False
) -> SequenceEncoder:
    size, layers = model["hidden_size"], model["layers"]
    return SequenceEncoder(
        inputs, size, layers=layers, bidirectional=bidirectional, dropout=dropout
    )


SEQUENTIAL: dict[str, type[SequenceEncoderSettings]] = {
    "lstm": WordLSTMSettings,
    "bilstm": BidirectionalWordLSTMSettings,
    "transformer": TransformerSettings,
}
"""The encoders of the words of a sentence that the core has."""

SENTENCE_ENCODERS: Registry[type[SequenceEncoderSettings]] = Registry(
    "sentence_encoders",
    {},
    subclass_of(SequenceEncoderSettings),
)
"""More encoders of sentences, by their names: those that papers and other packages add."""


def sentence_encoders(**own: type[SequenceEncoderSettings]) -> Mapping[str, Any]:
    """The encoders of a task on sentences: its own, those that are added, and the core's.

    What is added later is among them too.
    """
    return ChainMap(SEQUENTIAL, SENTENCE_ENCODERS, own)  # in the order of names the last is first

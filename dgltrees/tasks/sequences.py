"""What tasks on sequences share: encoders as parts of models, the head of pairs, a base class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import ChainMap
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
from dgltrees.settings import Count, Fraction, Options, Part
from dgltrees.tasks.task import Task


class EncoderSettings(ABC):
    """The base class of the settings of an encoder that is made of parts, a dataclass.

    Fields without a default are settings of the model, such as ``hidden_size``. The class of an
    encoder without parts is its own settings: its constructor takes ``inputs`` and these.
    """

    @abstractmethod
    def __call__(self, inputs: Input) -> Encoder:
        """Make the encoder.

        Arguments:
            inputs: maps every node or token to its vector.

        Raises:
            ConfigError: settings contradict each other.
        """

    def classifier(self, encoder: Encoder, head: Head) -> Classifier:
        """A classifier of the vectors that the encoder makes."""
        return Classifier(encoder, Root(), head)

    @staticmethod
    def display_name(model: Options) -> str:
        """The name of the encoder in tables and plots; by default the one in settings."""
        return str(model["encoder"])

    @staticmethod
    def separate_losses(model: Options) -> bool:
        """See :meth:`dgltrees.tasks.task.Task.separate_losses`."""
        return False


def classifier(
    settings: EncoderSettings | Part[Encoder], encoder: Encoder, head: Head
) -> Classifier:
    """A classifier of the vectors that an encoder makes, as its settings want it."""
    if isinstance(settings, EncoderSettings):
        return settings.classifier(encoder, head)
    return Classifier(encoder, Root(), head)


def encoder_hook(model: Options, name: str) -> Any:
    """A static method of the class that ``model.encoder`` chooses, called with the settings."""
    source = model.source_of("encoder")
    return getattr(source, name, getattr(EncoderSettings, name))(model)


class BidirectionalLSTM(SequenceEncoder):
    """Two LSTMs over sentences, one in each direction."""

    def __init__(self, inputs: Input, hidden_size: Count, **options: Any) -> None:
        super().__init__(inputs, hidden_size, bidirectional=True, **options)

    @staticmethod
    def display_name(model: Options) -> str:
        """Bidirectional LSTM."""
        return "bidirectional LSTM"


class WordLSTM(SequenceEncoder):
    """An LSTM over sentences.

    Arguments:
        input_dropout: probability of dropout on the word vectors and between the layers.
    """

    def __init__(
        self,
        inputs: Input,
        hidden_size: Count,
        *,
        layers: Count = 1,
        input_dropout: Fraction = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(
            inputs, hidden_size, dropout=input_dropout, layers=layers, bidirectional=bidirectional
        )


class BidirectionalWordLSTM(WordLSTM):
    """Two LSTMs over sentences, one in each direction."""

    def __init__(self, inputs: Input, hidden_size: Count, **options: Any) -> None:
        super().__init__(inputs, hidden_size, bidirectional=True, **options)

    display_name = BidirectionalLSTM.display_name


Encoders = Mapping[str, type[Encoder] | type[EncoderSettings]]
SEQUENCES: Encoders = {
    "lstm": SequenceEncoder,
    "bilstm": BidirectionalLSTM,
    "transformer": TransformerEncoder,
}
"""The encoders of sequences that the core has."""
SEQUENTIAL: Encoders = {**SEQUENCES, "lstm": WordLSTM, "bilstm": BidirectionalWordLSTM}
"""The encoders of the words of a sentence that the core has."""

SENTENCE_ENCODERS: Registry[type[Encoder] | type[EncoderSettings]] = Registry(
    "sentence_encoders", {}, subclass_of(Encoder, EncoderSettings)
)
"""More encoders of sentences, by their names: those that papers and other packages add."""


def sentence_encoders(**own: type[Encoder] | type[EncoderSettings]) -> Encoders:
    """The encoders of a task on sentences: its own, those that are added, and the core's.

    What is added later is among them too.
    """
    # in the order of names the last is first
    return ChainMap(SEQUENTIAL, SENTENCE_ENCODERS, own)  # type: ignore[arg-type]


def make_pair_head(size: int, classes: int, sizes: Sequence[int], **options: Any) -> PairHead:
    """Make a head that compares two vectors of ``size``.

    Arguments:
        size: c, of a vector.
        classes: the number of logits.
        sizes: the sizes of its hidden layers, the setting ``model.head_hidden_sizes``.
        options: more arguments of ``PairHead``.

    Raises:
        ConfigError: ``model.head_hidden_sizes`` is not one hidden layer.
    """
    if len(sizes) != 1:
        raise ConfigError(
            "expected model.head_hidden_sizes to be the size of one hidden layer for pairs, got "
            f"{sizes}; the paper on Neural Tree Indexers has [1024]"
        )
    return PairHead(size, classes, hidden=sizes[0], **options)


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

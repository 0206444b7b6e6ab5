"""The settings of tasks on custom trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dgltrees.cells import BaseCell
from dgltrees.errors import called
from dgltrees.formats.format import RecordLayout
from dgltrees.models.encoder import Encoder
from dgltrees.models.inputs import Input
from dgltrees.registry import Registry, subclass_of
from dgltrees.settings import Count, Fraction, NonNegative, Part, Positive, chosen
from dgltrees.settings.values import PositiveShare
from dgltrees.tasks.sequences import EncoderSettings
from dgltrees.tasks.settings import PretrainedSettings
from dgltrees.tasks.trees import HeadSettings, TreeModel


@dataclass(frozen=True)
class CustomTreesData(RecordLayout, PretrainedSettings):
    """Custom trees with a target."""

    target: str | list[str] = "target"
    """Column to predict, or several: beside the tree in its record, or of its root; of a pair, of
    the root of its first tree."""
    features: list[str] | dict[str, str] | None = None
    """Columns that are inputs, or their kinds by name (category, number, log, vector, text or
    none); default: all except the target, with the kinds that ``dgltrees inspect`` shows."""
    min_freq: Count = 2
    """Lowest frequency of a category; rarer ones in the training trees become ``<unk>``."""
    handle_unknown: Literal["use_encoded_value", "error"] = "use_encoded_value"
    """Category that is not in the training trees: use the code of ``<unk>`` (use_encoded_value), or
    raise an error."""
    pretrained: str | None = None
    """Folder of a Hugging Face encoder that gives texts (columns of kind text) their vectors; by
    default vectors of their words are learned."""
    format: str | None = None
    """Format of the files; by default told by the ending of their names or their first line."""
    cache_dir: str | None = None
    """Folder for temporary files with the trees during training, for data sets larger than memory;
    default: the trees are in memory. With a folder, the kinds of columns are inferred from the
    first 10,000 trees."""
    baselines: bool = True
    """Report beside the result what linear and boosted models over bags of nodes reach."""

    @property
    def trees_folder(self) -> str | None:
        """The setting ``cache_dir``."""
        return self.cache_dir

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """An encoder that is trained reads texts of other lengths in each part of the trees."""
        reasons = PretrainedSettings.unread(values)
        return {**reasons, "cache_dir": "with data.fine_tune"} if values["fine_tune"] else reasons


@dataclass(frozen=True)
class ClassesData(CustomTreesData):
    """Custom trees with classes."""

    classes: list[str] | None = None
    """Names of the classes in their order; by default those of training, sorted."""


@dataclass(frozen=True)
class RankData(CustomTreesData):
    """Custom trees in groups, with an order within each."""

    target: str = "target"
    """Column of numbers that order the trees of a group: beside the tree in its record, or of its
    root."""
    best: Literal["highest", "lowest"] = "highest"
    """Which target is the best: the highest, as of relevance, or the lowest, as of times."""
    group: str = "group"
    """Column that says to which group a tree belongs, beside the target; names or numbers."""


@dataclass(frozen=True)
class TreeEncoderSettings(TreeModel, EncoderSettings):
    """A cell that runs over the tree, from the leaves to the root."""

    hidden: ClassVar[tuple[str, ...]] = ("input_size", "operators", "label")

    cell: Part[BaseCell] = chosen("child_sum")
    """Cell that makes a node's state from those of its children."""

    def __call__(self, inputs: Input) -> Encoder:
        """Make the encoder."""
        return self.encoder(inputs)


ENCODERS: Registry[type[Encoder] | type[EncoderSettings]] = Registry(
    "encoders",
    {
        "tree": "dgltrees.tasks.custom_trees.settings:TreeEncoderSettings",
        "convolution": "dgltrees.models.tree_convolution:ConvolutionEncoder",
        "lstm": "dgltrees.models.sequence_encoder:SequenceEncoder",
        "bilstm": "dgltrees.tasks.sequences:BidirectionalLSTM",
        "transformer": "dgltrees.models.sequence_encoder:TransformerEncoder",
        "bag": "dgltrees.models.sequence_encoder:BagEncoder",
    },
    subclass_of(Encoder, EncoderSettings),
)
"""The encoders of trees with columns, by the names that settings use."""


@dataclass(frozen=True)
class CustomTreesModel(HeadSettings):
    """A model of trees whose nodes have columns."""

    parts: ClassVar[Mapping[str, Any]] = {"encoder": ENCODERS}

    encoder: str = "tree"
    """Encoder: a cell over the tree, tree convolution, one of three over the nodes in their order
    (lstm, bilstm, transformer), or a bag of nodes."""
    hidden_size: Count = 128
    """Size of a node's state."""
    embedding: Count = 128
    """Size of a node's input vector, which is a sum over its columns."""
    sibling_positions: bool = True
    """Add the position of a node among its siblings, and its number of children, to its input."""
    input_dropout: Fraction = 0.0
    """Probability of dropout on the input vectors."""
    init: Literal["kaiming", "xavier", "uniform"] = "xavier"
    """Initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1)."""


@dataclass(frozen=True)
class TreeReadout:
    """From the states of a tree's nodes to its vector."""

    readout: Literal["root", "mean", "max", "root_max", "attention"] = "max"
    """Vector of a tree: the root's state; the mean, the largest values or a learned weighted mean
    over its nodes; or root and largest values side by side."""


@dataclass(frozen=True)
class FocalSettings:
    """The focal loss."""

    gamma: NonNegative = 2.0
    """Exponent of the focal loss: the larger, the less do well predicted rows count."""


@dataclass(frozen=True)
class ClassesObjective:
    """Classes."""

    parts: ClassVar[Mapping[str, Any]] = {
        "objective": {"cross_entropy": None, "focal": FocalSettings, "ordinal": None}
    }

    objective: str = "cross_entropy"
    """Loss: cross entropy; focal, for rare classes; or ordinal, for classes that have an order."""
    balanced: bool = False
    """Weigh every example by the inverse frequency of its class in training."""


@dataclass(frozen=True)
class HuberSettings:
    """The Huber loss."""

    huber_delta: Positive = 1.0
    """Error, in standard deviations of the training targets, beyond which the loss is linear."""


@dataclass(frozen=True)
class QuantileSettings:
    """The quantile loss."""

    quantile: PositiveShare = 0.5
    """Quantile to predict: 0.5 is the median, 0.9 is exceeded by one target in ten."""


@dataclass(frozen=True)
class OrdinalSettings:
    """A scale of integers."""

    levels: Count = 5
    """Number of integers on the scale, which begins at the smallest training target."""


@dataclass(frozen=True)
class NumbersObjective:
    """Numbers."""

    parts: ClassVar[Mapping[str, Any]] = {
        "objective": {
            "squared": None,
            "huber": HuberSettings,
            "quantile": QuantileSettings,
            "ordinal": OrdinalSettings,
        }
    }

    objective: str = "huber"
    """Loss of the standardised error: squared, huber or quantile; or ordinal, for targets on a
    scale of integers such as 1 to 5 (Tai et al., 2015)."""
    log_target: bool = False
    """Predict the logarithm of the target, for targets over several orders of magnitude."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """An ordinal scale has no logarithms."""
        return (
            {"log_target": f"with {called('model.objective')} ordinal"}
            if (values["objective"] == "ordinal")
            else {}
        )


@dataclass(frozen=True)
class NodeClassesModel(ClassesObjective, CustomTreesModel):
    """A classifier of nodes."""

    parts: ClassVar[Mapping[str, Any]] = {**CustomTreesModel.parts, **ClassesObjective.parts}


@dataclass(frozen=True)
class ClassesModel(TreeReadout, NodeClassesModel):
    """A classifier of trees."""


@dataclass(frozen=True)
class PairComparison:
    """From the vectors of two trees to what the head reads."""

    pairs: Literal["ordered", "symmetric"] = "ordered"
    """What the head reads of the vectors p and h of a pair: p, h, |p - h| and p * h (ordered), or
    the last two alone (symmetric), so that the order of the trees makes no difference."""


@dataclass(frozen=True)
class PairClassesModel(PairComparison, ClassesModel):
    """A classifier of pairs of trees."""


@dataclass(frozen=True)
class NodeNumbersModel(NumbersObjective, CustomTreesModel):
    """A regression of nodes."""

    parts: ClassVar[Mapping[str, Any]] = {**CustomTreesModel.parts, **NumbersObjective.parts}


@dataclass(frozen=True)
class NumbersModel(TreeReadout, NodeNumbersModel):
    """A regression of trees."""


@dataclass(frozen=True)
class PairNumbersModel(PairComparison, NumbersModel):
    """A regression of pairs of trees."""


@dataclass(frozen=True)
class ListwiseSettings:
    """The loss of a whole group."""

    temperature: Positive = 1.0
    """How far apart targets are: in deviations of the training targets, the difference at which one
    tree is e times as likely to be the first as another."""


@dataclass(frozen=True)
class RankModel(TreeReadout, CustomTreesModel):
    """A model that orders the trees of a group."""

    parts: ClassVar[Mapping[str, Any]] = {
        **CustomTreesModel.parts,
        "objective": {"pairwise": None, "listwise": ListwiseSettings},
    }

    objective: str = "pairwise"
    """Loss: of every two trees of a group (pairwise; RankNet), or of all of them at once (listwise;
    ListNet)."""

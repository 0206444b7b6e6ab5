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
    """Settings of the data of custom trees with a target."""

    target: str | list[str] = "target"
    """Column to predict, or several: a key of the record with the tree, or a column of its root (of
    a pair, of its first root); for targets of nodes, a node column."""
    features: list[str] | dict[str, str] | None = None
    """Input columns, or their kinds by name (category, number, log, vector, text or none); default:
    all except the target, with the kinds that ``dgltrees inspect`` shows."""
    min_freq: Count = 2
    """Lowest frequency of a category; rarer ones in the training trees become ``<unk>``."""
    handle_unknown: Literal["use_encoded_value", "error"] = "use_encoded_value"
    """Handling of categories that are not in the training trees: replace them by ``<unk>``
    (use_encoded_value), or raise an error."""
    pretrained: str | None = None
    """Folder of a Hugging Face encoder for columns of kind text; default: vectors of words are
    learned."""
    format: str | None = None
    """Format of the files; default: inferred from the suffix or the first line."""
    baselines: bool = True
    """Add the metrics of linear and boosted models on flat features to the result."""

    @property
    def as_names(self) -> tuple[str, ...]:
        """The columns that are read as strings, as settings or kinds say."""
        kinds = self.features if isinstance(self.features, Mapping) else {}
        return (
            *self.categorical_columns,
            *(name for name, kind in kinds.items() if kind in ("category", "text")),
        )


@dataclass(frozen=True)
class NumbersData(CustomTreesData):
    """Settings of the data of custom trees with numbers."""

    node_target: str | None = None
    """Node column of numbers to predict in addition to the target of the tree, from the state of
    each node; missing values are allowed. It is never an input."""


@dataclass(frozen=True)
class ClassesData(CustomTreesData):
    """Settings of the data of custom trees with classes."""

    classes: list[str] | None = None
    """Names of the classes in their order; default: those of the training trees, sorted."""


@dataclass(frozen=True)
class RankData(CustomTreesData):
    """Settings of the data of custom trees in groups, which are ordered within their group."""

    target: str = "target"
    """Column of numbers that order the trees of a group: a key of the record with the tree, or a
    column of its root."""
    best: Literal["highest", "lowest"] = "highest"
    """Target that ranks first: the highest, for relevance, or the lowest, for times."""
    group: str = "group"
    """Column of the group of each tree, a name or a number; as ``target``, a key of the record or a
    column of the root."""


@dataclass(frozen=True)
class TreeEncoderSettings(TreeModel, EncoderSettings):
    """Settings of an encoder that runs a cell over the tree, from the leaves to the root."""

    hidden: ClassVar[tuple[str, ...]] = ("input_size", "operators", "label")

    cell: Part[BaseCell] = chosen("child_sum")
    """Cell, which computes the state of a node from those of its children."""

    def __call__(self, inputs: Input) -> Encoder:
        """Build the encoder."""
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
"""The encoders of trees with columns, by their names in settings."""


@dataclass(frozen=True)
class CustomTreesModel(HeadSettings):
    """Settings of a model of trees whose nodes have columns."""

    parts: ClassVar[Mapping[str, Any]] = {"encoder": ENCODERS}

    encoder: str = "tree"
    """Encoder: a cell over the tree (tree), tree convolution, a sequence model over the nodes in
    their order (lstm, bilstm or transformer), or a bag of nodes (bag)."""
    hidden_size: Count = 128
    """Size of the state of a node."""
    embedding: Count = 128
    """Size of the input vector of a node, the sum of the vectors of its columns."""
    sibling_positions: bool = True
    """Add the position of a node among its siblings, and its number of children, to its input."""
    input_dropout: Fraction = 0.0
    """Probability of dropout on the input vectors."""
    init: Literal["kaiming", "xavier", "uniform"] = "xavier"
    """Initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1)."""


@dataclass(frozen=True)
class TreeReadout:
    """Settings of the readout, which computes the vector of a tree from the states of its nodes."""

    readout: Literal["root", "mean", "max", "root_max", "attention"] = "max"
    """Vector of a tree: the state of its root; the mean, the maximum or a learned weighted mean
    (attention) over its nodes; or the concatenation of root and maximum."""


@dataclass(frozen=True)
class FocalSettings:
    """Settings of the focal loss."""

    gamma: NonNegative = 2.0
    """Exponent of the focal loss; a larger one reduces the weight of well predicted examples."""


@dataclass(frozen=True)
class ClassesObjective:
    """Settings of the loss for classes."""

    parts: ClassVar[Mapping[str, Any]] = {
        "objective": {"cross_entropy": None, "focal": FocalSettings, "ordinal": None}
    }

    objective: str = "cross_entropy"
    """Loss: cross_entropy; focal, for rare classes; or ordinal, for ordered classes."""
    balanced: bool = False
    """Weight every example by the inverse frequency of its class in training."""
    temperature_scaling: bool = True
    """Divide the logits of a trained model by a number of at least 1 that fits the validation
    examples, so that probabilities are not too close to 0 and 1 (Guo et al. 2017)."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings without effect: ordered classes have no logits."""
        reason = f"with {called('model.objective')} ordinal"
        return {"temperature_scaling": reason} if values["objective"] == "ordinal" else {}


@dataclass(frozen=True)
class HuberSettings:
    """Settings of the Huber loss."""

    huber_delta: Positive = 1.0
    """Error, in standard deviations of the training targets, beyond which the loss is linear."""


@dataclass(frozen=True)
class QuantileSettings:
    """Settings of the quantile loss."""

    quantile: PositiveShare = 0.5
    """Quantile to predict: 0.5 for the median; 0.9 is exceeded by one target in ten."""


@dataclass(frozen=True)
class OrdinalSettings:
    """Settings of the loss for targets on a scale of integers."""

    levels: Count = 5
    """Number of integers on the scale, which begins at the smallest training target."""


@dataclass(frozen=True)
class NumbersObjective:
    """Settings of the loss for numbers."""

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
    """Learn the logarithm of the target, for targets over several orders of magnitude; 0 counts as
    half the smallest positive target."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings without effect: the ordinal loss uses no logarithms."""
        reason = f"with {called('model.objective')} ordinal"
        return {"log_target": reason} if values["objective"] == "ordinal" else {}


@dataclass(frozen=True)
class NodeClassesModel(ClassesObjective, CustomTreesModel):
    """Settings of a classifier of nodes."""

    parts: ClassVar[Mapping[str, Any]] = {**CustomTreesModel.parts, **ClassesObjective.parts}


@dataclass(frozen=True)
class ClassesModel(TreeReadout, NodeClassesModel):
    """Settings of a classifier of trees."""


@dataclass(frozen=True)
class PairComparison:
    """Settings of the comparison of the vectors of two trees."""

    pairs: Literal["ordered", "symmetric"] = "ordered"
    """Input of the head from the vectors p and h of a pair: p, h, |p - h| and p * h (ordered), or
    only the last two (symmetric), so that the order of the trees has no effect."""


@dataclass(frozen=True)
class PairClassesModel(PairComparison, ClassesModel):
    """Settings of a classifier of pairs of trees."""


@dataclass(frozen=True)
class NodeNumbersModel(NumbersObjective, CustomTreesModel):
    """Settings of a regression of nodes."""

    parts: ClassVar[Mapping[str, Any]] = {**CustomTreesModel.parts, **NumbersObjective.parts}


@dataclass(frozen=True)
class NumbersModel(TreeReadout, NodeNumbersModel):
    """Settings of a regression of trees."""

    node_target_weight: Positive | None = None
    """Weight of the mean loss of a tree's node targets (data.node_target) in the loss of the tree;
    default: 1."""
    additive: bool = False
    """Predict the sum of what the nodes of a tree contribute, which an explanation shows; with
    data.node_target, a node's prediction is the sum over the node and its descendants."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings without effect: a sum has no readout, and no distribution."""
        reasons = NumbersObjective.unread(values)
        if values["objective"] == "ordinal":
            return {**reasons, "additive": f"with {called('model.objective')} ordinal"}
        return {"readout": f"with {called('model.additive')}"} if values["additive"] else reasons


@dataclass(frozen=True)
class PairNumbersModel(PairComparison, NumbersModel):
    """Settings of a regression of pairs of trees."""

    hidden: ClassVar[tuple[str, ...]] = ("node_target_weight", "additive")


@dataclass(frozen=True)
class ListwiseSettings:
    """Settings of the listwise loss."""

    temperature: Positive = 1.0
    """Difference of targets, in standard deviations of the training targets, at which one tree is e
    times as likely to rank first as another."""


@dataclass(frozen=True)
class RankModel(TreeReadout, CustomTreesModel):
    """Settings of a model that orders the trees of a group."""

    parts: ClassVar[Mapping[str, Any]] = {
        **CustomTreesModel.parts,
        "objective": {"pairwise": None, "listwise": ListwiseSettings},
    }

    objective: str = "pairwise"
    """Loss: over all pairs of trees of a group (pairwise; RankNet), or over whole groups (listwise;
    ListNet)."""

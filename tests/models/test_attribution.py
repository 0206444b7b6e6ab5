"""Occlusion and integrated gradients, against their definitions."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dgltrees.cells import ChildSumTreeLSTM, TreeLSTM
from dgltrees.errors import ConfigError
from dgltrees.models import (
    MLP,
    Attention,
    BagEncoder,
    BidirectionalEncoder,
    Classifier,
    ClassTarget,
    ColumnsInput,
    ConvolutionEncoder,
    EveryNode,
    FlagTargets,
    Mean,
    NumberTargets,
    Root,
    RootAndMax,
    SequenceEncoder,
    TransformerEncoder,
    TreeEncoder,
    WordEmbedding,
)
from dgltrees.models.attribution import answers, integrated_gradients, occlude, occlusion
from dgltrees.models.heads import Head
from dgltrees.trees import TreeBatch
from tests.models.test_columns import SCHEMA, VALUES, trees

C, M, N = 6, 4, 3

ENCODERS: dict[str, Any] = {
    "child_sum": lambda x: TreeEncoder(x, ChildSumTreeLSTM(M, C)),
    "nary": lambda x: TreeEncoder(x, TreeLSTM(M, C, max_children=2, aggregator="full")),
    "both ways": lambda x: BidirectionalEncoder(
        TreeEncoder(x, ChildSumTreeLSTM(M, C // 2)), ChildSumTreeLSTM(C // 2, C // 2)
    ),
    "convolution": lambda x: ConvolutionEncoder(x, C),
    "lstm": lambda x: SequenceEncoder(x, C),
    "bilstm": lambda x: SequenceEncoder(x, C // 2, bidirectional=True),
    "transformer": lambda x: TransformerEncoder(x, C, heads=2),
    "bag": lambda x: BagEncoder(x, C),
}
HEADS: dict[str, Head] = {
    "classes": ClassTarget(C, 3),
    "ordered": ClassTarget(C, 3, objective="ordinal"),
    "flags": FlagTargets(C, 2),
    "numbers": NumberTargets(C, 2, log_target=True),
    "logits": MLP(C, 4),
    "one logit": MLP(C, 1),
}


def model(encoder: str = "child_sum", head: str = "classes", readout: Any = Mean) -> Classifier:
    torch.manual_seed(0)
    inputs = ColumnsInput(SCHEMA, M).double()
    inputs.standardise(VALUES)
    made = Classifier(ENCODERS[encoder](inputs), readout(), HEADS[head]).double().eval()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.5)
    return made


def copies(number: int) -> TreeBatch:
    return trees().batch([0] * number)


def second(classifier: Classifier, batch: TreeBatch) -> Tensor:
    """The second answer for each tree."""
    return answers(classifier, batch)[:, 1]


@pytest.mark.parametrize("head", HEADS)
def test_answers_are_what_the_head_predicts(head: str) -> None:
    classifier, batch = model(head=head), trees().batch()
    says = answers(classifier, batch)
    if head == "numbers":
        outputs = classifier.head.columns(classifier.vectors(batch), torch.zeros(2, 2))
        torch.testing.assert_close(says[:, 1], outputs["prediction_1"])
        return
    assert ((says >= 0) & (says <= 1)).all()
    if head != "flags":
        torch.testing.assert_close(says.sum(1), torch.ones(2).to(says))
        prediction, probability = classifier.head.predict(classifier.vectors(batch))
        of = torch.ones_like(prediction) if head == "one logit" else prediction
        torch.testing.assert_close(says.gather(1, of[:, None])[:, 0], probability.to(says))
        torch.testing.assert_close(says.argmax(1), prediction)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_integrated_gradients_sum_to_what_the_inputs_change(encoder: str) -> None:
    classifier = model(encoder)
    names, values = integrated_gradients(classifier, copies, second, steps=64)
    assert names == ["kind", "note", "n", "m"]
    assert values.shape == (N, 4)
    one = copies(1)
    nothing = occlude(classifier.encoder.input, one)
    change = second(classifier, one) - second(classifier, nothing)
    kinks = encoder in ("bag", "transformer")  # rectifiers
    tolerance = {"rtol": 0.0, "atol": 5e-3} if kinks else {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(values.sum(), change[0], **tolerance)
    assert values.abs().sum() > 1e-3
    assert values[1, 2] == 0  # a number that is missing is the baseline already


@pytest.mark.parametrize("readout", [Root, RootAndMax, lambda: Attention(C)])
def test_every_readout_is_explained_in_small_batches_alike(readout: Any) -> None:
    torch.manual_seed(0)
    inputs = ColumnsInput(SCHEMA, M).double()
    head = NumberTargets(2 * C if readout is RootAndMax else C, 2).double()
    encoder = ENCODERS["child_sum"](inputs).double()
    classifier = Classifier(encoder, readout().double(), head).eval()
    whole = integrated_gradients(classifier, copies, second)[1]
    parts = integrated_gradients(classifier, copies, second, max_nodes=10)[1]
    torch.testing.assert_close(whole, parts)
    assert classifier.encoder.input is inputs  # the model itself is left as it was


@pytest.mark.parametrize("max_nodes", [1, 20_000])
def test_an_occlusion_is_a_prediction_without_the_nodes(max_nodes: int) -> None:
    classifier = model()
    masks = torch.tensor([[1, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]]).bool()
    drops = occlusion(classifier, copies, second, masks, max_nodes=max_nodes)
    one = copies(1)
    whole = second(classifier, one)
    for mask, drop in zip(masks, drops):
        ndata = {name: values.clone() for name, values in one.ndata.items()}
        for values in ndata.values():
            values[mask] = float("nan") if values.is_floating_point() else -1
        expected = whole - second(classifier, one.with_data(ndata))
        torch.testing.assert_close(drop, expected[0])
    assert drops[3] == 0
    assert drops[:3].abs().min() > 0


def test_a_table_of_labels_is_explained_too() -> None:
    torch.manual_seed(0)
    words = WordEmbedding("kind", 3, M).double()
    classifier = Classifier(ENCODERS["child_sum"](words), Root(), MLP(C, 4)).double().eval()
    names, values = integrated_gradients(classifier, copies, second)
    nothing = occlude(words, copies(1))
    change = second(classifier, copies(1)) - second(classifier, nothing)
    assert names == ["kind"]
    torch.testing.assert_close(values.sum(), change[0])


def test_a_node_of_many_is_explained() -> None:
    classifier = model(readout=EveryNode)

    def leaf(each: Classifier, batch: TreeBatch) -> Tensor:
        return answers(each, batch)[1::N, 0]

    drops = occlusion(classifier, copies, leaf, torch.eye(N).bool())
    assert drops[1] != 0
    assert drops[[0, 2]].abs().max() == 0  # what is not below a leaf does not reach it


def test_other_inputs_are_refused() -> None:
    classifier = model()
    classifier.encoder.input = nn.Identity()
    with pytest.raises(ConfigError, match="expected a model with node columns as input"):
        integrated_gradients(classifier, copies, second)

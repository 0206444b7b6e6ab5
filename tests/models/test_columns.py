"""Inputs by columns, tree convolution and bags, against slow forms."""

import math

import numpy as np
import pytest
import torch

from dgltrees import Forest, Vocabulary
from dgltrees.cells import ChildSumTreeLSTM
from dgltrees.models import (
    BagEncoder,
    ColumnsInput,
    ConvolutionEncoder,
    SiblingPositions,
    TreeEncoder,
)
from dgltrees.models.columns import NumberVectors
from dgltrees.models.tree_convolution import TreeConvolution
from dgltrees.trees.columns import Column
from dgltrees.trees.schema import NUMBERS, Schema

SCHEMA = Schema(
    {"kind": Vocabulary(["<unk>", "a", "b"], unknown="<unk>"), "note": Vocabulary(["x", "y"])},
    [Column("kind", "category"), Column("note", "text"), Column("n", "number"), Column("m", "log")],
)
KINDS = np.array([1, 2, 0, -1, 1])
NOTES = np.array([[0, 1, -1], [-1, -1, -1], [1, 1, 0], [0, -1, -1], [1, -1, -1]])
VALUES = np.array([[1.0, 0.0], [np.nan, 9.0], [3.0, 99.0], [5.0, np.nan], [7.0, 999.0]])


def trees() -> Forest:
    """A tree of three nodes and one of two."""
    columns = {"kind": KINDS, "note": NOTES, NUMBERS: VALUES}
    vocabs = {name: SCHEMA[name] for name in SCHEMA}
    return Forest(
        np.array([-1, 0, 0, -1, 0], np.int32),
        np.array([0, 0, 1, 0, 0], np.int32),
        np.array([0, 3, 5]),
        columns,
        vocabs,
    )


def columns_input() -> ColumnsInput:
    torch.manual_seed(0)
    inputs = ColumnsInput(SCHEMA, 4).double()
    inputs.standardise(VALUES)
    return inputs


def test_a_nodes_vector_is_the_sum_over_its_columns() -> None:
    inputs = columns_input()
    kinds, notes = (each.weight for each in inputs.names)
    assert inputs.numbers is not None
    torch.nn.init.normal_(inputs.numbers.linear.weight)  # a missing number is a learned vector
    logs = np.log1p([0.0, 9.0, 99.0, 999.0])
    numbers = np.array([1.0, 3.0, 5.0, 7.0])
    for node in range(5):
        total = inputs.bias.clone()
        if KINDS[node] > 0:  # a name that training did not have adds nothing
            total = total + kinds[KINDS[node]]
        words = [notes[i] for i in NOTES[node] if i >= 0]
        if words:
            total = total + torch.stack(words).mean(0)
        features = []
        for value, seen, scale in (
            (VALUES[node, 0], numbers, float),
            (VALUES[node, 1], logs, math.log1p),
        ):
            features.append(0.0 if np.isnan(value) else (scale(value) - seen.mean()) / seen.std())
        features += np.isnan(VALUES[node]).astype(float).tolist()
        total = total + inputs.numbers.linear(torch.tensor(features, dtype=torch.float64))
        torch.testing.assert_close(inputs(trees().batch())[node], total)


def test_a_constant_column_and_one_without_numbers_stay_finite() -> None:
    inputs = columns_input()
    inputs.standardise(np.full((5, 2), [3.0, np.nan]))
    assert inputs(trees().batch()).isfinite().all()


@pytest.mark.parametrize(("is_log", "unit"), [(False, 1e-13), (True, 1e-13), (True, 1e-3)])
def test_the_unit_of_small_numbers_does_not_matter(is_log: bool, unit: float) -> None:
    values = 10.0 ** np.arange(-7, 0)[:, None]
    vectors = []
    for scale in (1.0, unit):
        torch.manual_seed(0)
        numbers = NumberVectors([is_log], 3)
        numbers.standardise(scale * values)
        vectors.append(numbers(torch.from_numpy(scale * values)))
    torch.testing.assert_close(*vectors)
    assert vectors[0].unique(dim=0).shape == (7, 3)


def test_convolution_equals_its_formula_child_by_child() -> None:
    torch.manual_seed(0)
    layer = TreeConvolution(3, 2).double()
    forest = Forest.build([-1, 0, 0, 0, 1, -1], pos=[0, 2, 0, 1, 0, 0], offsets=[0, 5, 6])
    x = torch.randn(6, 3, dtype=torch.float64)
    top, left, right = layer.W
    children = {0: [2, 3, 1], 1: [4]}  # in the order of their positions
    for node in range(6):
        a = x[node] @ top + layer.b
        below = children.get(node, [])
        for j, child in enumerate(below):
            share = j / (len(below) - 1) if len(below) > 1 else 0.5
            a = a + x[child] @ (share * right + (1 - share) * left)
        torch.testing.assert_close(layer(x, forest.batch())[node], torch.tanh(a))


def test_convolution_sees_as_many_levels_as_it_has_layers_and_a_bag_none() -> None:
    batch = trees().batch()
    changed = batch.with_data({**batch.ndata, "kind": torch.tensor([1, 1, 0, -1, 1])})
    bag, inputs = BagEncoder(columns_input(), 3).double(), columns_input()
    convolution = ConvolutionEncoder(inputs, 3, layers=2).double()
    assert (bag(batch).states != bag(changed).states).any(1).tolist() == [0, 1, 0, 0, 0]
    differs = (convolution(batch).states != convolution(changed).states).any(1)
    assert differs.tolist() == [1, 1, 0, 0, 0]


def test_places_tell_siblings_apart_and_count_present_children() -> None:
    forest = Forest.build([-1, 0, 0, 0, 1, -1], pos=[0, 2, 0, 3, 0, 0], offsets=[0, 5, 6])
    places = SiblingPositions(4).double()
    before, after, below = [0, 1, 0, 2, 0, 0], [0, 1, 2, 0, 0, 0], [3, 1, 0, 0, 0, 0]
    counts = torch.tensor([before, after, below], dtype=torch.float64).T
    features = torch.cat([counts.log1p(), (counts == 0).double()], 1)
    torch.testing.assert_close(places(forest.batch()), places.linear(features))


def test_with_places_children_in_another_order_are_another_tree() -> None:
    kinds, positions = {"kind": np.array([0, 1, 0])}, ([0, 0, 1], [0, 1, 0])
    batches = [Forest.build([-1, 0, 0], pos=p, columns=kinds).batch() for p in positions]
    schema = Schema({"kind": Vocabulary(["a", "b"])}, [Column("kind", "category")])
    for places in (False, True):
        encoder = TreeEncoder(
            ColumnsInput(schema, 3, sibling_positions=places), ChildSumTreeLSTM(3, 2)
        )
        one, other = (encoder(batch).roots for batch in batches)
        assert torch.allclose(one, other) is not places


def test_the_parts_of_the_columns_sum_to_the_vectors() -> None:
    inputs = columns_input()
    assert inputs.numbers is not None
    torch.nn.init.normal_(inputs.numbers.linear.weight)
    parts = inputs.parts(trees().batch())
    assert list(parts) == ["kind", "note", "n", "m"]
    biases = inputs.bias + inputs.numbers.linear.bias
    torch.testing.assert_close(sum(parts.values(), start=biases), inputs(trees().batch()))


def test_a_flag_that_training_never_set_adds_nothing() -> None:
    inputs = columns_input()
    assert inputs.numbers is not None
    values = torch.tensor([[np.nan, np.nan]], dtype=torch.float64)
    torch.testing.assert_close(inputs.numbers(values)[0], inputs.numbers.linear.bias)

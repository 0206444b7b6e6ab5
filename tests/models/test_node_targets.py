"""Numbers of trees and nodes: sums over nodes and subtrees, losses against a loop, gradients."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch.testing import assert_close

from dgltrees import Forest, TreeBatch, TreeError, prop_nodes_topo
from dgltrees.cells import make_cell
from dgltrees.models import Classifier, EveryNode, GivenVectors, Root, TreeEncoder
from dgltrees.models.node_targets import NODE_TARGET, NodeNumberTargets, WithNodes, sum_below
from tests.backends import by_backend
from tests.worlds import chain, forests, random_forest, shared_children

FOREST = random_forest(np.random.default_rng(0), trees=5, nodes=9, max_children=3)
TARGETS = torch.tensor([0.5, 2.0, 1.0, 7.0, 0.2], dtype=torch.float64)
OPTIONS: list[dict[str, Any]] = [
    {"additive": additive, "log_target": log_target, "node_size": node_size}
    for additive in (True, False)
    for log_target in (True, False)
    for node_size in (3, None)
    if additive or node_size
]


def _with_targets(forest: Forest = FOREST) -> Forest:
    rng = np.random.default_rng(1)
    y = rng.exponential(size=(forest.num_nodes, 1))
    y[rng.random(forest.num_nodes) < 0.4] = np.nan
    return forest.with_columns({NODE_TARGET: y, "x": rng.normal(size=(forest.num_nodes, 2))})


def _model(forest: Forest, **options: Any) -> Classifier:
    torch.manual_seed(0)
    cell = make_cell("child_sum", input_size=2, hidden_size=3)
    readout = WithNodes(EveryNode() if options["additive"] else Root())
    head = NodeNumberTargets(3, 1, (4,), node_target_weight=0.7, **options)
    head.learn_scale(TARGETS.numpy()[:, None])
    head.learn_nodes(forest.sizes, forest.columns[NODE_TARGET])
    encoder = TreeEncoder(GivenVectors("x", 2), cell, compile=False)
    return Classifier(encoder, readout, head).double()


def _below(forest: Forest, values: Tensor) -> Tensor:
    """The sum over the subtree of each node, node by node."""
    total = values.clone()
    for v, up in enumerate(forest.global_parent.tolist()):
        while up >= 0:
            total[up] += values[v]
            up = int(forest.global_parent[up])
    return total


@settings(max_examples=25)
@given(forests())
def test_the_sum_over_a_subtree_is_that_of_a_traversal(forest: Forest) -> None:
    batch, x = forest.batch(), torch.randn(forest.num_nodes, 2, dtype=torch.float64)
    assert_close(sum_below(x, batch), _below(forest, x))
    for backend in ("levels", "dgl"):
        batch.ndata["x"] = x
        prop_nodes_topo(
            batch,
            lambda edges: {"m": edges.src["x"]},
            lambda nodes: {"x": nodes.data["x"] + nodes.mailbox["m"].sum(1)},
            backend=backend,  # type: ignore[arg-type]
        )
        assert_close(sum_below(x, batch), batch.ndata["x"])


def test_the_sum_over_deep_and_shared_trees() -> None:
    deep = sum_below(torch.ones(100_000, 1), chain(100_000).batch())
    assert_close(deep[:, 0], torch.arange(100_000, 0, -1).float())
    x = torch.randn(FOREST.num_nodes, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: sum_below(x, FOREST.batch()), x)
    shared = shared_children(np.random.default_rng(0), 4, 9, 3)
    with pytest.raises(TreeError, match="got a child with several parents"):
        sum_below(torch.ones(shared.num_nodes, 1), shared)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_losses_and_predictions_equal_a_loop_over_nodes(options: dict[str, Any]) -> None:
    forest = _with_targets()
    model = _model(forest, **options)
    batch, head = forest.batch(), model.head
    assert isinstance(head, NodeNumberTargets)
    h = model.encoder(batch).states
    scale = torch.log if options["log_target"] else lambda y: y
    back = torch.exp if options["log_target"] else lambda y: y

    def scaled(y: Tensor, known: Tensor) -> Tensor:
        known = scale(known[~known.isnan()])
        return (scale(y) - known.mean()) / known.std(correction=0)

    predicted = model.head.decode(model.head(model.vectors(batch)))["prediction_0"]
    trees = [slice(a, b) for a, b in zip(forest.offsets, forest.offsets[1:])]
    of_nodes = None
    if options["additive"]:
        y = scale(TARGETS)
        size = float(np.exp(np.log(forest.sizes).mean()))
        spread = y.std(correction=0)
        if options["node_size"]:
            known = scale(batch.ndata[NODE_TARGET])
            spread = torch.maximum(spread, known[~known.isnan()].std(correction=0))
        parts = back(head.mlp(h)[:, 0] * spread + y.mean()) / size
        assert_close(predicted, torch.stack([parts[tree].sum() for tree in trees]))
        assert_close(head.contributions(model.vectors(batch))[:, 0], parts)
        of_nodes = _below(forest, parts) if options["node_size"] else parts
        assert_close(of_nodes[forest.roots] if options["node_size"] else predicted, predicted)
    elif head.nodes is not None:
        known = scale(batch.ndata[NODE_TARGET])
        known = known[~known.isnan()]
        of_nodes = back(head.nodes.mlp(h)[:, 0] * known.std(correction=0) + known.mean())
    assert of_nodes is not None
    assert_close(head.node_values(model.vectors(batch))[:, 0], of_nodes)
    expected = torch.nn.functional.huber_loss(
        scaled(predicted, TARGETS), scaled(TARGETS, TARGETS), reduction="none"
    )
    if options["node_size"]:
        y = batch.ndata[NODE_TARGET][:, 0]
        errors = torch.nn.functional.huber_loss(scaled(of_nodes, y), scaled(y, y), reduction="none")
        means = torch.stack([errors[tree].nanmean() for tree in trees]).nan_to_num()
        expected = expected + 0.7 * means
    assert_close(model(batch, TARGETS), expected)
    assert_close(head.columns(model.vectors(batch), TARGETS)["loss"], expected)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradients_backends_and_single_trees_agree(options: dict[str, Any]) -> None:
    forest = _with_targets()
    model, batch = _model(forest, **options), forest.batch()

    def results(batch: TreeBatch, targets: Tensor) -> list[Tensor]:
        z = model.vectors(batch)
        return [model(batch, targets), model.head(z), model.head.node_values(z)]

    def loss(x: Tensor) -> Tensor:
        return model(batch.with_data({**batch.ndata, "x": x}), TARGETS)

    assert torch.autograd.gradcheck(loss, batch.ndata["x"].requires_grad_())
    together = results(batch, TARGETS)
    single = [results(forest.batch([i]), TARGETS[i : i + 1]) for i in range(len(forest))]
    assert_close(together, [torch.cat(each) for each in zip(*single)])
    names, parameters = zip(*model.named_parameters())
    gradients = torch.autograd.grad(together[0].sum(), parameters)
    assert all(each.any() for each in gradients), names
    with by_backend("dgl"):
        assert_close(results(batch, TARGETS), together)
        assert_close(torch.autograd.grad(model(batch, TARGETS).sum(), parameters), gradients)

"""Explanations of predictions by the contributions of nodes and columns."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees._files import PathLike
from dgltrees.analyses.require import require
from dgltrees.cells.compiled.kernels import compiled
from dgltrees.draw import Drawing, draw
from dgltrees.draw.labels import decode_column
from dgltrees.draw.strings import printable
from dgltrees.errors import ConfigError, TreeError
from dgltrees.models.attribution import answers, integrated_gradients, occlude, occlusion
from dgltrees.models.classifier import Classifier
from dgltrees.models.node_targets import NodeNumberTargets
from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.tasks.task import Task
from dgltrees.tasks.trees import TreeTask
from dgltrees.training.trained import Source, TrainedModel
from dgltrees.traversal.order import levels_of
from dgltrees.trees import Forest, LabeledTrees, TreeBatch
from dgltrees.trees.columns import name_of

_SHOWN_NODES = 60  # the repr draws smaller trees, and lists the strongest nodes of larger ones
_STRONGEST = 10


@dataclass(frozen=True, repr=False)
class Explanation:
    """The contribution of every node and column to the prediction of one example.

    The example has N nodes and C columns. Jupyter shows the tree with every node coloured by its
    contribution; ``print`` shows the same as text.

    Attributes:
        examples: the example, encoded for the model.
        target: what is explained: a class, a binary target, or the name of a number.
        node: the node whose prediction is explained; None if the model predicts whole trees.
        prediction: the probability of the class or binary target, or the predicted number.
        baseline: the prediction if no node of the tree has input.
        column_names: the C columns.
        columns: ``(N, C)`` the contribution of each column of each node by integrated gradients, in
            the unit of the prediction; the sum is ``prediction - baseline``. Of an additive model,
            ``(N, 1)`` what each node contributes to the sum that is the prediction; the baseline is
            then 0.
        share: the weight of the network in the prediction of a blend, whose other models are not
            explained.
        additive: whether the prediction is the sum of contributions of nodes.
    """

    examples: LabeledTrees
    target: str
    node: int | None
    prediction: float
    baseline: float
    column_names: tuple[str, ...]
    columns: NDArray[np.float64]
    _occlude: Callable[[NDArray[np.bool_]], NDArray[np.float64]]
    share: float = 1.0
    additive: bool = False

    @property
    def forest(self) -> Forest:
        """The tree, or the trees of a pair, with the categorical columns that the model uses."""
        return self.examples.forest

    @cached_property
    def nodes(self) -> NDArray[np.float64]:
        """The contribution of each node, ``(N,)``: the sum over its columns."""
        return np.asarray(self.columns.sum(1))

    @cached_property
    def subtrees(self) -> NDArray[np.float64]:
        """The change of the prediction due to each subtree, ``(N,)``.

        It is the prediction minus the prediction if the subtree of a node has no input. The first
        access computes one prediction per node.
        """
        return self._occlude(_below(self.forest))

    @cached_property
    def _labels(self) -> dict[str, list[str]]:
        """The categorical columns by name, as texts."""
        forest = self.forest
        columns = {name: forest.columns[name] for name in forest.vocabs if name in forest.columns}
        return {
            name: decode_column(forest, name, column, max_length=sys.maxsize)
            for name, column in columns.items()
            if column.ndim == 1 and name != "target"
        }

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a table with a row per node, for ``pandas.DataFrame(explanation.to_dict())``.

        Returns:
            The columns by name, ``tree``, ``node``, ``parent``, the categorical columns (``node_``
            for one that is called ``node``), ``adds`` (the contribution of the node), and ``adds
            COLUMN`` of each column.
        """
        forest = self.forest
        rows = np.arange(forest.num_nodes)
        table: dict[str, list[Any]] = {
            "tree": forest.tree_of_node.tolist(),
            "node": (rows - forest.offsets[forest.tree_of_node]).tolist(),
            "parent": forest.parent.tolist(),
        }
        table.update({f"{n}_" if n in (*table, "adds") else n: c for n, c in self._labels.items()})
        table["adds"] = self.nodes.tolist()
        for name, values in zip(self.column_names, self.columns.T):
            table[f"adds {name}"] = values.tolist()
        return table

    def draw(self, by: str = "nodes") -> Drawing:
        """Return a drawing of the tree: red nodes increase the prediction, blue nodes decrease it.

        Arguments:
            by: ``"nodes"``, ``"subtrees"``, or the name of a column whose contribution is shown.

        Raises:
            ConfigError: there is no such column.
        """
        if by in ("nodes", "subtrees"):
            values = getattr(self, by)
        elif by in self.column_names:
            values = self.columns[:, self.column_names.index(by)]
        else:
            raise ConfigError(
                f"expected nodes, subtrees or one of {', '.join(self.column_names)}, got {by!r}"
            )
        plain = {n: c for n, c in self.forest.columns.items() if c.ndim == 1 and n != "target"}
        forest = replace(self.forest, columns=plain)
        titles = None if len(forest) == 1 else [f"tree {side}" for side in range(len(forest))]
        return draw(forest, values=values, titles=titles, svg_limit=max(2000, forest.num_nodes))

    def summary(self, by: str = "nodes") -> str:
        """Return two lines: the prediction, and how to read the numbers of the drawing.

        Arguments:
            by: see :meth:`draw`.
        """
        of = "" if self.node is None else f" of node {self.node}"
        positive = self.additive and (self.nodes >= 0).all()  # of logarithms
        lowers = "" if positive else "; a negative one lowers it"
        number = f"its contribution to the prediction{lowers}"
        if by == "subtrees":
            number = "the decrease of the prediction if the node and its descendants have no input"
        elif by != "nodes":
            number = f"the contribution of its {by} to the prediction{lowers}"
        origin = (
            f"; {self.baseline:.4g} if all nodes were empty; the nodes contribute about the "
            f"difference, {self.nodes.sum():+.4g}"
        )
        if self.additive:
            origin = ", the sum of the contributions of its nodes"
        part = ""
        if self.share < 1:
            part = (
                f"\nThis explains the networks, whose weight in the blend is {self.share:.2f}. "
                "Boosting and extra trees have the rest."
            )
        return (
            f"predicted {self.target}{of}: {self.prediction:.4g}{origin}\n"
            f"The number at a node is {number}.{part}"
        )

    @property
    def svg(self) -> str:
        """The drawing as SVG."""
        return self.draw().svg

    def save(self, path: PathLike, by: str = "nodes") -> None:
        """Write the drawing to a file ``.svg``, or the text to a file ``.txt``.

        Arguments:
            path: the file.
            by: see :meth:`draw`.
        """
        self.draw(by).save(path)

    def _repr_svg_(self) -> str:
        return self.svg

    @property
    def text(self) -> str:
        """The explanation as text; for a large tree, only its strongest nodes."""
        lines = [self.summary()]
        for name, values in zip(self.column_names, self.columns.T):
            if values.any() and not self.additive:
                lines.append(f"  {name}: {values.sum():+.3g}")
        if self.forest.num_nodes <= _SHOWN_NODES:
            return "\n".join([*lines, "", self.draw().text])
        table = self.to_dict()
        lines += ["", f"the strongest of {self.forest.num_nodes} nodes:"]
        for node in np.argsort(-np.abs(self.nodes), kind="stable")[:_STRONGEST].tolist():
            label = " ".join(filter(None, (column[node] for column in self._labels.values())))
            lines.append(f"  {table['node'][node]} {printable(label, 60)}  {self.nodes[node]:+.3g}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text


@torch.inference_mode(False)  # a caller may have switched gradients off
def explain(
    run: TrainedModel,
    source: Source,
    example: int = 0,
    *,
    target: str | None = None,
    node: int | None = None,
    steps: int = 64,
) -> Explanation:
    """Explain a prediction of a trained model.

    Arguments:
        run: a model of trees whose nodes have columns or labels.
        source: files, or trees.
        example: index of the tree or pair; negative indices count from the end.
        target: class to explain, by default the predicted class; for several targets, the name of
            one of them, by default the first.
        node: node whose prediction is explained, by default the root; only for models that predict
            nodes.
        steps: number of points of the integral of the gradients.

    Returns:
        The contributions of nodes and columns.

    Raises:
        ConfigError: the model is not a model of trees, there is no such target, or ``steps`` is
            below 1.
        TreeError: there is no such example or node, or the trees cannot be read.

    Example:
        >>> from dgltrees import Forest, TreeRegressor
        >>> rows = [{"op": "add", "children": [{"op": "one"}, {"op": "two"}]}, {"op": "one"}]
        >>> trees = Forest.from_objects(rows * 2, "children", ["op"])
        >>> model = TreeRegressor(epochs=2, validation_fraction=0.0).fit(trees, [3.0, 1.0] * 2)
        >>> explanation = explain(model.run_, trees, example=0)
        >>> explanation.column_names, explanation.columns.shape
        (('op',), (3, 1))
    """
    if not isinstance(steps, (int, np.integer)) or steps < 1:
        raise ConfigError(f"expected steps to be an integer of at least 1, got {steps!r}")
    known = isinstance(run.task, (CustomTreesTask, TreeTask))
    require(run, run.task if known else None, Task, "a model of trees")
    model = require(run, run.model, Classifier, "a model of trees")
    data = run.to_examples(source)
    number: Any = example
    if not isinstance(number, (int, np.integer)):
        raise TreeError(
            f"expected the index of one example, got {example!r:.40}; give an integer, such as 0"
        )
    if not -len(data) <= example < len(data):
        raise TreeError(f"expected the number of an example, 0 to {len(data) - 1}, got {example}")
    one = data.select([example])
    row, node = _row(run, one, node)
    rows = one.forest.num_nodes if run.task.nodes else 1

    def copies(number: int) -> TreeBatch:
        batch, _ = run.task.batch(one, np.zeros(number, np.int64))
        return batch.to(run.fabric.device)

    def every(each: Classifier, batch: TreeBatch) -> Tensor:
        return answers(each, batch)[row::rows]  # (S, K)

    with torch.no_grad():
        batch = copies(1)
        prediction = every(model, batch)[0]
        inputs: Any = model.encoder.input
        baseline = every(model, occlude(inputs, batch))[0]
    lists = [*one.targets.names], [*one.target_names], [*map(str, range(len(prediction)))]
    names = next(each for each in lists if len(each) == len(prediction))
    of_classes = len(one.target_names) < 2 and len(prediction) > 1
    if target is None:
        index = int(prediction.argmax()) if of_classes else 0
    elif (name := name_of(target)) in names:
        index = names.index(name)
    else:
        raise ConfigError(f"expected a target of {', '.join(map(repr, names))}, got {target!r}")

    def answer(each: Classifier, batch: TreeBatch) -> Tensor:
        return every(each, batch)[:, index]

    def occluded(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        drops = occlusion(model, copies, answer, torch.from_numpy(masks))
        return np.asarray(drops.double().cpu().numpy())

    head = model.head
    additive = False
    if isinstance(head, NodeNumberTargets) and head.additive:
        additive = True
        with torch.no_grad():
            values = head.contributions(model.vectors(batch))[:, index : index + 1]
        columns, baseline = ["node"], torch.zeros_like(baseline)
    else:
        with compiled(False):  # compiling takes longer than the gradients of one example
            columns, values = integrated_gradients(model, copies, answer, steps=steps)
    return Explanation(
        one,
        names[index],
        node,
        float(prediction[index]),
        float(baseline[index]),
        tuple(columns),
        values.double().cpu().numpy(),
        occluded,
        additive=additive,
    )


def _row(run: TrainedModel, one: LabeledTrees, node: int | None) -> tuple[int, int | None]:
    if not run.task.nodes:
        if node is not None:
            raise ConfigError(f"expected a task that predicts nodes, got {run.task.name}")
        return 0, None
    node = int(one.forest.roots[0]) if node is None else node
    if not 0 <= node < one.forest.num_nodes:
        raise TreeError(f"expected a node below {one.forest.num_nodes}, got {node}")
    return node, node


def _below(forest: Forest) -> NDArray[np.bool_]:
    """Return whether a node (column) is in the subtree of a node (row), ``(N, N)``."""
    batch = forest.batch()
    child, parent = batch.src.numpy(), batch.dst.numpy()
    level = levels_of(batch)[batch.dst]
    masks = np.eye(forest.num_nodes, dtype=bool)
    for number in range(1, int(level.max(initial=0)) + 1):
        edges = level == number
        np.logical_or.at(masks, parent[edges], masks[child[edges]])
    return masks

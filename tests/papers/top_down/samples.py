"""Small language models, the example of the paper, and slow algorithms over dependency trees."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltrees.papers.top_down.graphs import dependency_path, edge_decisions, source_nodes
from dgltrees.papers.top_down.models.add_decisions import JointTreeLM, decision_features
from dgltrees.settings.layers import Settings
from dgltrees.trees import Forest, TreeBatch
from tests.training.samples import SENTENCES
from tests.trees.dependencies import HEADS, SENTENCE, forest_of


def tree_lm_settings(model: dict[str, Any] | None = None, **sections: Any) -> Settings:
    """Three epochs of a small language model."""
    data = {"train": str(SENTENCES), "valid": str(SENTENCES), "lower": True}
    loop = {"optimizer": "sgd", "lr": 1.0, "max_grad_norm": 5.0, "epochs": 3, "batch_size": 4}
    loop = {**loop, "monitor": "loss", "patience": None, "schedule": "halve", "bucket_by": "size"}
    return Settings(
        {
            "task": "tree-lm",
            "data": {**data, **sections.get("data", {})},
            "model": {"hidden_size": 8, "embedding": 4, **(model or {})},
            "training": {**loop, "accelerator": "cpu", **sections.get("training", {})},
        }
    )


# The order of generation that figure 2 of Zhang, Lu & Lapata (2016) shows as subscripts.
ORDER = [9, 8, 7, 3, 6, 2, 1, 10, 4, 5, 12, 11]


def figure_2() -> Forest:
    """The dependency forest of the paper's example."""
    forest = forest_of([HEADS])
    forest.vocabs["word"].names[1:] = SENTENCE
    return forest


def paths_of(generation: Forest, tree: int = 0) -> list[list[tuple[str, str]]]:
    """The words and edge types on the dependency path of every node of a tree."""
    return [
        [(word, str(etype)) for word, etype in dependency_path(generation, tree, node)]
        for node in range(generation.sizes[tree])
    ]


def slow_paths(heads: Sequence[int]) -> list[list[tuple[int, str]]]:
    """D(w) of ROOT and every word, by the recursive definition of section 2.1."""

    def path(w: int) -> list[tuple[int, str]]:
        if w == 0:
            return []
        head = heads[w - 1]
        side = "LEFT" if w < head else "RIGHT"
        inner = range(w + 1, head) if w < head else range(w - 1, head, -1)
        siblings = [s for s in inner if heads[s - 1] == head]
        if siblings:
            return [*path(siblings[0]), (siblings[0], f"NX-{side}")]
        return [*path(head), (head, side)]

    return [path(w) for w in range(len(heads) + 1)]


def slow_order(heads: Sequence[int]) -> list[int]:
    """The nodes in the order of generation: a plain queue."""
    queue = [0]
    for node in queue:
        below = [w for w in range(1, len(heads) + 1) if heads[w - 1] == node]
        queue += [w for w in reversed(below) if w < node] + [w for w in below if w > node]
    return queue


Tree = tuple[int, ...]


def trees(words: int) -> Iterator[Tree]:
    """Every tree with one word below ROOT: the head of each word, -1 at ROOT."""
    for heads in itertools.product(range(words + 1), repeat=words):
        tree = (-1, *heads)
        if heads.count(0) == 1 and all(_reaches(tree, w, 0) for w in range(1, words + 1)):
            yield tree


def is_projective(tree: Tree) -> bool:
    """By the definition: whatever stands between a word and its head is below the head."""
    return all(
        _reaches(tree, between, head)
        for word, head in enumerate(tree)
        if word
        for between in range(min(word, head) + 1, max(word, head))
    )


def total(tree: Sequence[int], scores: np.ndarray) -> float:
    """The sum of the scores of the arcs, dependents by rows."""
    return float(sum(scores[d, tree[d]] for d in range(1, len(tree))))


def _reaches(tree: Tree, word: int, above: int) -> bool:
    for _ in range(len(tree)):
        if word == above:
            return True
        if word == 0:
            return False
        word = tree[word]
    return False


def decisions_of(model: JointTreeLM, batch: TreeBatch) -> tuple[Tensor, Tensor]:
    """The logits of all decisions, and what the trees have, -1 for none: ``(N, 4)`` each."""
    words, decisions = model.words, model.decisions
    features = decision_features(batch, words.states(batch), words.output, decisions.state)
    added = edge_decisions(batch.ndata["etype"].numpy(), source_nodes(batch))
    return decisions(features), torch.from_numpy(added.T)

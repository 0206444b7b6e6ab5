"""Trees that a policy has learned, compared with the true ones: question (b) of the RRNet paper.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Optional

import numpy as np
import torch
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.analyses.require import require
from dgltrees.draw import draw, draw_operations
from dgltrees.metrics.brackets import (
    bracket_scores,
    left_branching_spans,
    random_operations,
    restrict_spans,
    right_branching_spans,
)
from dgltrees.models.rrnet import OPERATION, Policy, RRNetEncoder
from dgltrees.tasks.settings import Files
from dgltrees.training.loaded import LoadedRun
from dgltrees.trees import BatchSampler, Forest
from dgltrees.trees.operations import Operation, inferred_trees, operation_graph, spans

__all__ = ["PolicyTrees", "policy_trees"]

_LARGEST = 100_000  # tokens and nodes of a picture

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PolicyTrees:
    """The operations of a policy at the tokens of some sentences, and those of the data.

    Arguments:
        sentences: S sentences with N tokens in order; column ``word``.
        learned: ``(N,)``, the operation of the policy at each token.
        oracle: ``(N,)``, the operation in the data at each token; None if the data have none.
        limit: the most sub-trees that the policy can have open at a time.
    """

    sentences: Forest
    learned: Ints
    oracle: Optional[Ints]
    limit: int

    def report(self) -> dict[str, Any]:
        """Precision, recall and F1 of brackets against the true trees, and shares of operations.

        The entry ``learned`` scores the policy's trees; ``chance`` those of random legal
        operations; ``left`` and ``right`` branching binary trees. ``without_brackets`` has the same
        scores over only the tokens that are RECUR in the data. If the data have no operations,
        there are only the shares.
        """
        sizes = self.sentences.sizes
        scores: dict[str, Any] = {}
        if self.oracle is not None:
            chance = random_operations(sizes, self.limit)
            brackets = [spans(self.trees(each)) for each in (self.oracle, self.learned, chance)]
            recur = self.oracle == Operation.RECUR
            fewer = [restrict_spans(each, sizes, recur) for each in brackets]
            without = _scores([each for each, _ in fewer], fewer[0][1])
            scores = {**_scores(brackets, sizes), "without_brackets": without}
        shares = np.bincount(self.learned, minlength=len(Operation)) / max(1, len(self.learned))
        kinds = (Operation.SPLIT, Operation.RECUR, Operation.MERGE)
        return {
            "sentences": len(sizes),
            **scores,
            "operations": {kind.name.lower(): float(shares[kind]) for kind in kinds},
        }

    def draw(self, folder: PathLike, limit: int) -> None:
        """Draw the first sentences, two pictures each.

        ``tree-0.svg`` shows the learned tree of sentence 0, next to the true one if there is one,
        and ``reading-0.svg`` its operations with the stack.

        Arguments:
            folder: the folder to write to, which is created if it does not exist.
            limit: the largest number of sentences.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        forest = self.sentences.select(np.arange(min(limit, len(self.sentences))))
        first = replace(self, sentences=forest)
        stop = forest.num_nodes
        trees = {"learned": first.trees(self.learned[:stop])}
        if self.oracle is not None:
            trees["given"] = first.trees(self.oracle[:stop])
        words = forest.vocabs["word"].decode(forest.columns["word"])
        for i, (begin, end) in enumerate(zip(forest.offsets, forest.offsets[1:])):
            pair = Forest.concat([each.tree(i) for each in trees.values()])
            drawing = draw(pair, titles=list(trees), svg_limit=_LARGEST)
            drawing.save(Path(folder) / f"tree-{i}.svg")
            steps = draw_operations(self.learned[begin:end], words[begin:end], svg_limit=_LARGEST)
            steps.save(Path(folder) / f"reading-{i}.svg")

    def trees(self, operations: Ints) -> Forest:
        """The trees that operations make over the sentences, with their words."""
        begins = self.sentences.offsets[:-1]
        words = np.insert(self.sentences.columns["word"].astype(np.int64), begins, -1)
        graph = operation_graph(
            np.insert(operations, begins, int(Operation.START)),
            self.sentences.sizes + 1,
            ndata={"word": torch.from_numpy(words)},
        )
        return inferred_trees(graph, ["word"], vocabs={"word": self.sentences.vocabs["word"]})


def _scores(brackets: Sequence[Ints], sizes: Ints) -> dict[str, dict[str, float]]:
    """Bracket scores of learned, random, left- and right-branching trees.

    Arguments:
        brackets: the spans of the true, the learned and the random trees.
        sizes: ``(S,)``, the number of tokens of each sentence.
    """
    oracle, learned, chance = brackets
    compared = {
        "learned": learned,
        "chance": chance,
        "left": left_branching_spans(sizes),
        "right": right_branching_spans(sizes),
    }
    return {name: bracket_scores(each, oracle, sizes)._asdict() for name, each in compared.items()}


@torch.no_grad()
def policy_trees(
    run: LoadedRun,
    *,
    test: Files = None,
    root: Optional[str] = None,
    max_nodes: int = 20_000,
) -> PolicyTrees:
    """The likeliest operation of a run's policy at each token, as in evaluation.

    Arguments:
        run: a run whose model has a policy.
        test, root: see :meth:`~dgltrees.training.loaded.LoadedRun.test_examples`.
        max_nodes: the largest number of tokens in a batch.

    Raises:
        ConfigError: the model has no policy, or there are no test files.
        TreeError: a file is not what the task reads.
    """
    expected = "a run whose policy decides (model.policy.operations policy)"
    encoder = require(run, getattr(run.model, "encoder", None), RRNetEncoder, expected)
    require(run, encoder.policy, Policy, expected)
    data = run.test_examples(test, root)
    oracle = data.forest.columns.get(OPERATION)
    if oracle is not None:
        oracle = None if (oracle == Operation.START).any() else oracle.astype(np.int64)
    learned = []
    for ids in BatchSampler(data.sizes, max_nodes=max_nodes, shuffle=False):
        batch, _ = run.task.batch(data, ids)
        with run.fabric.autocast():
            graph = encoder.rollout(batch.to(run.fabric.device)).graph
        operations = graph.on_host(graph.ndata[OPERATION]).numpy()
        learned.append(operations[operations != Operation.START])
    return PolicyTrees(data.forest, np.concatenate(learned), oracle, encoder.max_open)

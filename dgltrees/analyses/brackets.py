"""The trees that a policy has learned, beside the true ones: question (b) of the paper on RRNet.

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
from dgltrees.draw import draw, draw_operations
from dgltrees.errors import ConfigError
from dgltrees.metrics.brackets import (
    bracket_scores,
    left_branching,
    over_some,
    random_operations,
    right_branching,
)
from dgltrees.models.rrnet import OPERATION
from dgltrees.tasks.files import data_files
from dgltrees.tasks.settings import Files
from dgltrees.tasks.splits import load_examples
from dgltrees.training.processes import make_fabric
from dgltrees.training.run import load_run
from dgltrees.training.rundir import RunDirectory
from dgltrees.trees import BatchSampler, Forest
from dgltrees.trees.operations import Operation, inferred_trees, operation_graph, spans

__all__ = ["InducedTrees", "induced_trees"]

_LARGEST = 100_000  # tokens and nodes of a picture

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class InducedTrees:
    """What a policy does at the tokens of some sentences, and what it should do.

    Arguments:
        sentences: their tokens, in order; column ``word``.
        learned: ``(N,)`` the operation at each token.
        given: ``(N,)`` the true one, where the files say it.
        limit: how many sub-trees the policy can have open.
    """

    sentences: Forest
    learned: Ints
    given: Optional[Ints]
    limit: int

    def report(self) -> dict[str, Any]:
        """Precision, recall and F1 of brackets against the given trees, and shares of operations.

        ``learned`` are the policy's trees; ``chance`` those of operations drawn evenly from the
        legal ones; ``left`` and ``right`` branching binary trees. ``without_brackets`` has the
        same over the tokens alone that are given as RECUR. Where no trees are given there are the
        shares alone.
        """
        sizes = self.sentences.sizes
        scores: dict[str, Any] = {}
        if self.given is not None:
            chance = random_operations(sizes, self.limit)
            found = [spans(self.trees(each)) for each in (self.given, self.learned, chance)]
            kept = self.given == Operation.RECUR
            fewer = [over_some(each, sizes, kept) for each in found]
            without = _scores([each for each, _ in fewer], fewer[0][1])
            scores = {**_scores(found, sizes), "without_brackets": without}
        shares = np.bincount(self.learned, minlength=len(Operation)) / max(1, len(self.learned))
        kinds = (Operation.SPLIT, Operation.RECUR, Operation.MERGE)
        return {
            "sentences": len(sizes),
            **scores,
            "operations": {kind.name.lower(): float(shares[kind]) for kind in kinds},
        }

    def draw(self, folder: PathLike, limit: int) -> None:
        """Draw the first sentences, two pictures each.

        ``tree-0.svg`` has the learned tree of sentence 0, beside the given one if there is one,
        ``reading-0.svg`` how it was read, with the stack.

        Arguments:
            folder: where to; it is made if need be.
            limit: how many sentences, at most.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        forest = self.sentences.select(np.arange(min(limit, len(self.sentences))))
        few = replace(self, sentences=forest)
        stop = forest.num_nodes
        trees = {"learned": few.trees(self.learned[:stop])}
        if self.given is not None:
            trees["given"] = few.trees(self.given[:stop])
        words = forest.vocabs["word"].decode(forest.columns["word"])
        for i, (begin, end) in enumerate(zip(forest.offsets, forest.offsets[1:])):
            both = Forest.concat([each.tree(i) for each in trees.values()])
            pair = draw(both, titles=list(trees), svg_limit=_LARGEST)
            pair.save(Path(folder) / f"tree-{i}.svg")
            reading = draw_operations(self.learned[begin:end], words[begin:end], svg_limit=_LARGEST)
            reading.save(Path(folder) / f"reading-{i}.svg")

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


def _scores(found: Sequence[Ints], sizes: Ints) -> dict[str, dict[str, float]]:
    """Scores of learned trees and of their rivals, by the spans of given, learned and chance."""
    true, learned, chance = found
    rivals = {
        "learned": learned,
        "chance": chance,
        "left": left_branching(sizes),
        "right": right_branching(sizes),
    }
    return {name: bracket_scores(own, true, sizes)._asdict() for name, own in rivals.items()}


@torch.no_grad()
def induced_trees(
    path: PathLike,
    *,
    test: Files = None,
    root: Optional[str] = None,
    max_nodes: int = 20_000,
) -> InducedTrees:
    """Let the policy of a run decide, as in evaluation: the likeliest operation at each token.

    Arguments:
        path: the run directory.
        test: files; without them the run's own test files.
        root: the folder under which they lie; without it, the run's.
        max_nodes: tokens in a batch, at most.

    Raises:
        ConfigError: there is no usable run, its model has no policy, or no file is named.
        TreeError: a file is not what the task reads.
    """
    fabric = make_fabric(RunDirectory(path).one_device())
    run, settings, task, model = load_run(path, fabric)
    encoder: Any = getattr(model, "encoder", None)
    if getattr(encoder, "policy", None) is None:
        raise ConfigError(
            f"expected a run whose policy decides (model.policy.operations policy) at {path}, got "
            f"{task.kind(settings.model)}, task {task.name}"
        )
    asked = replace(settings.data, test=test or settings.data.test, root=root or settings.data.root)
    files = data_files(asked, "test")
    if not files:
        raise ConfigError("expected test files, got none; give --data.test FILE")
    data = load_examples(task, asked, files, run.vocabularies(), settings.model.max_children)
    given = data.forest.columns.get(OPERATION)
    if given is not None:
        given = None if (given == Operation.START).any() else given.astype(np.int64)
    encoder.eval()
    learned = []
    for ids in BatchSampler(data.sizes, max_nodes=max_nodes, shuffle=False):
        batch, _ = task.batch(data, ids)
        with fabric.autocast():
            graph = encoder.rollout(batch.to(fabric.device)).graph
        operations = graph.on_host(graph.ndata[OPERATION]).numpy()
        learned.append(operations[operations != Operation.START])
    return InducedTrees(data.forest, np.concatenate(learned), given, encoder.max_open)

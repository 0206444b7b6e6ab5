"""The trees of a learned policy, compared with the true ones: question (b) of the RRNet paper.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from dgltrees._files import PathLike
from dgltrees.analyses.require import require
from dgltrees.draw import draw
from dgltrees.errors import ConfigError
from dgltrees.papers.rrnet.brackets import (
    bracket_scores,
    left_branching_spans,
    random_operations,
    random_word_operations,
    restrict_spans,
    right_branching_spans,
)
from dgltrees.papers.rrnet.graphs import (
    inferred_trees,
    operation_graph,
    spans,
    token_at,
    word_operations,
)
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder
from dgltrees.papers.rrnet.models.policy import Policy
from dgltrees.papers.rrnet.models.sequences import OPERATION
from dgltrees.papers.rrnet.pictures import draw_operations
from dgltrees.tasks.settings import Files
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import BatchSampler, Forest
from dgltrees.trees.builders.sentences import chains
from dgltrees.trees.constituents import MERGES, SPLITS
from dgltrees.trees.kinds import Operation
from dgltrees.trees.segments import Ints, starts
from dgltrees.trees.words import END

_LARGEST = 100_000  # tokens and nodes of a picture


class Sequences(NamedTuple):
    """The operations of S sentences.

    Attributes:
        operations: ``(L,)``, sentence after sentence.
        sizes: ``(S,)`` the number of operations of each sentence.
        recur_only: whether only RECUR consumes a word.
    """

    operations: Ints
    sizes: Ints
    recur_only: bool

    def first(self, sentences: int) -> Sequences:
        """Return the operations of the first sentences."""
        sizes = self.sizes[:sentences]
        return self._replace(operations=self.operations[: int(sizes.sum())], sizes=sizes)


@dataclass(frozen=True)
class PolicyTrees:
    """The operations of a policy on some sentences, and those of the data.

    Arguments:
        sentences: S sentences with N tokens in order; column ``word``.
        learned: the operations of the policy.
        oracle: the operations in the data; None if the data have none.
        limit: the largest number of subtrees that the policy can have open at a time.
    """

    sentences: Forest
    learned: Sequences
    oracle: Sequences | None
    limit: int

    def report(self) -> dict[str, Any]:
        """Compute precision, recall and F1 of brackets, and the shares of the operations."""
        sizes = self.sentences.sizes
        scores: dict[str, Any] = {}
        if self.oracle is not None:
            sequences = (self.oracle, self.learned, self._chance())
            brackets = [spans(self.trees(each)) for each in sequences]
            scores = dict(_scores(brackets, sizes))
            if not self.oracle.recur_only:
                recur = self.oracle.operations == Operation.RECUR
                fewer = [restrict_spans(each, sizes, recur) for each in brackets]
                scores["without_brackets"] = _scores([each for each, _ in fewer], fewer[0][1])
        operations = self.learned.operations
        shares = np.bincount(operations, minlength=len(Operation)) / max(1, len(operations))
        kinds = (Operation.SPLIT, Operation.RECUR, Operation.MERGE)
        return {
            "sentences": len(sizes),
            **scores,
            "operations": {kind.name.lower(): float(shares[kind]) for kind in kinds},
        }

    def draw(self, folder: PathLike, limit: int) -> None:
        """Draw the first sentences, with two pictures each: Figure 1(d) and (e) of the paper.

        ``tree-0.svg`` shows the learned tree of sentence 0 and, if known, the true one.
        ``reading-0.svg`` shows its operations with the stack.
        """
        count = min(limit, len(self.sentences))
        names = [f"{kind}-{i}.svg" for i in range(count) for kind in ("tree", "reading")]
        there = next((name for name in names if (Path(folder) / name).exists()), None)
        if there is not None:
            raise ConfigError(
                f"expected a folder without {there}, got {folder}; choose another folder, or "
                "remove the pictures"
            )
        Path(folder).mkdir(parents=True, exist_ok=True)
        forest, learned = self.sentences.select(np.arange(count)), self.learned.first(count)
        first = replace(self, sentences=forest)
        trees = {"learned": first.trees(learned)}
        if self.oracle is not None:
            trees["gold"] = first.trees(self.oracle.first(count))
        words = np.split(forest.vocabs["word"].decode(forest.columns["word"]), forest.offsets[1:-1])
        steps = np.split(learned.operations, learned.sizes.cumsum()[:-1])
        for i, (text, operations) in enumerate(zip(words, steps)):
            pair = Forest.concat([each.tree(i) for each in trees.values()])
            drawing = draw(pair, titles=list(trees), svg_limit=_LARGEST)
            drawing.save(Path(folder) / f"tree-{i}.svg")
            reading = draw_operations(
                operations, text.tolist(), recur_only=learned.recur_only, svg_limit=_LARGEST
            )
            reading.save(Path(folder) / f"reading-{i}.svg")

    def trees(self, sequences: Sequences) -> Forest:
        """Build the trees of operations on the sentences, with their words."""
        operations, sizes, recur_only = sequences
        word = np.append(self.sentences.columns["word"].astype(np.int64), -1)
        token = np.arange(len(operations))
        if recur_only:
            token = token_at(operations, sizes, self.sentences.sizes)
        begins = starts(sizes)
        graph = operation_graph(
            np.insert(operations, begins, int(Operation.START)),
            sizes + 1,
            ndata={"word": torch.from_numpy(np.insert(word[token], begins, -1))},
        )
        vocabs = {"word": self.sentences.vocabs["word"]}
        return inferred_trees(graph, ["word"], recur_only=recur_only, vocabs=vocabs)

    def _chance(self) -> Sequences:
        sizes, recur_only = self.sentences.sizes, self.learned.recur_only
        if not recur_only:
            return Sequences(random_operations(sizes, self.limit), sizes, recur_only)
        counts = random_word_operations(sizes, self.limit)
        return Sequences(*word_operations(*counts, sizes), recur_only)


def _scores(brackets: Sequence[Ints], sizes: Ints) -> dict[str, dict[str, float]]:
    """Score learned, random, left- and right-branching trees by spans: true, learned, random."""
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
    run: TrainedModel, *, test: Files = None, dir: str | None = None, max_nodes: int = 20_000
) -> PolicyTrees:
    """Compute the most probable operations of a run's policy, as in evaluation.

    A language model reads each line separately, from the initial state.
    """
    expected = "a run whose policy decides (model.policy.operations policy)"
    encoder = require(run, getattr(run.model, "encoder", None), RRNetEncoder, expected)
    require(run, encoder.policy, Policy, expected)
    sentences = _without_ends(run.test_examples(test, dir).forest)
    learned, sizes = [], []
    for ids in BatchSampler(sentences.sizes, max_nodes=max_nodes, shuffle=False):
        with run.fabric.autocast():
            graph = encoder.rollout(sentences.batch(ids).to(run.fabric.device)).graph
        operations = graph.on_host(graph.ndata[OPERATION]).numpy()
        learned.append(operations[operations != Operation.START])
        sizes.append(graph.sizes.numpy() - 1)
    recur_only = encoder.consume == "recur"
    found = Sequences(np.concatenate(learned), np.concatenate(sizes), recur_only)
    return PolicyTrees(sentences, found, _oracle(sentences), encoder.max_open)


def _oracle(sentences: Forest) -> Sequences | None:
    """Return the operations in the data; None if a sentence has none."""
    columns, sizes = sentences.columns, sentences.sizes
    if OPERATION in columns:
        operations = columns[OPERATION].astype(np.int64)
        oracle = Sequences(operations, sizes, recur_only=False)
    elif MERGES in columns:
        oracle = Sequences(*word_operations(columns[MERGES], columns[SPLITS], sizes), True)
    else:
        return None
    return None if (oracle.operations == Operation.START).any() else oracle


def _without_ends(sentences: Forest) -> Forest:
    """Remove the ``<eos>`` of each line, which is in no tree."""
    words = sentences.vocabs["word"]
    if END not in words:
        return sentences
    kept = sentences.columns["word"] != words.encode([END])[0]
    sizes = np.bincount(sentences.tree_of_node[kept], minlength=len(sentences))
    columns = {name: column[kept] for name, column in sentences.columns.items()}
    return chains(sizes, columns, sentences.vocabs)

r"""Whether new trees differ from those of training: categories, sizes, numbers and vectors.

A tree is rare if it has an unknown category, a size or a number outside the range of training, or a
vector far from those of training. If all n training trees and m new trees are from one
distribution, their order is random. Then the number of rare new trees is k or more with the
probability of Fisher's exact test,

.. math:: P(X \ge k), \quad X \sim \mathrm{Hypergeometric}(n + m,\ k + r,\ m)

where r is the number of training trees that are as rare. A difference is named if the probability
is below :data:`LEVEL`, divided by the number of tests (Bonferroni). For a ranker, n, m, k and r
count groups instead of trees.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import hypergeom
from sklearn.metrics import pairwise_distances_argmin_min

from dgltrees.tasks.custom_trees.ranks import RankTask
from dgltrees.tasks.splits import Splits
from dgltrees.training.files import read_tensors, write_tensors
from dgltrees.training.trained import TrainedModel
from dgltrees.trees import LabeledTrees, Vocabulary
from dgltrees.trees.schema import NUMBERS

LEVEL = 0.01
"""The probability of a warning if the trees are from the distribution of training."""

_REASONS = 4  # share the level equally, whatever the number of columns
_VECTORS = 200  # of training trees that are kept, and of validation trees
_SIDES = ("below", "above")
_FAR = 0.9  # the share of validation trees that are nearer than a tree that is far

Test = tuple[NDArray[np.bool_], NDArray[np.int64] | int, int, Sequence[str]]
"""Whether each tree is rare, ``(T, tests)``, r and n, and the end of the reason of each test."""


@dataclass(frozen=True)
class TrainingStatistics:
    """Statistics of training trees, with which new trees are compared.

    Arguments:
        values: arrays by name: ``count`` ``(1,)``, n; ``unknown`` ``(C,)``, r of each column of
            categories; ``sizes`` ``(2,)`` and ``numbers`` ``(2, K)``, the smallest and the largest;
            ``vectors`` ``(R, c)`` of some training trees, and ``distances`` ``(V,)`` from the
            nearest of these to validation trees, sorted.
    """

    values: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, run: TrainedModel, splits: Splits) -> TrainingStatistics:
        """Compute the statistics for a trained model and its examples."""
        data, valid = splits.train, splits.valid
        units, numbers = _units(run, data), np.asarray(data.forest.columns.get(NUMBERS, [[]]))
        of_nodes = np.repeat(units, np.diff(data.forest.offsets[:: data.arity]))
        least = run.settings.data.min_freq
        unknown = [
            _alone(np.asarray(data.forest.columns[name]), of_nodes, vocab, least)
            for name, vocab in _categories(run)
        ]
        low, high = np.fmin.reduce(numbers), np.fmax.reduce(numbers)
        values = {
            "count": np.array([units.max() + 1]),
            "unknown": np.array(unknown, np.int64),
            "sizes": np.array([data.sizes.min(), data.sizes.max()]),
            "numbers": np.stack([low, high]),
        }
        if valid is not None and not isinstance(run.task, RankTask):
            random = np.random.default_rng(0)
            vectors, held_out = (
                run.encode(part.select(random.permutation(len(part))[:_VECTORS]))
                for part in (data, valid)
            )
            values["vectors"] = vectors
            values["distances"] = np.sort(_distances(held_out, vectors))
        return cls(values)

    def save(self, path: Path) -> None:
        """Write the statistics to a file of tensors."""
        arrays = {name: values for name, values in self.values.items() if values.size}
        write_tensors(path, {name: torch.from_numpy(v) for name, v in arrays.items()}, {})

    @classmethod
    def load(cls, path: Path) -> TrainingStatistics:
        """Read the file of :meth:`save`."""
        return cls({name: tensor.numpy() for name, tensor in read_tensors(path)[0].items()})

    @contextmanager
    def compared(self, run: TrainedModel, data: LabeledTrees) -> Iterator[None]:
        """Warn if trees, whose outputs the body computes, differ from those of training."""
        roots: list[NDArray[Any]] = []

        def keep(module: Any, inputs: Any, encoding: Any) -> None:
            roots.append(encoding.roots.detach().float().cpu().numpy())

        # one tree beyond all V distances has the probability 1 / (V + 1), which is no reason
        several = len(data) > 1 and "vectors" in self.values
        handle = run.encoder.register_forward_hook(keep) if several else None
        try:
            yield
        finally:
            if handle is not None:
                handle.remove()
        vectors = np.concatenate(roots).reshape(len(data), -1) if roots else None
        if reasons := "; ".join(self.reasons(run, data, vectors)):
            warnings.warn(
                "the trees differ from the training trees, so that predictions may be less "
                f"accurate: {reasons}",
                stacklevel=6,
            )

    def reasons(
        self, run: TrainedModel, data: LabeledTrees, vectors: NDArray[Any] | None = None
    ) -> Iterator[str]:
        """Yield each difference of trees from the training trees that is not by chance.

        Arguments:
            run: the model.
            data: the trees.
            vectors: ``(T, c)`` their vectors, in any order; by default they are not compared.
        """
        units = _units(run, data)
        m = int(units.max()) + 1
        for rare, r, n, texts in self._tests(run, data, vectors):
            if not rare.any():
                continue
            k = np.array([len(np.unique(units[column])) for column in rare.T])
            p = hypergeom.sf(k - 1, n + m, k + r, m)
            for test in np.flatnonzero(p < LEVEL / _REASONS / len(k)).tolist():
                unit = "trees" if m == len(data) else "groups"
                yield f"{k[test]} of {m} {unit} {texts[test]}"

    def _tests(
        self, run: TrainedModel, data: LabeledTrees, vectors: NDArray[Any] | None
    ) -> Iterator[Test]:
        """Yield the tests of each reason."""
        values, columns, count = self.values, data.forest.columns, int(self.values["count"][0])
        first = data.forest.offsets[: -1 : data.arity]
        if categories := dict(_categories(run)):
            ids = np.stack([np.asarray(columns[name]) for name in categories], 1)
            unknown = ids == [_unknown_id(vocab) for vocab in categories.values()]
            texts = [f"have unknown categories in {name}" for name in categories]
            yield np.logical_or.reduceat(unknown, first), values["unknown"], count, texts
        sizes, (low, high) = data.sizes, values["sizes"]
        texts = [f"are {what} than all of training" for what in ("smaller", "larger")]
        yield np.stack([sizes < low, sizes > high], 1), 0, count, texts
        if NUMBERS in columns:
            numbers, (low, high) = np.asarray(columns[NUMBERS]), values["numbers"]
            outside = np.concatenate([numbers < low, numbers > high], 1)
            names = [each.name for each in run.vocabularies.numbers for _ in range(each.size)]
            texts = [
                f"have {name} {side} its range" for side in ("below", "above") for name in names
            ]
            yield np.logical_or.reduceat(outside, first), 0, count, texts
        if vectors is not None:
            distances = values["distances"]
            nearer = int(np.ceil(_FAR * len(distances)))
            far = _distances(vectors, values["vectors"]) > distances[nearer - 1]
            text = f"have vectors farther from those of training than {100 * _FAR:g} % of them"
            yield far[:, None], len(distances) - nearer, len(distances), [text]


def _units(run: TrainedModel, data: LabeledTrees) -> NDArray[np.int64]:
    """Return what is counted: the group of each tree for a ranker, otherwise each by itself."""
    return run.task.groups(data) if isinstance(run.task, RankTask) else np.arange(len(data))


def _categories(run: TrainedModel) -> Iterator[tuple[str, Vocabulary]]:
    """Yield the columns of categories that may be unknown, with their vocabularies."""
    schema = run.vocabularies
    for each in schema.inputs:
        if each.kind == "category" and schema[each.name].unknown is not None:
            yield each.name, schema[each.name]


def _unknown_id(vocab: Vocabulary) -> int:
    return int(vocab.encode([vocab.unknown])[0])


def _alone(ids: NDArray[Any], units: NDArray[np.int64], vocab: Vocabulary, least: int) -> int:
    """Return the number of units with a category that is unknown, or would be without the unit.

    Arguments:
        ids: ``(N,)`` the category of each node, -1 if it is missing.
        units: ``(N,)`` the unit of each node.
        vocab: the vocabulary of the column.
        least: the number of nodes from which on a category is known.
    """
    known = ids >= 0
    (unit, category), inside = np.unique(
        np.stack([units[known], ids[known]]), axis=1, return_counts=True
    )
    others = np.bincount(ids[known], minlength=len(vocab))[category] - inside
    return len(np.unique(unit[(others < least) | (category == _unknown_id(vocab))]))


def _distances(vectors: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Return the distance of each vector to the nearest of others, ``(T,)``."""
    return np.asarray(pairwise_distances_argmin_min(vectors, others)[1])

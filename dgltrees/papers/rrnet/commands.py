"""The command that compares the trees of a learned policy with gold trees."""

from __future__ import annotations

import json

from dgltrees.papers.rrnet.analyses import policy_trees
from dgltrees.settings import Count
from dgltrees.training.trained import load


def compare_trees(
    run: str,
    *,
    test: list[str] | None = None,
    dir: str | None = None,
    out: str | None = None,
    limit: Count = 10,
) -> None:
    """Compare the trees of a learned policy with gold trees: compare-trees DIR --test FILE.

    Prints precision, recall and F1 of brackets and shares of operations as one JSON object.

    Arguments:
        run: the run directory of a model with a policy.
        test: test files; by default the run's own, or what it has held out (data.test_fraction).
        dir: folder of the data sets; by default the run's.
        out: folder for pictures of trees, learned and gold; files in it stay as they are.
        limit: number of sentences to draw, at most.
    """
    trees = policy_trees(load(run), test=test, dir=dir)
    if out is not None:
        trees.draw(out, limit)
    print(json.dumps(trees.report()))

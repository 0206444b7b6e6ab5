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
        test: test files; default: those of the run, or its held-out part (data.test_fraction).
        dir: folder of the data sets; default: that of the run.
        out: folder for pictures of learned and gold trees; existing files are not overwritten.
        limit: largest number of sentences to draw.
    """
    trees = policy_trees(load(run), test=test, dir=dir)
    if out is not None:
        trees.draw(out, limit)
    print(json.dumps(trees.report()))

"""The laws of tasks, for symbols and running text under each kind of policy."""

# ruff: noqa: F403

import math
from typing import Any

import numpy as np

from dgltrees import LabeledTrees, TrainedModel
from tests.tasks.table import Lines, Row, accuracies, match
from tests.tasks.test_laws import *


def perplexities(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """The loss of a word and by the length of its sentence; the end of a line is a word."""
    words = np.array([line["words"] + 1 for line in lines])
    losses = np.array([-line["log_prob"] for line in lines])
    tens = np.minimum((words - 1) // 10 * 10, 30)
    by_length = {
        "30+" if ten == 30 else f"{ten}": math.exp(
            losses[tens == ten].sum() / words[tens == ten].sum()
        )
        for ten in np.unique(tens)
    }
    loss = losses.sum() / words.sum()
    found = {"loss": loss, "perplexity": math.exp(loss), "perplexity_by_length": by_length}
    return {**found, "words": words.sum(), "examples": len(lines)}


_LRT = {"valid": ["lrt/test0", "lrt/test3", "lrt/test12"]}
_TEXT = {"window": 9, "max_train_examples": 25}
_LOOP = {"batch_size": 6}
ROWS = [
    Row(
        "mee",
        accuracies,
        unlabel=match(r"^\d+\t"),
        texts=((["(1+2)", "17\t(3*4)", "7\t(1+2)"], None, 3),),
    ),
    Row("mee-lstm", accuracies),
    Row("mee-random", accuracies),
    Row("mee-reinforce", accuracies, learns="valid_loss"),
    Row("mee-semi-supervised-layer-norm", accuracies, learns="valid_loss"),
    Row("lrt-rrnet", accuracies, _LRT, unlabel=match(r"^\S+\t")),
    Row("lrt-lstm", accuracies, _LRT),
    Row("lrt-transformer", accuracies, _LRT),
    Row("ptb-small", perplexities, _TEXT, training=_LOOP),
    Row("ptb-small-lstm", perplexities, _TEXT, training=_LOOP),
    # Supervised, so that no value of a state is needed.
    Row("ptb-trees", perplexities, _TEXT, training=_LOOP, fixed=("policy.values",)),
]

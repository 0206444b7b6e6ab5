"""The laws of tasks, for sentences, pairs of them, and parses with classes at their nodes."""

# ruff: noqa: F403

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from dgltrees import LabeledTrees, TrainedModel
from tests.tasks.table import Lines, Row, accuracies, match
from tests.tasks.test_laws import *


def answers(run: TrainedModel, data: LabeledTrees, lines: Lines) -> dict[str, Any]:
    """Means over the questions that have an answer; some questions have none."""
    ranks, precisions, dropped = [], [], 0
    for question in {line["question"] for line in lines}:
        own = [line for line in lines if line["question"] == question]
        y = np.array([run.task.targets(data)[line["example"]] for line in own])
        if y.any():
            ranks.append(min(line["rank"] for line, right in zip(own, y) if right))
            precisions.append(average_precision_score(y, [-line["rank"] for line in own]))
        dropped += not y.any()
    found = {"map": np.mean(precisions), "mrr": np.mean(1 / np.array(ranks))}
    return {**found, "questions": len(ranks), "dropped": dropped, "examples": len(lines)}


_MRG = "( (S (NP (DT the) (NN story)) (VP (VBZ is) (ADJP (JJ hopeless))) (. .)) )"
_CONLLU = "\n".join(
    "\t".join([str(i), word, *"____", str(head), "_", "_", "_"])
    for i, word, head in ((1, "the", 2), (2, "story", 4), (3, "is", 4), (4, "hopeless", 0))
)
_SNLI = '{"sentence1": "A dog runs.", "sentence2": "An animal moves."}'
_IN_TREES = match(r"(?<=\()\d ")
ROWS = [
    Row(
        "sick",
        accuracies,
        unlabel=match(r"^\S+\t"),
        texts=(
            (["A dog runs.\tAn animal moves."], None, 1),
            ([_SNLI, _SNLI], None, 2),
            (["sentence1\tsentence2", "A dog runs.\tAn animal moves."], None, 1),
        ),
        errors=(("A dog runs.", None, "expected label TAB parse TAB parse"),),
    ),
    Row("sick-lstm", accuracies),
    Row("sick-overlap", accuracies),
    Row("sick-node-global", accuracies),
    Row("sick-node-global", accuracies, model={"attention": "tree"}, name="tree"),
    Row("sick-fullmatching-global", accuracies),
    Row(
        "sick-fullmatching-global",
        accuracies,
        name="map",
        model={"mask_pads": True, "score": "map"},
    ),
    Row("sick", accuracies, model={"encoder": "transformer"}, name="transformer"),
    Row(
        "wikiqa-small",
        answers,
        unlabel=match(r"\t[01]$"),
        texts=((["who ran ?\tA dog ran .", "who ran ?\tNobody ."], None, 2),),
    ),
    Row("wikiqa-small-lstm", answers),
    Row(
        "sst-phrases-small",
        accuracies,
        unlabel=_IN_TREES,
        unknown=False,
        texts=(
            (["The story isn't dull.", "Hopeless!"], None, 2),
            ([_MRG], "mrg", 1),
            ([_CONLLU, ""], "conllu", 1),
        ),
        equal={
            "mrg": ["(S (NP (DT the) (NN story)) (VP (VBZ is) (JJ hopeless) (-NONE- *-1)))"],
            "conllu": [_CONLLU, ""],
            "text": ["the story is hopeless"],
            "sst": ["((the) ((story) ((is) (hopeless))))"],
        },
    ),
    Row(
        "sst-tree",
        accuracies,
        unlabel=_IN_TREES,
        unknown=False,
        texts=(
            ([_MRG, _MRG], "mrg", 2),
            ([_MRG], None, 1),
            ([_CONLLU, ""], "conllu", 1),
            (["((the) ((story) (is)))"], "sst", 1),
        ),
        errors=(
            ("a fine film", "text", "expected a format of the task sst-tree, sst or"),
            ("(S (NN a) (NN b))", "sst", "the format mrg"),
        ),
    ),
]

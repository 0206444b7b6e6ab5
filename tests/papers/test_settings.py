"""Settings that the papers' tasks, or models of them, do not read are refused by name."""

from typing import Any

import pytest

from dgltrees.settings.tasks import TASKS
from tests.tasks.test_model_settings import assert_refused

_POLICY = {"operations": "policy"}
_NO_TREE = "has no effect with model.language_model sequence, but with tree; leave it out"

MODELS: list[tuple[str, dict[str, Any], str]] = [
    ("listops", {"readout": "leaf"}, "readout to be one of root, mean, attention,"),
    ("listops", {"digits": "binary"}, "digits to be one of thermometer, one_hot, g"),
    ("nli", {"encoder": "gru"}, "encoder to be one of nti, .*lstm, .*, got 'gru'"),
    ("nli", {"leaves": "gru"}, "leaves to be one of identity, linear, .*, got 'gru'"),
    ("nli", {"interaction": "some"}, "interaction to be one of none, .*, got 'some'"),
    (
        "nli",
        {"interaction": "matching", "attention": "self"},
        "attention to be one of global, tree, tree_code, got 'self'",
    ),
    ("nli", {"attention": "tree"}, "attention has no effect with model.interaction none, but"),
    ("nli", {"encoder": "lstm", "interaction": "matching"}, "interaction has no .* with nti"),
    ("mee", {"layers": 2}, "layers has no effect with model.encoder rrnet, but with lstm, bilstm"),
    (
        "mee",
        {"encoder": "lstm", "layer_norm": True},
        r"layer_norm .* lstm, but with (nti, )?rrnet; leav",
    ),
    (
        "mee",
        {"encoder": "lstm", "decoder_memory": "encoder"},
        "decoder_memory has no effect without model.encoder rrnet",
    ),
    ("mee", {"encoder": "gru"}, "encoder to be one of .*rrnet, lstm, .*, got 'gru'"),
    (
        "mee",
        {"policy": {"agent": "reinforce"}},
        "agent has no effect with model.policy.operations gold",
    ),
    ("mee", {"policy": {"supervised_fraction": 0.5}}, "supervised_fraction has .*ns gold, but"),
    ("mee", {"policy": {**_POLICY, "agent": "q"}}, "agent to be one of none, rein"),
    (
        "mee",
        {"policy": {**_POLICY, "agent": "reinforce", "discount": 1.5}},
        r"discount to be a number of at least 0 and at most 1, got 1\.5",
    ),
    (
        "mee",
        {"policy": {**_POLICY, "agent": "reinforce", "entrpy": 1.0}},
        r"entrpy has no effect in the task mee; did you mean model\.policy\.entropy",
    ),
    ("lrt-sequence", {"encoder": "gru"}, "encoder to be one of .*rrnet, .*, got 'gru'"),
    ("ptb", {"encoder": "nti"}, "encoder to be one of rrnet, lstm, got 'nti'"),
    (
        "ptb",
        {"policy": {"operations": "recur", "consume": "recur"}},
        "consume has no effect with model.policy.operations recur",
    ),
    ("ptb", {"policy": {"reward": "accuracy"}}, "reward to be one of likely, log_likelihood"),
    ("tree-lm", {"objective": "mle"}, "objective to be one of nll, nce, got 'mle'"),
    (
        "tree-lm",
        {"end": True},
        "end has no effect with model.language_model tree, but with sequence",
    ),
    ("tree-lm", {"stops": True, "language_model": "sequence"}, f"stops {_NO_TREE}"),
    ("tree-lm", {"labels": True, "language_model": "sequence"}, f"labels {_NO_TREE}"),
    ("tree-lm", {"noise": 3}, "noise has no effect with model.objective nll, but with nce"),
]
DATA: list[tuple[str, dict[str, Any], str]] = [
    ("sst-tree", {"supervise": "leaf"}, "supervise to be one of nodes, root, got 'leaf'"),
    ("nli", {"truncate": True}, r"truncate has no effect without data\.max_words"),
    (
        "nli",
        {"vocabulary_from_all_splits": True},
        r"vocabulary_from_all_splits has no effect without data\.vectors",
    ),
]
TRAINING: list[tuple[str, dict[str, Any], str]] = [
    ("listops", {"monitor": "f1"}, "monitor to be .*accuracy, loss, which the task listops rep"),
    ("wikiqa", {"monitor": "accuracy"}, "monitor to be .*one of map, mrr, loss, .* got 'accuracy'"),
    (
        "tree-lm",
        {"monitor": "accuracy"},
        "monitor to be .*one of perplexity, loss, joint_loss, .*'accuracy'",
    ),
    (
        "tree-lm",
        {"schedule": "halve"},
        "monitor to be .*loss or joint_loss with .* halve, got 'perplexity'",
    ),
    ("parser", {"monitor": "accuracy"}, "monitor to be .*one of las, uas, loss, .* got 'accuracy'"),
]
SECTIONS = {"model": MODELS, "data": DATA, "training": TRAINING}


@pytest.mark.parametrize(
    ("section", "task", "values", "message"),
    [(name, *row) for name, rows in SECTIONS.items() for row in rows if row[0] in TASKS],
)
def test_settings_that_do_not_go_together(
    section: str, task: str, values: dict[str, Any], message: str
) -> None:
    assert_refused(task, section, values, message)

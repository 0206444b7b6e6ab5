"""Settings that a task, or a model of it, does not read are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from dgltrees.errors import ConfigError
from dgltrees.training.settings import Settings

_POLICY = {"operations": "policy"}
_NO_TREE = "is not read with model.language_model sequence, but with tree; leave it out"


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        ("listops", {"readout": "leaf"}, "readout to be one of root, mean, attention, got"),
        ("listops", {"digits": "binary"}, "digits to be one of thermometer, one_hot, got"),
        ("sst-tree", {"readout": "mean"}, "readout is not read by the task sst-tree"),
        ("tree-lm", {"objective": "mle"}, "objective to be one of nll, nce, got 'mle'"),
        (
            "tree-lm",
            {"end": True},
            "end is not read with model.language_model tree, but with sequence",
        ),
        ("tree-lm", {"stops": True, "language_model": "sequence"}, f"stops {_NO_TREE}"),
        ("tree-lm", {"labels": True, "language_model": "sequence"}, f"labels {_NO_TREE}"),
        ("tree-lm", {"noise": 3}, "noise is not read with model.objective nll, but with nce"),
        ("snli", {"encoder": "gru"}, "encoder to be one of nti, rrnet, lstm, .*, got 'gru'"),
        ("snli", {"leaves": "gru"}, "leaves to be one of identity, linear, .*, got 'gru'"),
        ("snli", {"interaction": "some"}, "interaction to be one of none, .*, got 'some'"),
        (
            "snli",
            {"interaction": "matching", "attention": "self"},
            "attention to be one of global, tree, tree_code, got 'self'",
        ),
        ("snli", {"attention": "tree"}, "attention is not read with model.interaction none, but"),
        ("snli", {"encoder": "lstm", "interaction": "matching"}, "interaction is not .* with nti"),
        ("sst-phrases", {"interaction": "matching"}, "interaction is not read by the task sst-phr"),
        ("wikiqa", {"interaction": "node_by_node"}, "interaction is not read by the task wikiqa"),
        (
            "mee",
            {"layers": 2},
            "layers is not read with model.encoder rrnet, but with lstm, bilstm",
        ),
        (
            "mee",
            {"encoder": "lstm", "layer_norm": True},
            "layer_norm .* lstm, but with rrnet; leav",
        ),
        ("mee", {"encoder": "transformer", "layer_norm": True}, "layer_norm .* but with rrnet"),
        ("mee", {"encoder": "nti"}, "encoder to be one of rrnet, lstm, .*, got 'nti'"),
        (
            "mee",
            {"policy": {"agent": "dqn"}},
            "agent is not read with model.policy.operations given",
        ),
        ("mee", {"policy": {"supervised_fraction": 0.5}}, "supervised_fraction is .*ns given, but"),
        ("mee", {"policy": {**_POLICY, "agent": "q"}}, "agent to be one of none, rein"),
        (
            "mee",
            {"policy": {**_POLICY, "agent": "reinforce", "discount": 1.5}},
            r"discount to be a number of at least 0 and at most 1, got 1\.5",
        ),
        (
            "mee",
            {"policy": {**_POLICY, "agent": "reinforce", "entrpy": 1.0}},
            r"entrpy is not read by the task mee; did you mean model\.policy\.entropy",
        ),
        ("logic-sequence", {"encoder": "nti"}, "encoder to be one of rrnet, .*, got 'nti'"),
        ("ptb", {"encoder": "nti"}, "encoder to be one of rrnet, lstm, got 'nti'"),
        (
            "ptb",
            {"encoder": "lstm", "layer_norm": True},
            "layer_norm is not read with model.encoder lstm",
        ),
        (
            "ptb",
            {"policy": {"operations": "recur", "consume": "recur"}},
            "consume is not read with model.policy.operations recur",
        ),
        (
            "ptb",
            {"policy": {"supervised_fraction": 0.5}},
            "supervised_fraction is not read by the task ptb",
        ),
        ("ptb", {"policy": {"reward": "accuracy"}}, "reward to be one of likely, log_likelihood"),
        ("ptb", {"policy": {"agent": "dqn", "replay": 10}}, "replay is not read by the task ptb"),
    ],
)
def test_settings_of_models_that_do_not_go_together(
    task: str, model: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=rf"model\.(policy\.)?({message})"):
        Settings({"task": task, "model": model})


@pytest.mark.parametrize(
    ("task", "data", "message"),
    [
        ("listops", {"max_operators": 2}, r"data\.max_operators is not read by the task listops"),
        ("listops", {"valid_fraction": 1.5}, r"data\.valid_fraction to be a number of at least 0"),
        ("sst-tree", {"supervise": "leaf"}, r"supervise to be one of nodes, root, got 'leaf'"),
        ("snli", {"truncate": True}, r"data\.truncate is not read without data\.max_words"),
        (
            "snli",
            {"vocabulary_from_all_splits": True},
            r"data\.vocabulary_from_all_splits is not read without data\.vectors",
        ),
        ("snli", {"supervise": "root"}, r"data\.supervise is not read by the task snli"),
        ("ptb", {"lower": True}, r"data\.lower is not read by the task ptb"),
    ],
)
def test_settings_of_data_that_do_not_go_together(
    task: str, data: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings({"task": task, "data": data})


@pytest.mark.parametrize(
    ("task", "training", "message"),
    [
        ("listops", {"monitor": "f1"}, "accuracy, loss, which the task listops reports, got 'f1'"),
        ("tree-lm", {"monitor": "accuracy"}, "one of perplexity, loss, joint_loss, .*'accuracy'"),
        ("tree-lm", {"schedule": "halve"}, "loss or joint_loss with .* halve, got 'perplexity'"),
        ("parser", {"monitor": "accuracy"}, "one of las, uas, loss, .* got 'accuracy'"),
        ("wikiqa", {"monitor": "accuracy"}, "one of map, mrr, loss, .* got 'accuracy'"),
    ],
)
def test_only_a_metric_of_the_task_can_decide(
    task: str, training: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=rf"expected training\.monitor to be .*{message}"):
        Settings({"task": task, "training": training})

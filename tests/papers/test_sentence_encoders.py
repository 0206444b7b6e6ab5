"""Sentences of the paper nti under the encoder of the paper rrnet."""

from pathlib import Path

import pytest

from dgltrees.errors import ConfigError, TreeError
from dgltrees.settings.layers import Settings
from dgltrees.training.run import train
from dgltrees.training.trained import load

pytest.importorskip("dgltrees.papers.nti", reason="needs the paper nti")
pytest.importorskip("dgltrees.papers.rrnet", reason="needs the paper rrnet")

from tests.papers.rrnet.tasks.test_symbols import FILES, POLICIES, built, settings
from tests.papers.rrnet.test_analyses import assert_compared
from tests.training.samples import SAMPLES


@pytest.mark.parametrize("policy", ["random", "reinforce"])
def test_pairs_of_sentences_are_learned_without_operations(tmp_path: Path, policy: str) -> None:
    result = train(settings("nli", POLICIES[policy]), tmp_path / "run", bar=False)
    assert 0 <= result["valid"]["accuracy"] <= 1


def test_a_neural_tree_indexer_answers_with_a_sequence(tmp_path: Path) -> None:
    """Section 3 of Munkhdalai and Yu: the digits of a number, which an LSTM generates."""
    training = {
        "accelerator": "cpu",
        "epochs": 4,
        "batch_size": 16,
        "optimizer": "adam",
        "lr": 0.01,
    }
    files = {"dir": str(SAMPLES), **dict(zip(("train", "valid"), FILES["mee"]))}
    model = {"encoder": "nti", "hidden_size": 8, "embedding": 6, "leaves": "bilstm"}
    how = Settings({"task": "mee", "data": files, "model": model, "training": training})
    train(how, tmp_path / "run", bar=False)
    losses = [line["train_loss"] for line in load(tmp_path / "run").directory.metrics()]
    assert losses[-1] < losses[0]


def test_gold_operations_must_be_in_the_data(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="operations of every token; this model needs sente"):
        train(settings("nli"), tmp_path / "run", bar=False)


def test_fixed_operations_are_of_words_in_a_table() -> None:
    with pytest.raises(ConfigError, match="model.words table with random operations"):
        built(settings("nli", POLICIES["random"], model={"words": "pretrained"}))


def test_trees_over_the_words_of_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_compared(tmp_path, capsys, "sick-rrnet-supervised", "sick/SICK_trial_parsed.txt", True)

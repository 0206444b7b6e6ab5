"""Runs of a parser and of language models that have learned a few sentences."""

from pathlib import Path
from typing import Any

import pytest

from dgltrees.settings.layers import Settings
from dgltrees.training.run import train
from dgltrees.training.trained import TrainedModel, load
from tests.training.samples import SENTENCES


def _train(out: Path, values: dict[str, Any], **loop: Any) -> Path:
    """A run that has learned a few sentences."""
    data = {"train": str(SENTENCES), "valid": str(SENTENCES), "lower": True}
    shared = {"optimizer": "adam", "lr": 0.02, "batch_size": 2, "patience": None}
    training = {**shared, "accelerator": "cpu", **loop}
    train(Settings({**values, "data": data, "training": training}), out, bar=False)
    return out


@pytest.fixture(scope="session")
def parser_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a parser, trained once per session."""
    sizes = {"hidden_size": 16, "embedding": 8, "arc_size": 16, "label_size": 8, "layers": 1}
    values = {"task": "parser", "model": sizes}
    return _train(tmp_path_factory.mktemp("parser") / "run", values, epochs=25, monitor="las")


@pytest.fixture(scope="session")
def tree_lm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a language model over trees, trained once per session."""
    values = {"task": "tree-lm", "model": {"hidden_size": 8, "embedding": 4}}
    return _train(tmp_path_factory.mktemp("tree-lm") / "run", values, epochs=10, monitor="loss")


@pytest.fixture(scope="session")
def sequence_lm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a language model over sequences, trained once per session."""
    model = {"hidden_size": 8, "embedding": 4, "language_model": "sequence"}
    values = {"task": "tree-lm", "model": model}
    return _train(tmp_path_factory.mktemp("sequence-lm") / "run", values, epochs=10, monitor="loss")


@pytest.fixture
def parser(parser_run: Path) -> TrainedModel:
    return load(parser_run)


@pytest.fixture
def tree_lm(tree_lm_run: Path) -> TrainedModel:
    return load(tree_lm_run)


@pytest.fixture
def sequence_lm(sequence_lm_run: Path) -> TrainedModel:
    return load(sequence_lm_run)

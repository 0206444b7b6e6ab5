"""A parser and language models that have learned a few sentences, each trained once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from dgltrees.training.run import train
from dgltrees.training.settings import settings_from
from tests.training.samples import SENTENCES

_DATA = {"train": str(SENTENCES), "valid": str(SENTENCES), "lower": True}
_LOOP = {"optimizer": "adam", "epochs": 25, "batch_size": 2, "patience": None, "accelerator": "cpu"}
_PARSER = {"hidden_size": 16, "embedding": 8, "arc_size": 16, "label_size": 8, "layers": 1}


@pytest.fixture(scope="session")
def parser_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("parser") / "run"
    loop = {**_LOOP, "lr": 0.02, "monitor": "las"}
    train(
        settings_from({"task": "parser", "data": _DATA, "model": _PARSER, "training": loop}),
        out,
        bar=False,
    )
    return out


def _language_model(out: Path, **model: object) -> Path:
    loop = {**_LOOP, "lr": 0.02, "epochs": 10, "monitor": "loss"}
    sizes = {"hidden_size": 8, "embedding": 4, **model}
    train(
        settings_from({"task": "tree-lm", "data": _DATA, "model": sizes, "training": loop}),
        out,
        bar=False,
    )
    return out


@pytest.fixture(scope="session")
def tree_lm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _language_model(tmp_path_factory.mktemp("tree-lm") / "run")


@pytest.fixture(scope="session")
def sequence_lm_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sequence-lm") / "run"
    return _language_model(out, language_model="sequence")

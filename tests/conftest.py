"""Settings of all tests, and runs that the tests of several rooms put to use."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings

from dgltrees._dgl import dgl
from dgltrees.errors import ConfigError

# One thread a process: the suite runs on every core, and sums come out the same.
torch.set_num_threads(1)

settings.register_profile(
    "suite",
    deadline=None,
    max_examples=20,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("suite")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip a test that needs DGL, the reference, on a machine that does not have it."""
    try:
        return (yield)
    except (ConfigError, ImportError) as error:
        if dgl is None and ("needs DGL" in str(error) or getattr(error, "name", "") == "dgl"):
            pytest.skip("needs DGL")
        raise


@pytest.fixture(autouse=True, scope="session")
def _no_compiling() -> Generator[None, None, None]:
    """Compiling a cell takes longer than a test; ``tests/cells/compiled`` has those that do.

    Runs that tests of a module share do not compile either: they would draw other dropout.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dgltrees.cells.compiled.compiler.way.compiles", lambda like: False)
        yield


def pytest_runtest_teardown() -> None:
    """Training flushes numbers near zero in its process, and a test may end while it computes in
    double precision; the next one wants neither."""
    torch.set_flush_denormal(False)
    torch.set_default_dtype(torch.float32)


_SENTENCES = Path(__file__).parents[1] / "datasets" / "samples" / "ud" / "sample.conllu"


def _train(out: Path, values: dict[str, Any], **loop: Any) -> Path:
    """A run that has learned a few sentences."""
    from dgltrees.training.run import train
    from dgltrees.training.settings import Settings

    data = {"train": str(_SENTENCES), "valid": str(_SENTENCES), "lower": True}
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

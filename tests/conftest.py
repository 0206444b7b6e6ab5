"""Settings of all tests."""

import random
import sys
import warnings
from collections.abc import Generator

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

from dgltrees._dgl import dgl
from dgltrees.cells.compiled.kernels import storage
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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Laws of worlds, or of rows of a table, hold for those of the module.

    A paper imports the laws and has its own.
    """
    for table, name in (("WORLDS", "world"), ("ROWS", "row")):
        entries = getattr(metafunc.module, table, None)
        if entries is not None and name in metafunc.fixturenames:
            metafunc.parametrize(name, entries, ids=str, scope="module")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed what draws without a seed: a test's numbers do not depend on the tests before it."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


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

    Runs that tests of a module share do not compile either: they would draw other dropout. Large
    cells do not train in two threads, which would wait for the other processes of the suite.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dgltrees.training.run.LARGE_CELL", sys.maxsize)
        patch.setattr("dgltrees.cells.compiled.way.compiles", lambda like: False)
        yield


@pytest.fixture(autouse=True, scope="session")
def _compiled_code_is_kept(tmp_path_factory: pytest.TempPathFactory) -> Generator[None, None, None]:
    """Where the user's folder of compiled code cannot be used, a temporary one is."""
    with pytest.MonkeyPatch.context() as patch:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if storage.folder() is None:
                patch.setenv("NUMBA_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
                storage.folder.cache_clear()
        yield


def pytest_runtest_teardown() -> None:
    """Training flushes numbers near zero in its process, and a test may end while it computes in
    double precision; the next one wants neither."""
    torch.set_flush_denormal(False)
    torch.set_default_dtype(torch.float32)

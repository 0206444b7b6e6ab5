"""The backend of the traversals within models, which do not choose one."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dgltrees.traversal import run_cell


@contextmanager
def by_backend(backend: str) -> Iterator[None]:
    """Within the context, traversals that name no backend run by this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(run_cell.__kwdefaults__, "backend", backend)
        yield

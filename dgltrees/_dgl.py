"""The only module that imports DGL, which is optional.

DGL is imported when the name ``dgl`` is first used; with networkx, that takes a third of a second.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from dgltrees.errors import ConfigError

os.environ.setdefault("DGLBACKEND", "pytorch")

_REQUIRED = "'dgl>=1.1.3,<2' packaging" if sys.version_info < (3, 12) else "dgl==2.1.0"


def _replace_graphbolt() -> None:
    """Replace ``dgl.graphbolt`` by an empty module if it cannot be imported.

    DGL 2 imports graphbolt, its loader of large graphs, which is available only for a few versions
    of torch and torchdata. Without it DGL cannot be imported at all. It is not used here.
    """
    import torch

    spec = find_spec("dgl")
    if spec is None or not spec.origin:
        return
    folder, version = Path(spec.origin).parent / "graphbolt", torch.__version__.partition("+")[0]
    fits = any(folder.glob(f"*graphbolt_pytorch_{version}.*"))
    if folder.is_dir() and not (fits and find_spec("torchdata.datapipes")):
        sys.modules.setdefault("dgl.graphbolt", ModuleType("dgl.graphbolt", "Empty."))


with suppress(Exception):  # whoever uses DGL may import it
    _replace_graphbolt()


def __getattr__(name: str) -> Any:
    """Return the module DGL as ``dgl``, or None if it cannot be imported."""
    if name != "dgl":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _imported()[0]


@cache
def _imported() -> tuple[Any, str]:
    """Import DGL; return it, or None and the reason why it cannot be imported."""
    try:
        with warnings.catch_warnings():
            # DGL 1.1 imports with deprecation warnings that its users can do nothing about.
            warnings.simplefilter("ignore")
            import dgl
            import dgl.function
    except Exception as error:  # nothing else needs it: then it is None
        return None, f"{type(error).__name__}: {error}"
    return dgl, ""


def need_dgl(user: str) -> Any:
    """Import DGL and return the module."""
    dgl, failure = _imported()
    if dgl is None:
        raise ConfigError(
            f"{user} needs DGL, and importing it failed: {failure}. With Python 3.10 to 3.12 on "
            f"Linux: pip install {_REQUIRED}. Everything else works without DGL"
        )
    return dgl

"""The only module that imports DGL, which is optional."""

from __future__ import annotations

import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from dgltrees.errors import ConfigError

os.environ.setdefault("DGLBACKEND", "pytorch")

_failure = ""
_REQUIRED = "'dgl>=1.1.3,<2' packaging" if sys.version_info < (3, 12) else "dgl==2.1.0"


def _replace_graphbolt() -> None:
    """Put an empty module in the place of ``dgl.graphbolt`` where that cannot be imported.

    DGL 2 imports its loader of large graphs with itself, which exists for a few versions of torch
    and torchdata, and without which DGL cannot be imported at all. Nothing here uses it.
    """
    import torch

    spec = find_spec("dgl")
    if spec is None or not spec.origin:
        return
    folder, version = Path(spec.origin).parent / "graphbolt", torch.__version__.partition("+")[0]
    fits = any(folder.glob(f"*graphbolt_pytorch_{version}.*"))
    if folder.is_dir() and not (fits and find_spec("torchdata.datapipes")):
        sys.modules.setdefault("dgl.graphbolt", ModuleType("dgl.graphbolt", "Empty."))


try:
    with warnings.catch_warnings():
        # DGL 1.1 imports with deprecation warnings that its users can do nothing about.
        warnings.simplefilter("ignore")
        _replace_graphbolt()
        import dgl
        import dgl.function
except Exception as error:  # nothing else needs it: then it is None
    dgl, _failure = None, f"{type(error).__name__}: {error}"


def need_dgl(user: str) -> Any:
    """Import DGL and return the module.

    Arguments:
        user: what needs DGL, for the error message.

    Raises:
        ConfigError: DGL cannot be imported; the text says who needs it and how to install it.
    """
    if dgl is None:
        raise ConfigError(
            f"{user} needs DGL, and importing it failed: {_failure}. With Python 3.10 to 3.12 on "
            f"Linux: pip install {_REQUIRED}. All else works without"
        )
    return dgl

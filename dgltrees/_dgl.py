"""The only module that imports DGL, which is optional."""

from __future__ import annotations

import os
import warnings
from typing import Any

from dgltrees.errors import ConfigError

__all__ = ["dgl", "need_dgl"]

os.environ.setdefault("DGLBACKEND", "pytorch")

_failure = ""

try:
    with warnings.catch_warnings():
        # DGL 1.1 imports with deprecation warnings that its users can do nothing about.
        warnings.simplefilter("ignore")
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
            f"{user} needs DGL, and importing it failed: {_failure}. With Python 3.9 to 3.11 on "
            "Linux: pip install 'dgl>=1.1.3,<2' packaging. All else works without"
        )
    return dgl

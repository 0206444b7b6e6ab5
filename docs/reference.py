"""Write the reference of all public names from their docstrings: docs/reference.py FOLDER."""

from __future__ import annotations

import pkgutil
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pdoc

import dgltrees

warnings.simplefilter("error", UserWarning)  # pdoc's, for what it cannot read
# It looks for the names in an inherited annotation in the wrong module, then shows it as written.
warnings.filterwarnings("ignore", "Error parsing type annotation")

# Names of the package are imported when first asked for, and pdoc does not ask.
vars(dgltrees).update({name: getattr(dgltrees, name) for name in dgltrees.__all__})


def has_names(module: str) -> bool:
    """Whether a module says which names are public; pdoc adds all inside of one that does not."""
    return hasattr(import_module(module), "__all__")


modules = pkgutil.walk_packages(dgltrees.__path__, "dgltrees.")
rooms = [m.name for m in modules if m.ispkg or m.name.count(".") == 1]
rooms = [name for name in rooms if "._" not in name and has_names(name.rpartition(".")[0])]

pdoc.render.configure(docformat="restructuredtext", math=True, footer_text=dgltrees.__version__)
pdoc.pdoc("dgltrees", *rooms, "!dgltrees.cells.compiled", output_directory=Path(sys.argv[1]))

"""The site: pages, notebooks that are executed, and a reference generated from the code."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

NEEDED = {
    "furo": "furo",
    "matplotlib": "matplotlib",
    "myst_nb": "myst-nb",
    "sphinx-mathjax-offline": "sphinx-mathjax-offline",
}
missing = sorted(package for module, package in NEEDED.items() if find_spec(module) is None)
if missing:
    sys.exit(f"make docs needs {', '.join(missing)}; run: python -m pip install -e '.[docs]'")

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import generate  # noqa: E402

import dgltrees  # noqa: E402

project = "dgltrees"
author = "the authors of dgltrees"
version = release = dgltrees.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "results_table",
]
exclude_patterns = ["*.txt"]
root_doc = "index"
nitpicky = True

# Pages
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

# The reference
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
napoleon_custom_sections = [("Shapes", "notes_style")]
napoleon_use_admonition_for_examples = False

# HTML
html_theme = "furo"
html_title = "dgltrees"
html_show_copyright = False
html_copy_source = False
MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static/mathjax/tex-svg.js"
html_static_path = [str(MATHJAX)]
mathjax_path = MATHJAX.name


def setup(app: object) -> None:
    """Write the pages that are generated, before Sphinx looks for pages."""
    generate.write(DOCS)

"""The site: pages, notebooks that are executed, and a reference generated from the code."""

from __future__ import annotations

import os
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
    print(
        f"make docs needs {', '.join(missing)}; run: python -m pip install --editable '.[docs]'",
        file=sys.stderr,
        flush=True,
    )
    os._exit(2)  # Sphinx prints a traceback for any exception here

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import generate  # noqa: E402
import references  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from sphinx.config import Config  # noqa: E402
from sphinx.ext.napoleon.docstring import GoogleDocstring  # noqa: E402
from sphinx.util.inspect import TypeAliasForwardRef  # noqa: E402

import dgltrees  # noqa: E402

project = "dgltrees"
author = "the authors of dgltrees"
version = release = dgltrees.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
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
nb_execution_timeout = 1800
nb_merge_streams = True

# The reference
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_typehints_format = "short"
autodoc_type_aliases = {
    **references.NUMBERS,
    **{name: name for name in ("ArrayLike", "NDArray", "Trees")},
}
# Types of other libraries that are imported for the type checker only.
nitpick_ignore = [
    ("py:class", name) for name in ("Clade", "Data", "DGLGraph", "Fabric", "Mol", "Tree")
]
autosummary_generate = False
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88
add_module_names = True
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


# Napoleon reads the words before a colon as a type, but types are annotations here.
GoogleDocstring._consume_inline_attribute = references.attribute
GoogleDocstring._consume_returns_section = references.returns
# An alias is shown as ``int``, not as ``TypeAliasForwardRef('int')``, and may have an index.
TypeAliasForwardRef.__repr__ = lambda self: self.name
TypeAliasForwardRef.__getitem__ = references.indexed


def without_execution(app: Sphinx, config: Config) -> None:
    """Ignore that the language of code cells is unknown until they are executed."""
    if config.nb_execution_mode == "off":
        config.suppress_warnings += ["myst-nb.lexer", "misc.highlighting_failure"]


def setup(app: Sphinx) -> None:
    """Write the pages that are generated, before Sphinx looks for pages."""
    generate.write()
    app.connect("config-inited", without_execution)
    app.connect("missing-reference", references.resolve)
    app.connect("object-description-transform", references.plain_types, priority=400)
    app.connect("autodoc-process-docstring", references.arguments, priority=400)

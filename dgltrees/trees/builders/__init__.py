"""Forests of Python objects, documents, source code and sequences."""

from dgltrees.trees.builders.bracketed import from_brackets, to_brackets
from dgltrees.trees.builders.chains import chains
from dgltrees.trees.builders.dot import to_dot
from dgltrees.trees.builders.elements import from_elements
from dgltrees.trees.builders.graphs import from_dgl, from_pyg
from dgltrees.trees.builders.heads import from_heads
from dgltrees.trees.builders.json_documents import JSON_KINDS, from_json
from dgltrees.trees.builders.molecules import from_molecules
from dgltrees.trees.builders.nested import from_nested
from dgltrees.trees.builders.networkx import from_networkx, to_networkx
from dgltrees.trees.builders.newick import from_newick
from dgltrees.trees.builders.nltk_trees import from_nltk, to_nltk
from dgltrees.trees.builders.objects import from_objects, to_objects
from dgltrees.trees.builders.parses import from_parses
from dgltrees.trees.builders.python_source import from_python
from dgltrees.trees.builders.tables import from_table
from dgltrees.trees.builders.tree_sitter_trees import from_tree_sitter
from dgltrees.trees.builders.xml_documents import from_xml

__all__ = [
    "JSON_KINDS",
    "chains",
    "from_brackets",
    "from_dgl",
    "from_elements",
    "from_heads",
    "from_json",
    "from_molecules",
    "from_nested",
    "from_networkx",
    "from_newick",
    "from_nltk",
    "from_objects",
    "from_parses",
    "from_pyg",
    "from_python",
    "from_table",
    "from_tree_sitter",
    "from_xml",
    "to_brackets",
    "to_dot",
    "to_networkx",
    "to_nltk",
    "to_objects",
]

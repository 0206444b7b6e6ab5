"""Forests from Python objects, documents, source code and sequences, and conversions back."""

from dgltrees.trees.builders.brackets import from_brackets, to_brackets
from dgltrees.trees.builders.code import from_python, from_tree_sitter
from dgltrees.trees.builders.graphs import from_dgl, from_pyg, to_pyg
from dgltrees.trees.builders.markup import from_xml
from dgltrees.trees.builders.nested import JSON_KINDS, from_json, from_nested
from dgltrees.trees.builders.networkx import from_networkx, to_networkx
from dgltrees.trees.builders.nltk_trees import from_nltk, to_nltk
from dgltrees.trees.builders.objects import from_objects, to_objects
from dgltrees.trees.builders.sentences import chains, from_heads, from_parses
from dgltrees.trees.builders.tables import from_table
from dgltrees.trees.layout import nest_nodes

__all__ = [
    "JSON_KINDS",
    "chains",
    "from_brackets",
    "from_dgl",
    "from_heads",
    "from_json",
    "from_nested",
    "from_networkx",
    "from_nltk",
    "from_objects",
    "from_parses",
    "from_pyg",
    "from_python",
    "from_table",
    "from_tree_sitter",
    "from_xml",
    "nest_nodes",
    "to_brackets",
    "to_networkx",
    "to_nltk",
    "to_objects",
    "to_pyg",
]

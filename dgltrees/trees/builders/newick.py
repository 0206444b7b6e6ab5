"""Forests of phylogenetic trees: Newick, and the clades of Biopython."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import StringIO
from typing import TYPE_CHECKING, Any

from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.builders.objects import from_objects
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from Bio.Phylo.BaseTree import Clade, Tree


def from_newick(
    *trees: str | Clade | Tree,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """A forest of phylogenetic trees, nodes in preorder.

    Node columns: ``label``, the name of a clade, -1 without one; ``length``, that of the branch
    above it, and ``support``, the number that Newick has in the place of the name of an inner node,
    both NaN where there is none; ``comment``, that in square brackets, if there is one at all.

    Arguments:
        trees: texts in Newick, each of one tree per line, which Biopython reads; or ``Clade`` and
            ``Tree`` of ``Bio.Phylo``.
        vocabs: vocabularies of ``label`` and ``comment`` to use.

    Raises:
        TreeError: a text is not Newick, or there is no tree; with tree and node: a name is not in
            a frozen vocabulary.
        ConfigError: there is a text, and no Biopython.
    """
    roots = [root for tree in trees for root in _roots(tree)]
    columns = {"label": "name", "length": "branch_length", "support": "confidence"}
    if "comment" in (vocabs or {}) or any(
        getattr(clade, "comment", None) for root in roots for clade in root.find_clades()
    ):
        columns["comment"] = "comment"
    return from_objects(
        roots,
        "clades",
        columns,
        vocabs=vocabs,
        kinds={"label": "name", "length": "number", "support": "number"},
    )


def _roots(tree: Any) -> Iterator[Any]:
    if not isinstance(tree, str):
        yield getattr(tree, "root", tree)
        return
    try:
        from Bio import Phylo
        from Bio.Phylo.NewickIO import NewickError
    except ImportError:
        raise ConfigError(
            "expected Biopython for text in Newick, got none; "
            "pip install 'dgltrees[newick]' installs it"
        ) from None
    read: Any = Phylo.read
    for number, line in enumerate(tree.splitlines(), 1):
        if line.strip():
            try:
                yield read(StringIO(line), "newick").root
            except (NewickError, ValueError) as error:
                raise TreeError(f"expected a tree in Newick, got: {error}", line=number) from None

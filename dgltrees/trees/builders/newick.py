"""Forests from phylogenetic trees: Newick, and the clades of Biopython."""

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
    *trees: str | Clade | Tree, vocabs: Mapping[str, Vocabulary] | None = None
) -> Forest:
    """Build a forest from phylogenetic trees, nodes in preorder.

    Node columns: ``label``, the name of a clade, -1 without a name; ``length``, the length of the
    branch above it, and ``support``, the number in place of the name of an inner node, both NaN if
    missing; ``comment``, the text in square brackets, if any tree has comments.

    Arguments:
        trees: strings in the Newick format, one tree per line, which are parsed by Biopython; or
            ``Clade`` and ``Tree`` of ``Bio.Phylo``.
        vocabs: vocabularies of ``label`` and ``comment`` to use.

    Returns:
        the forest.

    Raises:
        TreeError: a string is not Newick, there is no tree, or a name is not in a frozen
            vocabulary.
        ConfigError: an argument is a string, and Biopython is not installed.

    Example:
        >>> import Bio
        >>> from_newick("(a:1,b:2)c;").columns["length"]
        array([nan,  1.,  2.])
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
            "missing Biopython, which parses Newick; install it with pip install 'dgltrees[newick]'"
        ) from None
    read: Any = Phylo.read
    for number, line in enumerate(tree.splitlines(), 1):
        if line.strip():
            try:
                yield read(StringIO(line), "newick").root
            except (NewickError, ValueError) as error:
                raise TreeError(f"expected a tree in Newick, got: {error}", line=number) from None

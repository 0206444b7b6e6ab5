"""Forests from molecules of RDKit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from dgltrees.errors import TreeError
from dgltrees.trees.builders.networkx import from_networkx
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx
    from rdkit.Chem import Mol


def from_molecules(
    *molecules: Mol,
    root: int = 0,
    junction: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a forest from molecules: one tree each, with one of its atoms at the root.

    By default atoms are nodes, in their order, and a molecule must have no rings. Node columns:
    ``label``, the symbol of the element; ``bond``, the type of the bond to the parent, such as
    ``DOUBLE``, -1 at the root; ``charge`` and ``hydrogens``, the formal charge and the number of
    hydrogen atoms that are not nodes.

    With ``junction`` the tree is the junction tree of Jin, Barzilay & Jaakkola, "Junction Tree
    Variational Autoencoder for Molecular Graph Generation" (ICML 2018, section 2.1). Its nodes are
    the rings (merged if they share more than two atoms), the bonds outside of rings, and the atoms
    in which three or more of these meet. Its edges are a maximum spanning tree by the number of
    shared atoms. Node columns: ``label``, the SMILES of the part; ``atoms``, the number of its
    atoms.

    Isotopes and stereochemistry are ignored.

    Arguments:
        molecules: ``rdkit.Chem.Mol`` objects.
        root: the atom at the root; in a junction tree the root is the first part with that atom.
        junction: whether parts of the molecule are nodes, instead of atoms.
        vocabs: vocabularies of ``label`` and ``bond`` to use.

    Returns:
        the forest.

    Raises:
        TreeError: a molecule is None, has no atom ``root`` or several fragments, or has rings while
            ``junction`` is False; or a name is not in a frozen vocabulary.

    Example:
        >>> from rdkit import Chem
        >>> from_molecules(Chem.MolFromSmiles("CC=O")).vocabs["bond"].names
        ['SINGLE', 'DOUBLE']
    """
    graphs = []
    for tree, molecule in enumerate(molecules):
        try:
            _check(molecule, root)
            graphs.append(_parts(molecule, root) if junction else _atoms(molecule, root))
        except TreeError as error:
            raise TreeError(error.message, tree=tree) from None
    vocabs = vocabs or {}
    if not junction:
        vocabs = {"bond": Vocabulary(), **vocabs}
    return from_networkx(*graphs, vocabs=vocabs)


def _check(molecule: Mol | None, root: int) -> None:
    if molecule is None:
        raise TreeError("expected a molecule, got None, RDKit's result for invalid input")
    if not 0 <= root < molecule.GetNumAtoms():
        raise TreeError(f"expected an atom {root} as root, got {molecule.GetNumAtoms()} atoms")
    from rdkit.Chem import GetMolFrags

    fragments = len(GetMolFrags(molecule))
    if fragments > 1:
        raise TreeError(
            f"expected a connected molecule, got {fragments} fragments; "
            "GetMolFrags(molecule, asMols=True) splits it"
        )


def _atoms(molecule: Mol, root: int) -> networkx.DiGraph:
    """Return a tree whose nodes are the atoms, in their order."""
    import networkx

    rings = molecule.GetNumBonds() - molecule.GetNumAtoms() + 1
    if rings:
        raise TreeError(
            f"expected a molecule without rings, got one with {rings}; "
            "junction=True makes a tree of its rings and bonds"
        )
    graph = networkx.Graph()
    for atom in molecule.GetAtoms():
        graph.add_node(
            atom.GetIdx(),
            label=atom.GetSymbol(),
            charge=atom.GetFormalCharge(),
            hydrogens=atom.GetTotalNumHs(),
        )
    for bond in molecule.GetBonds():
        ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        graph.add_edge(*ends, bond=str(bond.GetBondType()))
    return _rooted(graph, root)


def _parts(molecule: Mol, root: int) -> networkx.DiGraph:
    """Return a tree whose nodes are the parts of the junction tree."""
    import networkx
    from rdkit.Chem import GetSymmSSSR, MolFragmentToSmiles

    rings = [set(ring) for ring in GetSymmSSSR(molecule)]
    bonds = [
        {bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()}
        for bond in molecule.GetBonds()
        if not bond.IsInRing()
    ]
    parts = _joined(rings) + bonds
    of_atom: list[list[int]] = [[] for _ in range(molecule.GetNumAtoms())]
    for number, part in enumerate(parts):
        for atom in part:
            of_atom[atom].append(number)
    graph = networkx.Graph()
    for atom, numbers in enumerate(of_atom):
        if len(numbers) == 0 or len(numbers) > 2:  # a single atom, or one where many parts meet
            parts.append({atom})
            most = molecule.GetNumAtoms()  # such an edge is always in the spanning tree
            graph.add_edges_from((len(parts) - 1, number, {"weight": most}) for number in numbers)
        elif len(numbers) == 2:
            graph.add_edge(*numbers, weight=len(parts[numbers[0]] & parts[numbers[1]]))
    for number, part in enumerate(parts):
        label = MolFragmentToSmiles(molecule, sorted(part), isomericSmiles=False)
        graph.add_node(number, label=label, atoms=len(part))
    tree = networkx.maximum_spanning_tree(graph)
    for _, _, data in tree.edges(data=True):
        del data["weight"]
    return _rooted(tree, next(number for number, part in enumerate(parts) if root in part))


def _joined(rings: Sequence[set[int]]) -> list[set[int]]:
    """Merge rings that share more than two atoms."""
    import networkx

    joined = networkx.Graph()
    joined.add_nodes_from(range(len(rings)))
    pairs = combinations(range(len(rings)), 2)
    joined.add_edges_from((a, b) for a, b in pairs if len(rings[a] & rings[b]) > 2)
    groups = networkx.connected_components(joined)
    return [set().union(*(rings[ring] for ring in group)) for group in groups]


def _rooted(graph: Any, root: int) -> networkx.DiGraph:
    """Return a tree with its edges directed away from the root; nodes are in their order."""
    import networkx

    tree = networkx.DiGraph()
    tree.add_nodes_from(sorted(graph.nodes(data=True)))
    tree.add_edges_from((*edge, graph.edges[edge]) for edge in networkx.bfs_edges(graph, root))
    return tree

"""Forests of the molecules of RDKit."""

from typing import Any

import pytest

from dgltrees import TreeError
from dgltrees.trees.builders import from_molecules
from tests.trees.nested import names_of

Chem: Any = pytest.importorskip("rdkit.Chem", reason="needs RDKit")


def test_atoms() -> None:
    forest = from_molecules(*map(Chem.MolFromSmiles, ("CC(=O)[O-]", "N")))
    assert forest.parent.tolist() == [-1, 0, 1, 1, -1]
    assert names_of(forest, "label") == ["C", "C", "O", "O", "N"]
    assert names_of(forest, "bond") == [None, "SINGLE", "DOUBLE", "SINGLE", None]
    assert forest.columns["charge"].tolist() == [0, 0, 0, -1, 0]
    assert forest.columns["hydrogens"].tolist() == [3, 0, 0, 0, 3]
    turned = from_molecules(Chem.MolFromSmiles("CC(=O)[O-]"), root=2)
    assert turned.parent.tolist() == [1, 2, -1, 1]
    assert names_of(turned, "bond") == ["SINGLE", "DOUBLE", None, "SINGLE"]


@pytest.mark.parametrize(
    ("smiles", "parts", "edges"),
    [
        ("C", ["C"], 0),
        ("CC", ["CC"], 0),
        ("Cc1ccccc1", ["c1ccccc1", "cC"], 1),
        ("c1ccc2ccccc2c1", ["c1ccccc1", "c1ccccc1"], 1),  # naphthalene: two rings that share a bond
        ("CC(C)C", ["C", "CC", "CC", "CC"], 3),  # three bonds meet at an atom
        ("C1CC2CCC1C2", ["C1CC2CCC1C2"], 0),  # norbornane: rings that share three atoms
        ("C1CCC2(CC1)CC2", ["C1CC1", "C1CCCCC1"], 1),  # spiro: two rings at one atom
    ],
)
def test_junction_trees(smiles: str, parts: list[str], edges: int) -> None:
    forest = from_molecules(Chem.MolFromSmiles(smiles), junction=True)
    assert sorted(map(str, names_of(forest, "label"))) == sorted(parts)
    assert forest.num_nodes - 1 == edges


def test_every_atom_is_in_a_connected_part_of_the_junction_tree() -> None:
    smiles = ["CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C1=CC2=CC=CC3=CC=CC1=C23"]
    forest = from_molecules(*map(Chem.MolFromSmiles, smiles), junction=True)
    assert len(forest) == 3
    for tree, text in zip(forest, smiles):
        shared = tree.columns["atoms"].sum() - Chem.MolFromSmiles(text).GetNumAtoms()
        assert shared >= tree.num_nodes - 1


@pytest.mark.parametrize(
    ("molecule", "arguments", "message"),
    [
        (None, {}, "tree 1: expected a molecule, got None, RDKit's result for invalid"),
        ("", {}, "tree 1: expected an atom 0 as root, got 0 atoms"),
        ("CC", {"root": 1}, "tree 0: expected an atom 1 as root, got 1 atoms"),
        ("[Na+].[Cl-]", {}, "tree 1: expected a connected molecule, got 2 fragments; GetMolFrags"),
        ("C1CC1", {}, "tree 1: expected a molecule without rings, got one with 1; junction=True"),
    ],
)
def test_bad_molecules(molecule: Any, arguments: dict[str, Any], message: str) -> None:
    read = None if molecule is None else Chem.MolFromSmiles(molecule)
    with pytest.raises(TreeError) as caught:
        from_molecules(Chem.MolFromSmiles("C"), read, **arguments)
    assert str(caught.value).startswith(message)

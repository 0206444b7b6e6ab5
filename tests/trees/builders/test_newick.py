"""Forests of phylogenetic trees."""

import sys
from typing import Any

import numpy as np
import pytest

from dgltrees import ConfigError, TreeError
from dgltrees.trees.builders import from_newick
from tests.trees.nested import names_of

Phylo: Any = pytest.importorskip("Bio.Phylo", reason="needs Biopython")


def test_text_and_clades() -> None:
    text = "((A:0.1,'B c':2)90:1,C)r;"
    clade = Phylo.BaseTree.Clade(name="x", clades=[Phylo.BaseTree.Clade(branch_length=3)])
    forest = from_newick(text + "\n\n(D,E);", clade, Phylo.BaseTree.Tree(clade))
    assert forest.sizes.tolist() == [5, 3, 2, 2]
    assert forest.parent.tolist()[:5] == [-1, 0, 1, 1, 0]
    assert names_of(forest, "label")[:5] == ["r", None, "A", "B c", "C"]
    nan = np.nan
    np.testing.assert_array_equal(forest.columns["length"][:5], [nan, 1, 0.1, 2, nan])
    np.testing.assert_array_equal(forest.columns["support"][:5], [nan, 90, nan, nan, nan])
    assert list(forest.columns) == ["label", "length", "support"]
    assert names_of(from_newick("(A[x],B);"), "comment") == [None, "x", None]


def test_a_tree_without_names_and_lengths() -> None:
    forest = from_newick("(,(,));")
    assert names_of(forest, "label") == [None] * 5
    assert np.isnan(forest.columns["length"]).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(A,B);\n((A,B);", "line 2: expected a tree in Newick, got: "),
        ("\n", "expected at least one tree, got none"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_newick(text)
    assert str(caught.value).startswith(message)


def test_without_biopython(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Bio", None)
    with pytest.raises(ConfigError, match=r"missing Biopython, .* install 'dgltrees\[newick\]'"):
        from_newick("(A,B);")

"""Forests of the syntax trees of tree-sitter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dgltrees import TreeError, Vocabulary
from dgltrees.trees.builders import from_tree_sitter
from tests.trees.nested import names_of

tree_sitter = pytest.importorskip("tree_sitter", reason="needs tree-sitter")


def parse(language: str, source: str) -> Any:
    module = f"tree_sitter_{language}"
    grammar = pytest.importorskip(module, reason=f"needs {module}").language()
    return tree_sitter.Parser(tree_sitter.Language(grammar)).parse(source.encode())


@pytest.mark.parametrize("language", ["python", "javascript"])
@pytest.mark.parametrize("named_only", [False, True])
def test_all_nodes_of_a_tree(language: str, named_only: bool) -> None:
    trees = [parse(language, "é = [1, b]\nf(é)\n"), parse(language, "")]
    forest = from_tree_sitter(*trees, named_only=named_only)
    expected: list[Any] = []

    def visit(node: Any, up: int, field: Any) -> None:
        at = len(expected)
        names = (node.type, field)
        places = (node.start_point.row + 1, node.start_point.column, node.start_byte, node.end_byte)
        expected.append((up, *names, *places))
        for i, child in enumerate(node.children):
            if child.is_named or not named_only:
                visit(child, at, node.field_name_for_child(i))

    for tree in trees:
        start = len(expected)
        visit(tree.root_node, -1, None)
        shift = [(up if up < 0 else up - start, *rest) for up, *rest in expected[start:]]
        expected[start:] = shift
    columns = [forest.columns[name].tolist() for name in ("line", "column", "start", "end")]
    names = [names_of(forest, name) for name in ("label", "field")]
    assert list(zip(forest.parent.tolist(), *names, *columns)) == expected
    values = dict(zip(names[0], names_of(forest, "value")))
    assert values["identifier"] == "é"
    assert values["module" if language == "python" else "program"] in (None, "")


def test_what_does_not_parse_and_an_unknown_name() -> None:
    forest = from_tree_sitter(parse("python", "def (").root_node)
    assert "ERROR" in names_of(forest, "label")
    known = {"label": Vocabulary(["module"], frozen=True)}
    with pytest.raises(TreeError, match=r"^f\.py: tree 0, node 1: expected one of the 1"):
        from_tree_sitter(parse("python", "f(1, 2, 3)"), vocabs=known, file="f.py")


def test_deep_and_wide() -> None:
    wide = from_tree_sitter(parse("python", "[" + "1," * 50_000 + "]"), named_only=True)
    assert wide.degree.max() == 50_000
    deep = from_tree_sitter(parse("javascript", "(" * 1_000 + "1" + ")" * 1_000))
    assert deep.depths.max() > 1_000
    np.testing.assert_array_equal(deep.sizes, [deep.num_nodes])

"""Forests of source code, against the module ast and the cursors of tree-sitter."""

import ast
import inspect
import sys
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dgltrees import TreeError, Vocabulary
from dgltrees.trees.builders import from_python, from_tree_sitter
from dgltrees.trees.columns import words_of
from tests.trees.nested import names_of

SOURCE = '''
def f(x, *, y=2):
    """Text."""
    global a, b
    from m import n as k
    return {**x, "a": x.b + True, 1: None, 2: -1.5j}
'''


def test_a_function_by_hand() -> None:
    forest = from_python(SOURCE)
    rows = list(zip(*(names_of(forest, name) for name in ("label", "field", "value"))))
    assert rows[:10] == [
        ("Module", None, None),
        ("FunctionDef", "body", "f"),
        ("arguments", "args", None),
        ("arg", "args", "x"),
        ("arg", "kwonlyargs", "y"),
        ("Constant", "kw_defaults", "2"),
        ("Expr", "body", None),
        ("Constant", "value", "'Text.'"),
        ("Global", "body", "a, b"),
        ("ImportFrom", "body", "m"),
    ]
    mapping = rows.index(("Dict", "value", None))
    below = [i for i in range(len(rows)) if forest.parent[i] == mapping]
    assert [rows[i][1] for i in below] == ["keys"] * 3 + ["values"] * 4
    assert forest.pos[below].tolist() == [1, 2, 3, 4, 5, 6, 7]  # ** has no key
    assert ("Constant", "right", "True") in rows
    assert ("Constant", "values", "None") in rows


def test_patterns_of_constants_differ() -> None:
    source = "match x:\n    case True: pass\n    case None: pass\n"
    assert {"True", "None"} <= set(names_of(from_python(source), "value"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("import a", "import a as b"),
        ("from . import a", "from .. import a"),
        ("from b import a", "from .b import a"),
        ("match x:\n case P(a=0): pass", "match x:\n case P(b=0): pass"),
        ("f'{x!r}'", "f'{x}'"),
        ("[x for x in y]", "[x async for x in y]"),
        ("x = '1'", "x = 1"),
        ("x = 'a\\n'", r"x = 'a\\n'"),
        ("x = b'a'", "x = 'a'"),
    ],
)
def test_programs_that_differ_have_other_trees(one: str, other: str) -> None:
    assert names_of(from_python(one), "value") != names_of(from_python(other), "value")


@pytest.mark.parametrize("text", ["not found\n", "a\tb", "it's", "\N{EM DASH} x", "a\\nb"])
def test_the_words_of_a_string_are_those_of_its_text(text: str) -> None:
    value = names_of(from_python(f"log({text!r})"), "value")[-1]
    assert value is not None
    assert words_of(value) == words_of(f"'{text}'")


def test_a_whole_module_has_the_nodes_of_ast() -> None:
    source = inspect.getsource(ast)
    forest = from_python(source, "x")
    nodes = [n for n in ast.walk(ast.parse(source)) if not isinstance(n, ast.expr_context)]
    assert forest.sizes[0] == len(nodes)
    labels = names_of(forest.tree(0), "label")
    assert Counter(labels) == Counter(type(node).__name__ for node in nodes)


def test_wide_sources_and_large_numbers() -> None:
    forest = from_python("[" + ",".join("1" * 100_000) + "]", "x = 0x" + "f" * 5000)
    assert forest.degree.max() == 100_000
    assert names_of(forest, "value")[-1] == "0x" + "f" * 5000


def test_warnings_of_the_source_are_not_shown() -> None:
    assert from_python(r"x = '\d' is 1").num_nodes > 3


DEEP = "f.py: tree 1: expected source that Python's parser can read, got one nested too deep for it"
RECURSIVE = pytest.mark.skipif(sys.version_info < (3, 11), reason="this parser adds in a loop")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("+".join("1" * 100_000), DEEP, marks=RECURSIVE),
        ("-" * 100_000 + "1", DEEP),
        ("(" * 100_000 + "1" + ")" * 100_000, "f.py:1: tree 1: expected Python source, got:"),
        ("x = 1\ny = = 2\n", "f.py:2: tree 1: expected Python source, got: invalid syntax"),
        ("x\0", "f.py:1: tree 1: expected Python source, got: "),
        ("file.py", "f.py: tree 1: expected Python source, got 'file.py'; dgltrees.read reads"),
        (" ../a/b-c.pyi\n", "f.py: tree 1: expected Python source, got ' ../a/b-c.pyi"),
        ("~/x.y.pyw", "f.py: tree 1: expected Python source, got '~/x.y.pyw'; dgltrees.read"),
        (["x", "y"], 'tree 1: expected source code or a node of ast, got ["x", "y"]'),
    ],
)
def test_bad_sources(source: Any, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_python("x", source, file="f.py")
    assert str(caught.value).startswith(message)


def test_a_node_of_ast_that_contains_itself() -> None:
    loop = ast.Tuple([ast.Constant(1)], ast.Load())
    loop.elts.append(loop)
    with pytest.raises(TreeError, match=r"^tree 0, node 2: .* contains itself \(a cycle\)"):
        from_python(loop)


def parse(language: str, source: str) -> Any:
    tree_sitter = pytest.importorskip("tree_sitter", reason="needs tree-sitter")
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


@pytest.mark.parametrize(
    ("language", "source", "texts"),
    [
        ("python", r'x = "delete all\n"', ["delete all"]),
        ("python", r"x = f'a{{ b{y:>{w}}' # a note", ["a", " b", ">"]),
        ("python", r"""x = b'\x00 \'quoted\' end'""", [" ", "quoted", " end"][1:]),
        ("python", "x = 1 + \\\n  2", []),
        ("javascript", r"x = 'a\n b' // note", []),  # this grammar has nodes for the text
    ],
)
@pytest.mark.parametrize("named_only", [False, True])
def test_no_text_of_the_source_is_lost(
    language: str, source: str, texts: list[str], named_only: bool
) -> None:
    forest = from_tree_sitter(parse(language, "# é\n" + source), named_only=named_only)
    is_text = [name == "#text" for name in names_of(forest, "label")]
    assert [v for v, kept in zip(names_of(forest, "value"), is_text) if kept] == texts
    data = ("# é\n" + source).encode()
    starts, ends = (forest.columns[name].tolist() for name in ("start", "end"))
    assert [data[a:b].decode() for a, b, kept in zip(starts, ends, is_text) if kept] == texts
    leaves = sorted((a, b) for a, b, d in zip(starts, ends, forest.degree) if not d)
    assert (
        named_only
        or not "".join(data[b:a].decode() for (_, b), (a, _) in pairwise([(0, 0), *leaves])).strip()
    )


@pytest.mark.parametrize("tree", [b"x", "x = 1", None, [1], ast.parse("x")])
def test_what_is_no_tree_of_tree_sitter(tree: Any) -> None:
    with pytest.raises(TreeError, match=r"^tree 1: expected a tree or a node .*Parser\(language\)"):
        from_tree_sitter(parse("python", "x"), tree)


def test_what_does_not_parse_and_an_unknown_name() -> None:
    forest = from_tree_sitter(parse("python", "def (").root_node)
    assert "ERROR" in names_of(forest, "label")
    known = {"label": Vocabulary(["module"], frozen=True)}
    with pytest.raises(TreeError, match=r"^f\.py: tree 0, node 1: expected one of the 1"):
        from_tree_sitter(parse("python", "f(1, 2, 3)"), vocabs=known, file="f.py")


def test_deep_and_wide_syntax() -> None:
    wide = from_tree_sitter(parse("python", "[" + "1," * 50_000 + "]"), named_only=True)
    assert wide.degree.max() == 50_000
    deep = from_tree_sitter(parse("javascript", "(" * 1_000 + "1" + ")" * 1_000))
    assert deep.depths.max() > 1_000
    np.testing.assert_array_equal(deep.sizes, [deep.num_nodes])

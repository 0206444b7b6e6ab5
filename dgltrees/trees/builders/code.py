"""Forests from source code: Python, and every language with a tree-sitter grammar."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.walk import Member, check_text, forest_of_nodes
from dgltrees.trees.columns_of import shown
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    import tree_sitter

_PATH = re.compile(r"[\w./\\:~-]+\.py[iw]?")
_BETWEEN = re.compile(rb"(\s|\\\r?\n)*")  # tokens: white space, and continued lines


def from_python(
    *sources: str | ast.AST,
    vocabs: Mapping[str, Vocabulary] | None = None,
    file: PathLike | None = None,
) -> Forest:
    """Build a forest from Python source or ``ast`` nodes: one tree each, nodes in preorder.

    The nodes are those of the module ``ast`` of the running Python, without the context of a name
    (``Load``, ``Store``, ``Del``). A missing item of a list, such as the key in ``{**d}``, is a
    missing child. Node columns:

    - ``label``: the class of the node, such as ``BinOp``;
    - ``field``: the field of the parent that holds it, such as ``left``; -1 at the root;
    - ``value``: a string in single quotes, without escapes; another constant in the form of
      ``repr`` (hexadecimal above 1,024 bits); or the identifier of a name, attribute, argument,
      definition, ...; otherwise -1.

    Arguments:
        sources: source code, no paths of files, which ``read`` takes; or nodes of ``ast``.
        vocabs: vocabularies of ``label``, ``field`` and ``value`` to use.
        file: the file of the sources, for the errors.

    Returns:
        the forest.

    Raises:
        TreeError: a source is not valid Python, or too deeply nested for Python's parser, or the
            path of a file; a node of ``ast`` contains itself; a name is not in a frozen vocabulary.

    Example:
        >>> forest = from_python("x = y + 1")
        >>> forest.vocabs["label"].names
        ['Module', 'Assign', 'Name', 'BinOp', 'Add', 'Constant']
    """
    return forest_of_nodes(
        (Member(None, parse_python(source, tree, file)) for tree, source in enumerate(sources)),
        _syntax_children,
        {
            "label": lambda entry: type(entry.node).__name__,
            "field": lambda entry: entry.field,
            "value": lambda entry: _syntax_value(entry.node),
        },
        vocabs,
        share=False,  # Python's parser makes one node of all additions
        identity=lambda entry: id(entry.node),
        file=file,
    )


def parse_python(
    source: str | ast.AST, tree: int | None = None, file: PathLike | None = None
) -> ast.AST:
    """Parse Python source to its syntax tree."""
    if isinstance(source, ast.AST):
        return source
    if not isinstance(source, str):
        raise TreeError(
            f"expected source code or a node of ast, got {shown(source)}; give each source as an "
            "argument of its own, as in from_python(*sources)",
            tree=tree,
        )
    check_text(source, "Python source", _PATH, file=file, tree=tree)
    line: int | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those about the source, such as invalid escapes
            return ast.parse(source)
    except (RecursionError, MemoryError):
        message = "expected source that Python's parser can read, got one nested too deep for it"
    except SyntaxError as error:
        message, line = f"expected Python source, got: {error.msg}", error.lineno
    except ValueError as error:  # a null byte
        message = f"expected Python source, got: {error}"
    if line is None and "\0" in source:
        line = source.partition("\0")[0].count("\n") + 1
    raise TreeError(message, file=file, line=line, tree=tree)


def _syntax_children(entry: Member) -> Sequence[Member | None]:
    children: list[Member | None] = []
    for field, value in ast.iter_fields(entry.node):
        if isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            children.append(Member(field, value))
        elif isinstance(value, list):
            children += [
                Member(field, item) if isinstance(item, ast.AST) else None
                for item in value
                if not isinstance(item, str)
            ]
    return children


def _syntax_value(node: ast.AST) -> str | None:
    if isinstance(node, (ast.Constant, ast.MatchSingleton)):
        if isinstance(node.value, str):
            return f"'{node.value}'"
        if isinstance(node.value, int) and node.value.bit_length() > 1024:
            return hex(node.value)
        return repr(node.value)
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return ", ".join(node.names)
    if isinstance(node, ast.alias) and node.asname is not None:
        return f"{node.name} as {node.asname}"
    if isinstance(node, ast.ImportFrom):
        return "." * (node.level or 0) + (node.module or "") or None
    if isinstance(node, ast.MatchClass):
        return ", ".join(node.kwd_attrs) or None
    if isinstance(node, ast.FormattedValue):
        return None if node.conversion < 0 else f"!{chr(node.conversion)}"
    if isinstance(node, ast.comprehension):
        return "async" if node.is_async else None
    fields = (value for field, value in ast.iter_fields(node) if field != "type_comment")
    return next((value for value in fields if isinstance(value, str)), None)


class _Text(NamedTuple):
    """Text between the children of a node, with the attributes of a leaf of tree-sitter."""

    type: str
    text: bytes
    start_byte: int
    end_byte: int
    start_point: tuple[int, int]
    is_named: bool = True
    is_missing: bool = False
    child_count: int = 0
    named_child_count: int = 0


def from_tree_sitter(
    *trees: tree_sitter.Tree | tree_sitter.Node,
    named_only: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
    file: PathLike | None = None,
) -> Forest:
    """Build a forest from syntax trees of tree-sitter: one tree each, nodes in preorder.

    Text between the children of a node, such as that of a string next to an escape sequence, is a
    child ``#text``. Node columns:

    - ``label``: the type of the node, ``ERROR`` where the source cannot be parsed;
    - ``field``: the field of the parent that holds it; otherwise -1;
    - ``value``: the text of a named node that is a leaf, or of ``#text``; otherwise -1;
    - ``line`` (from 1), ``column`` (in bytes, from 0), ``start`` and ``end`` (in bytes): the
      position in the source.

    Arguments:
        trees: results of ``Parser.parse`` for the bytes of a source, or nodes.
        named_only: leave out anonymous nodes, such as brackets, commas, keywords and operators.
        vocabs: vocabularies of ``label``, ``field`` and ``value`` to use.
        file: the file of the source, for the errors.

    Returns:
        the forest.

    Raises:
        TreeError: an argument is neither a tree nor a node; a name is not in a frozen vocabulary.

    Example:
        >>> import tree_sitter_python
        >>> from tree_sitter import Language, Parser
        >>> tree = Parser(Language(tree_sitter_python.language())).parse(b"x = 1")
        >>> from_tree_sitter(tree, named_only=True).vocabs["label"].names[:3]
        ['module', 'expression_statement', 'assignment']
    """
    from tree_sitter import Node, Tree

    source: bytes | None = None  # of the tree that is visited
    first = 0  # its first byte

    def roots() -> Iterator[Member]:
        nonlocal source, first
        for number, tree in enumerate(trees):
            root = tree.root_node if isinstance(tree, Tree) else tree
            if not isinstance(root, Node):
                raise TreeError(
                    f"expected a tree or a node of tree-sitter, got {shown(tree)}; parse source "
                    "with tree_sitter.Parser(language).parse",
                    file=file,
                    tree=number,
                )
            source, first = root.text, root.start_byte
            yield Member(None, root)

    def below(node: tree_sitter.Node | _Text) -> int:
        return node.named_child_count if named_only else node.child_count

    def children_of(entry: Member) -> list[Member]:
        children: list[Member] = []
        node = entry.node
        if not below(node):
            return children

        def add_text(start: int, end: int, point: tuple[int, int]) -> None:
            text = (source or b"")[start - first : end - first]
            if not _BETWEEN.fullmatch(text):
                children.append(Member(None, _Text("#text", text, start, end, point)))

        cursor, at, point = node.walk(), node.start_byte, node.start_point
        more = cursor.goto_first_child()
        while more:
            child = cursor.node
            add_text(at, child.start_byte, point)
            if child.is_named or not named_only:
                children.append(Member(cursor.field_name, child))
            at, point = child.end_byte, child.end_point
            more = cursor.goto_next_sibling()
        add_text(at, node.end_byte, point)
        return children

    def label_of(entry: Member) -> str:
        node: tree_sitter.Node | _Text = entry.node
        return f"MISSING {node.type}" if node.is_missing else node.type

    def value_of(entry: Member) -> str | None:
        node: tree_sitter.Node | _Text = entry.node
        if below(node) or not node.is_named or node.text is None:
            return None
        return node.text.decode("utf-8", "backslashreplace")

    return forest_of_nodes(
        roots(),
        children_of,
        {"label": label_of, "field": lambda e: e.field, "value": value_of},
        vocabs,
        numbers={
            "line": lambda e: e.node.start_point[0] + 1,
            "column": lambda e: e.node.start_point[1],
            "start": lambda e: e.node.start_byte,
            "end": lambda e: e.node.end_byte,
        },
        file=file,
    )

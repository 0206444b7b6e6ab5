"""Forests of source code: of Python, and of any language that tree-sitter reads."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.walk import Member, forest_of_nodes
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    import tree_sitter


def from_python(
    *sources: str | ast.AST,
    vocabs: Mapping[str, Vocabulary] | None = None,
    file: PathLike | None = None,
) -> Forest:
    """A forest with one tree per Python module or node of ``ast``, nodes in preorder.

    The nodes are those of the module ``ast`` of the running Python, without the context of a name
    (``Load``, ``Store``, ``Del``). A missing item of a list, such as the key in ``{**d}``, is a
    missing child.

    Node columns: ``label``, the class of the node, such as ``BinOp``; ``field``, the field of the
    parent that holds it, such as ``left``, -1 at the root; ``value``, a constant as ``repr`` prints
    it (in hexadecimal above 1,024 bits) or the identifier of a name, attribute, argument,
    definition, ..., else -1.

    Arguments:
        sources: the source texts, or nodes of ``ast``.
        vocabs: vocabularies of ``label``, ``field`` and ``value`` to use.
        file: the file of the texts, for the errors.

    Raises:
        TreeError: with line, or tree and node: a text is not Python, or is nested deeper than
            Python's parser reads; a node of ``ast`` contains itself; a name is not in a frozen
            vocabulary.
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
        repeat_shared=True,  # Python's parser makes one node of all additions
        identity=lambda entry: id(entry.node),
        file=file,
    )


def parse_python(
    source: str | ast.AST, tree: int | None = None, file: PathLike | None = None
) -> ast.AST:
    """The syntax tree of a source text, as ``ast`` has it; a node of ``ast`` stays as it is.

    Arguments:
        source: the text.
        tree, file: its number and file, for the errors.

    Raises:
        TreeError: it is not Python, or nested deeper than Python's parser reads.
    """
    if isinstance(source, ast.AST):
        return source
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
    if isinstance(node, ast.Constant):
        if isinstance(node.value, int) and node.value.bit_length() > 1024:
            return hex(node.value)
        return repr(node.value)
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return ", ".join(node.names)
    fields = (value for field, value in ast.iter_fields(node) if field != "type_comment")
    return next((value for value in fields if isinstance(value, str)), None)


def from_tree_sitter(
    *trees: tree_sitter.Tree | tree_sitter.Node,
    named_only: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
    file: PathLike | None = None,
) -> Forest:
    """A forest with one tree per syntax tree of tree-sitter, nodes in preorder.

    Node columns: ``label``, the type of the node, ``ERROR`` where the text does not parse;
    ``field``, the field of the parent that holds it, else -1; ``value``, the text of a named node
    that is a leaf, else -1; and where it is in the source: ``line``, from 1, ``column``, in bytes
    from 0, and the bytes ``start`` to ``end``.

    Arguments:
        trees: what ``Parser.parse`` returns for the bytes of a source, or nodes.
        named_only: leave out the anonymous nodes, such as brackets, commas, keywords and operators.
        vocabs: vocabularies of ``label``, ``field`` and ``value`` to use.
        file: the file of the source, for the errors.

    Raises:
        TreeError: with tree and node: a name is not in a frozen vocabulary.
    """
    from tree_sitter import Tree

    def children_of(entry: Member) -> list[Member]:
        cursor, children = entry.node.walk(), []
        more = cursor.goto_first_child()
        while more:
            if cursor.node is not None and (cursor.node.is_named or not named_only):
                children.append(Member(cursor.field_name, cursor.node))
            more = cursor.goto_next_sibling()
        return children

    def value_of(entry: Member) -> str | None:
        node: tree_sitter.Node = entry.node
        below = node.named_child_count if named_only else node.child_count
        if below or not node.is_named or node.text is None:
            return None
        return node.text.decode("utf-8", "backslashreplace")

    return forest_of_nodes(
        [Member(None, tree.root_node if isinstance(tree, Tree) else tree) for tree in trees],
        children_of,
        {"label": lambda e: e.node.type, "field": lambda e: e.field, "value": value_of},
        vocabs,
        numbers={
            "line": lambda e: e.node.start_point[0] + 1,
            "column": lambda e: e.node.start_point[1],
            "start": lambda e: e.node.start_byte,
            "end": lambda e: e.node.end_byte,
        },
        file=file,
    )

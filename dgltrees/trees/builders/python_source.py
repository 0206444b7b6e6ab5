"""Forests of the syntax trees of Python source."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.walk import Member, forest_of_nodes
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["from_python", "parse_python"]


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
        _children,
        {
            "label": lambda entry: type(entry.node).__name__,
            "field": lambda entry: entry.field,
            "value": lambda entry: _value(entry.node),
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


def _children(entry: Member) -> Sequence[Member | None]:
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


def _value(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, int) and node.value.bit_length() > 1024:
            return hex(node.value)
        return repr(node.value)
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return ", ".join(node.names)
    fields = (value for field, value in ast.iter_fields(node) if field != "type_comment")
    return next((value for value in fields if isinstance(value, str)), None)

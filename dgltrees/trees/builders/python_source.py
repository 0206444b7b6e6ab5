"""Syntax trees of Python source."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Optional

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.objects import walk
from dgltrees.trees.builders.vocabs import own_vocabs
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["from_python"]


class _Entry(NamedTuple):
    field: Optional[str]
    node: ast.AST


def from_python(
    *sources: str,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    max_children: Optional[int] = None,
    file: Optional[PathLike] = None,
) -> Forest:
    """A forest of Python modules as the running Python's ``ast`` sees them, nodes in preorder.

    The nodes of ``ast`` are the nodes, except that a name's context (``Load``, ``Store``, ``Del``)
    is left out; a child missing in a list, as the key of ``{**d}``, leaves its position empty.

    Node columns: ``label``, the class, as ``BinOp``; ``field``, the parent's field it stands in, as
    ``left``, -1 at the root; ``value``, a constant as Python prints it (integers above 1,024 bits
    in hexadecimal) or the identifier of a name, attribute, argument, definition and so on, else -1.

    Arguments:
        sources: one source text a tree.
        vocabs: ``{"label": ..., "field": ..., "value": ...}``, vocabularies to use, or some.
        max_children: the number of child positions a node may have; None for any.
        file: where the text stands, for the errors.

    Raises:
        TreeError: a text is not Python, with its line; is nested deeper than Python's parser reads;
            a name is not in a frozen vocabulary; too many children.
    """
    known = own_vocabs(vocabs, "label", "field", "value")
    roots = [_Entry(None, _parse(source, tree, file)) for tree, source in enumerate(sources)]
    lists, nodes = walk(roots, _expand, file=file)
    names: dict[str, Sequence[Optional[str]]] = {
        "label": [type(entry.node).__name__ for entry in nodes],
        "field": [entry.field for entry in nodes],
        "value": [_value(entry.node) for entry in nodes],
    }
    return lists.forest(names, known, max_children=max_children, file=file)


def _parse(source: str, tree: int, file: Optional[PathLike]) -> ast.AST:
    line: Optional[int] = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they concern who wrote the source, not who reads it
            return ast.parse(source)
    except (RecursionError, MemoryError):
        message = "expected source that Python's parser can read, got one nested too deep for it"
    except SyntaxError as error:
        message, line = f"expected Python source, got: {error.msg}", error.lineno
    except ValueError as error:  # a null byte
        message = f"expected Python source, got: {error}"
    raise TreeError(message, file=file, line=line, tree=tree)


def _expand(entry: _Entry) -> Sequence[Optional[_Entry]]:
    children: list[Optional[_Entry]] = []
    for field, value in ast.iter_fields(entry.node):
        if isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            children.append(_Entry(field, value))
        elif isinstance(value, list):
            children += [
                _Entry(field, item) if isinstance(item, ast.AST) else None
                for item in value
                if not isinstance(item, str)
            ]
    return children


def _value(node: ast.AST) -> Optional[str]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, int) and node.value.bit_length() > 1024:
            return hex(node.value)
        return repr(node.value)
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return ", ".join(node.names)
    fields = (value for field, value in ast.iter_fields(node) if field != "type_comment")
    return next((value for value in fields if isinstance(value, str)), None)

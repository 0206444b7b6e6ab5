"""Definitions read from the source of modules, without importing what those modules import.

Help texts, lists of commands and presets, and errors about names need the constructors of cells and
models, but not torch. :func:`read` executes one definition and those that it uses, and imports none
of their modules. A name of another library is a placeholder object: it is ignored as a base class,
and a function that is called must not need it.
"""

from __future__ import annotations
import __future__

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, ClassVar  # noqa: F401  (dataclasses look for it in a class's module)

from dgltrees import registry
from dgltrees._collector import without_collector

_READABLE = {"dgltrees"}
"""The packages whose source is read; :func:`read` adds those of its arguments."""
_FLAGS = __future__.annotations.compiler_flag
_DEFERRED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Elsewhere:
    """A name of another library: its attributes, calls and items are this object again."""

    def __getattr__(self, name: str) -> Elsewhere:
        if name.startswith("__"):  # nothing that tells one kind of object from another
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Elsewhere:
        """Return the same object."""
        return self

    def __getitem__(self, key: Any) -> Elsewhere:
        return self

    def __or__(self, other: Any) -> Elsewhere:
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()


ELSEWHERE = Elsewhere()


class Source(dict[str, Any]):
    """The names of a module, each defined at its first access.

    Arguments:
        module: the module's name.

    Raises:
        ImportError: there is no such module.
        OSError, SyntaxError: it has no source.
    """

    def __init__(self, module: str) -> None:
        path = registry.source_file(module)
        super().__init__(__name__=__name__)
        self.module, self.path = module, str(path)
        self.nodes: dict[str, list[ast.stmt]] = {}
        with without_collector():
            body = ast.parse(path.read_text(encoding="utf-8")).body
        for node in body:
            for each in node.body if isinstance(node, ast.If) else [node]:  # of type checkers
                self.nodes.update({name: [each] for name in _names(each)})
                if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Attribute):
                    self.nodes[ast.unparse(each.targets[0].value)].append(each)

    def __missing__(self, name: str) -> Any:
        if name not in self.nodes:
            raise KeyError(name)
        for node in self.nodes[name]:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self[name] = self._imported(node, name)
                continue
            for each in _names_needed(node):  # a class looks names up without this method
                if each in self.nodes:
                    self[each]
            code = compile(ast.Module([node], []), self.path, "exec", _FLAGS, dont_inherit=True)
            exec(code, self, self)
            if isinstance(node, ast.ClassDef):
                self[name].__source__ = self
        return self[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def _imported(self, node: ast.Import | ast.ImportFrom, name: str) -> Any:
        alias = next(each for each in node.names if (each.asname or each.name) == name)
        if isinstance(node, ast.Import):
            return _module(alias.name)
        module = _module(node.module or "")
        if module is ELSEWHERE:
            return module
        if not hasattr(module, alias.name):  # a module of a package
            return _module(f"{node.module}.{alias.name}")
        return getattr(module, alias.name)


def read(place: str) -> Any:
    """Return the object at ``"module:attribute"``, as its source defines it.

    Raises:
        ImportError, OSError, SyntaxError, LookupError: there is no such module or name, or no
            source of it.
    """
    module, _, name = place.partition(":")
    _READABLE.add(module.partition(".")[0])
    return getattr(sys.modules[module], name) if module in sys.modules else _source(module)[name]


@contextmanager
def reading_sources() -> Iterator[None]:
    """Let registries read objects from source if torch has not been imported.

    Parts of other packages are imported, and the core's classes with them, since their modules may
    define them in any manner.
    """
    usual = registry.read
    imports = "torch" in sys.modules or registry.has_others()
    registry.read = usual if imports else _read_entry
    try:
        yield
    finally:
        registry.read = usual


@cache
def _read_entry(entry: EntryPoint) -> Any:
    if entry.group == "dgltrees.presets":  # modules of data, which import nothing
        raise LookupError(entry.name)
    value = read(entry.value)
    if callable(value) and any(
        isinstance(parameter.default, Elsewhere)
        for parameter in inspect.signature(value).parameters.values()
    ):
        raise LookupError(f"a default of {entry.name} is of another library")
    return value


_source = cache(Source)


def _module(name: str) -> Any:
    """Return an imported module or one of the standard library, or else its source."""
    first = name.partition(".")[0]
    if name in sys.modules or first in sys.stdlib_module_names:
        return importlib.import_module(name)
    return _source(name) if first in _READABLE else ELSEWHERE


def _names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement defines."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            stored = (n for n in ast.walk(target) if isinstance(n, ast.Name))
            yield from (n.id for n in stored if isinstance(n.ctx, ast.Store))


def _names_needed(node: ast.AST) -> Iterator[str]:
    """Yield the names that executing a statement needs, without bodies of functions."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or (field == "body" and isinstance(node, _DEFERRED)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _names_needed(child)

"""The values that the functions of a cell read in addition to their arguments.

A trace is valid as long as these are the same: attributes, class attributes, global variables,
closures and default arguments. :class:`Reads` walks from some functions to all of these whose names
occur in the reachable code. Parameters and buffers count by shape only, since every traversal looks
them up again.
"""

from __future__ import annotations

import ctypes
import dis
import io
import logging
import operator
import random
import sys
import threading
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from functools import _lru_cache_wrapper, cache, partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TextIO
from weakref import ProxyType

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.cells.compiled.loops import CompileError

Functions = Sequence[Callable[..., Any]]

PRIVATE = frozenset(vars(nn.Module())) - {"training"}
_TABLES = ("_parameters", "_buffers", "_modules")
_LIBRARIES = (sys.stdlib_module_names | {"torch", "numpy", "scipy", "dgl"}) - {"abc"}
"""Modules without code of cells; a class that ``type`` makes of an abstract one has module abc."""
_OWN = ("cells", "models", "papers")
"""The folders of this package with code of cells."""
_DYNAMIC = frozenset(
    [
        *("getattr", "vars", "dir", "eval", "exec", "globals", "locals", "__dict__"),
        *("__getattribute__", "children", "modules", "named_children", "named_modules"),
        *("parameters", "named_parameters", "buffers", "named_buffers"),
    ]
)
"""Names by which code may read any attribute."""
_OUTSIDE = {"os", "time", "datetime", "random", "logging", "subprocess", "secrets", "uuid"}
"""Modules whose functions read or change what no walk can see."""
_STATEFUL = (
    *(io.IOBase, logging.Logger, random.Random, np.random.Generator, np.random.RandomState),
    *(ContextVar, array, bytearray, memoryview, ctypes.Array, ctypes.Structure),
    *(ctypes._SimpleCData, operator.attrgetter, operator.methodcaller, ProxyType),
)
_UNREAD = frozenset(
    [
        *("__init__", "__new__", "__init_subclass__", "__class_getitem__", "__repr__", "__doc__"),
        *("__dict__", "__weakref__", "__module__", "__annotations__", "__annotate_func__"),
        *("__abstractmethods__", "__firstlineno__", "__static_attributes__"),
    ]
)
"""Special attributes of classes that no function of a cell reads."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, slice)
_LARGEST = 2**12
"""The most numbers of an array that are compared."""
_UNSEEN = {
    *("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "is_grad_enabled"),
    *("register_hook", "requires_grad", "requires_grad_", "retain_grad", "grad_fn"),
}
"""Names by which code changes or reads what autograd does, which a trace does not show."""
_EFFECTS = ("open", "input", "exec", "eval", "__import__")
"""Built-in functions that a trace cannot show."""


class _Same:
    """A reference that is equal only to one of the same object, which it keeps alive."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Reads:
    """The current values that functions read in addition to their arguments.

    Arguments:
        functions: Python functions or methods.

    Attributes:
        key: hashable, and equal as long as a trace of the functions is valid.
        walk: the values that were found.

    Raises:
        CompileError: one is not a Python function.
    """

    def __init__(self, functions: Functions) -> None:
        for function in functions:
            plain = function.__func__ if isinstance(function, MethodType) else function
            if not isinstance(plain, FunctionType):
                raise CompileError(f"{type(plain).__name__} is not a Python function")
        names: frozenset[str] = frozenset()
        while True:  # code that is reached by a name may have more names
            walk = _Walk(names, _parts(functions))
            for number, function in enumerate(functions):
                walk.visit(f"function {number}", function)
            reached = frozenset[str]().union(*map(_names, walk.codes))
            if reached <= names:
                break
            names |= reached
        self.walk, self._given = walk, [*map(_reference, _parts(functions))]
        self.key = (torch.get_default_dtype(), *(part for _, part in walk.parts))

    def unchanged(self, functions: Functions) -> bool:
        """Return whether these functions and all objects are the same; if not, the key may be."""
        same = all(part is held() for part, held in zip(_parts(functions), self._given))
        return same and self.key[0] is torch.get_default_dtype() and self.walk.unchanged()


def _parts(functions: Functions) -> list[Any]:
    """Return each function, of a method the plain one, and then the object of each, or None."""
    plain = [getattr(function, "__func__", function) for function in functions]
    return [*plain, *(getattr(function, "__self__", None) for function in functions)]


@contextmanager
def without_effects(functions: Functions) -> Iterator[None]:
    """Trace functions, and undo their side effects."""
    walk = Reads(functions).walk
    if walk.reason:
        raise CompileError(walk.reason)
    undo, state, failure = walk.saved(), _random_state(), None
    values = [(tensor, tensor.detach().clone()) for tensor, _ in walk._tensors]
    try:
        with redirect_stdout(_Refusing(sys.stdout)):
            yield
    except CompileError as error:
        failure = error
    finally:
        before, after = dict(walk.parts), dict(Reads(functions).walk.parts)
        drawn = _random_state() != state
        replaced = walk.replaced()
        for each in undo:
            each()
        for tensor, value in values:  # a trace changes tensors that depend on no field
            if not torch.equal(tensor, value):
                tensor.data.copy_(value)
        random.setstate(state[0])
        np.random.set_state((*state[1][:1], np.frombuffer(state[1][1], np.uint32), *state[1][2:]))
    if drawn:
        raise CompileError("it draws random numbers other than those of dropout") from failure
    if replaced:
        raise CompileError(f"it changes {replaced}{walk.line_of(replaced)}") from failure
    for path in [*after, *before]:
        if before.get(path) != after.get(path):
            raise CompileError(f"it changes {path}{walk.line_of(path)}") from failure
    if failure is not None:
        raise failure


def _random_state() -> tuple[Any, tuple[Any, ...]]:
    """Return the states of the random generators of Python and numpy."""
    name, keys, *rest = np.random.get_state(legacy=True)
    return random.getstate(), (name, np.asarray(keys).tobytes(), *rest)


class _Refusing(io.StringIO):
    """A standard output that raises an error for a print of this thread, with its line."""

    def __init__(self, others: TextIO) -> None:
        super().__init__()
        self.others, self.thread = others, threading.get_ident()

    def flush(self) -> None:
        """Flush what other threads print."""
        self.others.flush()

    def write(self, text: str) -> int:
        """Raise CompileError."""
        if threading.get_ident() != self.thread:
            return self.others.write(text)
        frame = sys._getframe(1)
        raise CompileError(f"it prints ({frame.f_code.co_filename}, line {frame.f_lineno})")


class _Walk:
    """A walk over all that code with some names may read.

    Arguments:
        names: the names.
        given: the objects that begin it; those of the traversal may call functions of a cell.

    Attributes:
        parts: the path of each value that is read, and the part of it that is compared.
        codes: the reachable code.
        reason: why the functions cannot be compiled: they read something that cannot be compared,
            such as an iterator, a file or the time; empty if there is no reason.
    """

    def __init__(self, names: frozenset[str], given: Sequence[Any]) -> None:
        self.names, self.everything = names, not names.isdisjoint(_DYNAMIC)
        self._given = {*map(id, given)}
        self.parts: list[tuple[str, Any]] = []
        self.codes: dict[CodeType, None] = {}
        self.reason = ""
        self._number: dict[int, int] = {}
        self._tables: list[tuple[Mapping[Any, Any], dict[Any, Any], frozenset[Any] | None]] = []
        self._lists: list[tuple[Any, list[Any]]] = []
        self._cells: list[tuple[CellType, Callable[[], Any]]] = []
        self._functions: list[tuple[FunctionType, Any]] = []
        self._tensors: list[tuple[Tensor, Any]] = []
        self._caches: list[tuple[Any, int]] = []

    def visit(self, path: str, value: Any) -> None:
        """Note a value, and the values that can be reached from it."""
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, _PLAIN):
            self.parts.append((path, (type(value), repr(value))))  # -0.0 and NaN by their text
        elif isinstance(value, Tensor):
            number = self._number.setdefault(id(value), len(self._number))  # of tied parameters too
            self.parts.append((path, (*_form(value), number)))
            self._tensors.append((value, _form(value)))
        elif id(value) in self._number:
            self.parts.append((path, ("the same as", self._number[id(value)])))
        else:
            self._number[id(value)] = len(self._number)
            self._visit_inside(path, value)

    def _visit_inside(self, path: str, value: Any) -> None:
        self.parts.append((path, type(value)))
        if isinstance(value, _STATEFUL) or (hasattr(value, "__next__") and not _is_code(value)):
            self.reason = self.reason or f"it reads {path}, whose state cannot be compared"
        if isinstance(value, np.ndarray):
            if value.size > _LARGEST:
                self.reason = (
                    self.reason or f"it reads {path}, an array of over {_LARGEST:,} numbers"
                )
                return
            self._lists.append((value, [*value.flat]))
            self.parts.append((path, (value.shape, value.dtype.str, value.tobytes())))
        elif isinstance(value, MethodType):
            self.visit(path, value.__func__)
            self.visit("self", value.__self__)
        elif isinstance(value, FunctionType) and (
            _is_own(value.__module__) or id(value) in self._given
        ):
            self._visit_function(path, value)
        elif isinstance(value, partial):
            for each in (value.func, value.args, value.keywords):
                self.visit(path, each)
        elif isinstance(value, (list, tuple, set, frozenset, deque)):
            self._lists.append((value, [*value]))
            for number, each in enumerate(value):
                self.visit(f"{path}[{number}]", each)
        elif isinstance(value, Mapping):
            self._visit_table(f"{path}.", value, lambda name: True)
        elif isinstance(value, _lru_cache_wrapper):
            self._caches.append((value, value.cache_info().currsize))
            self._visit_object(path, value)
        elif isinstance(value, weakref.ref):
            self.visit(f"{path}()", value())
        elif isinstance(value, type):
            if issubclass(value, torch.autograd.Function):
                self.reason = self.reason or f"it calls {path}, whose backward no trace shows"
            self.parts.append((path, _Same(value)))
            self._visit_class(path, value)
        elif isinstance(value, ModuleType):
            self._visit_module(path, value)
        elif _has_attributes(value):
            self._visit_object(path, value)
        else:
            if _is_own(type(value).__module__) and not _is_code(value):  # such as one with slots
                self.reason = self.reason or f"it reads {path}, whose state cannot be compared"
            if getattr(value, "__module__", None) in _OUTSIDE:
                self.reason = self.reason or f"it calls {path}, whose result cannot be compared"
            self.parts.append((path, _Same(value)))

    def _visit_function(self, path: str, function: FunctionType) -> None:
        code, names = function.__code__, _global_names(function.__code__)
        called = [name for name in _EFFECTS if name in names - function.__globals__.keys()]
        if called:
            self.reason = self.reason or f"it calls {called[0]}{_line_of(called[0], [code])}"
        if unseen := sorted(_UNSEEN & _names(code)):
            self.reason = self.reason or f"it uses {unseen[0]}{_line_of(unseen[0], [code])}"
        for module in _imported(code):
            self.reason = self.reason or f"it imports {module}{_line_of(module, [code])}"
        self._visit_table(f"{path}.", vars(function), self.names.__contains__)
        self.codes[code] = None
        self._functions.append((function, _state(function)))
        self.parts.append((path, code))
        for values in (function.__defaults__, function.__kwdefaults__):
            if values is not None:
                self.visit(f"a default argument of {function.__name__}", values)
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                held = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            self._cells.append((cell, _reference(held)))
            self.visit(name, held)
        self._visit_table("", function.__globals__, names.__contains__, keys=False)

    def _visit_class(self, path: str, kind: type) -> None:
        def is_read(name: str) -> bool:
            special = name.startswith("__") and name.endswith("__") and name not in _UNREAD
            return special or name in self.names or name == "forward"

        for each in kind.__mro__:
            if _is_own(each.__module__):
                self._visit_table(f"{path}.", vars(each), is_read)

    def _visit_module(self, path: str, module: ModuleType) -> None:
        if module.__name__.partition(".")[0] in _OUTSIDE:
            self.reason = self.reason or f"it uses the module {module.__name__}"
        self.parts.append((path, _Same(module)))
        if _is_own(module.__name__):
            self._visit_table(f"{path}.", vars(module), self.names.__contains__, keys=False)

    def _visit_object(self, path: str, value: Any) -> None:
        self.parts.append((path, _Same(type(value))))
        own, attributes = _is_own(type(value).__module__), vars(value)

        whole = self.everything or not own or _extends(type(value))

        def is_read(name: str) -> bool:
            return whole or name in self.names or name == "forward"

        if isinstance(value, nn.Module):
            self._visit_table(f"{path}.", attributes, lambda n: n not in PRIVATE and is_read(n))
            for table in _TABLES:
                self._visit_table(f"{path}.", attributes[table], is_read)
        else:
            self._visit_table(f"{path}.", attributes, is_read)
        if own:
            self._visit_class(path, type(value))

    def _visit_table(
        self,
        prefix: str,
        table: Mapping[Any, Any],
        is_read: Callable[[str], bool],
        *,
        keys: bool = True,
    ) -> None:
        """Visit some entries of a table; with ``keys`` a new entry is a change too."""
        read = {name: held for name, held in table.items() if is_read(name)}
        self._tables.append((table, read, frozenset(table) if keys else None))
        for name, held in read.items():
            while isinstance(held, (staticmethod, classmethod)):
                held = held.__func__
            self.visit(f"{prefix}{name}", held.fget if isinstance(held, property) else held)

    def unchanged(self) -> bool:
        """Return whether all visited objects are the same."""
        return (
            all(
                (names is None or table.keys() == names)
                and all(table.get(name, table) is held for name, held in read.items())
                for table, read, names in self._tables
            )
            and all(_same_items(values, before) for values, before in self._lists)
            and all(cell.cell_contents is held() for cell, held in self._cells)
            and all(_state(function) == state for function, state in self._functions)
            and all(_form(tensor) == form for tensor, form in self._tensors)
        )

    def replaced(self) -> str:
        """Return the name of an attribute that holds another tensor now, or ""."""
        return next(
            (
                str(name)
                for table, read, _ in self._tables
                for name, held in read.items()
                if isinstance(held, Tensor) and table.get(name) is not held
            ),
            "",
        )

    def saved(self) -> list[Callable[[], Any]]:
        """Return functions that restore the visited values."""
        undo: list[Callable[[], Any]] = []
        for table, read, names in self._tables:
            if isinstance(table, dict):
                whole = names is not None
                undo.append(partial(_restore, table, dict(table) if whole else read, whole))
        for values, before in self._lists:
            if isinstance(values, list):
                undo.append(partial(values.__setitem__, slice(None), before))
            elif isinstance(values, (set, deque)):
                add = values.update if isinstance(values, set) else values.extend
                undo += [values.clear, partial(add, before)]
        undo += [partial(_forget, cache, size) for cache, size in self._caches]
        undo += [partial(setattr, cell, "cell_contents", held()) for cell, held in self._cells]
        return undo

    def line_of(self, path: str) -> str:
        """Return the line that stores or reads the last name of a path, in brackets, or ""."""
        return _line_of(path.partition("[")[0].rpartition(".")[2], self.codes)


def _line_of(name: str, codes: Iterable[CodeType]) -> str:
    """Return the line of some code that stores a name, or else reads it, in brackets."""
    found = ""
    for code in codes:
        line, lines = code.co_firstlineno, dict(dis.findlinestarts(code))
        for step in dis.get_instructions(code):
            line = lines.get(step.offset) or line
            if step.argval == name and (not found or step.opname.startswith("STORE")):
                found = f" ({code.co_filename}, line {line})"
    return found


def _forget(cache: Any, size: int) -> None:
    """Clear a function's results if there are new ones, which may be tensors of a trace."""
    if cache.cache_info().currsize != size:
        cache.cache_clear()


def _restore(table: dict[Any, Any], before: Mapping[Any, Any], whole: bool) -> None:
    """Restore the entries of a table; if it is the whole table, delete the others."""
    for name in [name for name in table if whole and name not in before]:
        del table[name]
    table.update(before)


def _same_items(values: Any, before: Sequence[Any]) -> bool:
    if isinstance(values, np.ndarray):
        return [*values.flat] == before
    return len(values) == len(before) and all(a is b for a, b in zip(values, before))


def _reference(value: Any) -> Callable[[], Any]:
    """Return a function that returns a value, without keeping a module alive."""
    return weakref.ref(value) if isinstance(value, nn.Module) else lambda: value


def _has_attributes(value: Any) -> bool:
    """Return whether the attributes of an object count, which is not one of torch or numpy."""
    if isinstance(value, nn.Module):
        return True
    module = type(value).__module__ or ""
    known = module.partition(".")[0] in sys.stdlib_module_names or _is_own(module)
    return known and hasattr(value, "__dict__") and not _is_code(value)


def _extends(kind: type) -> bool:
    """Return whether a class inherits the code of a module of torch, whose names are not known."""
    return any(
        issubclass(each, nn.Module) and each is not nn.Module and not _is_own(each.__module__)
        for each in kind.__mro__
    )


def _form(tensor: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.dtype, tensor.requires_grad


def _state(function: FunctionType) -> tuple[Any, ...]:
    return id(function.__code__), id(function.__defaults__), id(function.__kwdefaults__)


def _is_code(value: Any) -> bool:
    return isinstance(value, (FunctionType, nn.Module, ModuleType, type))


@cache
def _is_own(module: str | None) -> bool:
    """Return whether code may belong to a cell, and not to Python, torch or the traversal."""
    top, _, rest = (module or "").partition(".")
    return top not in _LIBRARIES and (top != "dgltrees" or rest.partition(".")[0] in _OWN)


@cache
def _names(code: CodeType) -> frozenset[str]:
    """Return the names in some code: of attributes, of global variables, and in strings."""
    names = {*code.co_names, *code.co_freevars}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            names |= _names(each)
        elif isinstance(each, str) and each.isidentifier():
            names.add(each)
    own = code.co_filename.startswith(_PACKAGE)
    return frozenset(names - _DYNAMIC if own else names)


@cache
def _imported(code: CodeType) -> tuple[str, ...]:
    """Return the modules that some code imports, whose variables no walk can see."""
    names = [s.argval for s in dis.get_instructions(code) if s.opname == "IMPORT_NAME"]
    for each in code.co_consts:
        names += _imported(each) if isinstance(each, CodeType) else ()
    return tuple(name for name in names if _is_own(name) or name.partition(".")[0] in _OUTSIDE)


@cache
def _global_names(code: CodeType) -> frozenset[str]:
    """Return the names of the global variables and built-in functions in some code."""
    names = {
        step.argval for step in dis.get_instructions(code) if step.opname.startswith("LOAD_GLOBAL")
    }
    inner = (_global_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return frozenset(names).union(*inner)


_PACKAGE = __file__.rpartition("cells")[0]

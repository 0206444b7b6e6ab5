"""What the functions of a cell read besides their arguments: modules, their parameters, settings.

A trace holds as long as this is the same. Parameters are looked up by name in every traversal, so
they may be replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.compiled.loops import CompileError

__all__ = ["fingerprint", "hooked", "modules_of", "names_of", "parameter"]

Functions = Sequence[Callable[..., Any]]
_PRIVATE = frozenset(vars(nn.Module())) - {"training"}
_HOOKS = [name for name in _PRIVATE if name.endswith("_hooks")]
_DEEPEST = 6


def modules_of(functions: Functions) -> list[nn.Module]:
    """The modules that functions belong to or close over, each once."""
    found: dict[int, nn.Module] = {}
    for function in functions:
        for held in _held(function):
            values = [held] if isinstance(held, nn.Module) else _attributes(held).values()
            found.update((id(v), v) for v in values if isinstance(v, nn.Module))
    return list(found.values())


def _held(function: Callable[..., Any]) -> Iterator[Any]:
    """The object of a method, and what a function closes over."""
    if isinstance(function, MethodType):
        yield function.__self__
        function = function.__func__
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _attributes(held: Any) -> Mapping[str, Any]:
    return getattr(held, "__dict__", {}) if not isinstance(held, (FunctionType, type)) else {}


def names_of(modules: Sequence[nn.Module]) -> dict[int, tuple[Any, ...]]:
    """The key of each parameter and buffer, by the id of the tensor."""
    names: dict[int, tuple[Any, ...]] = {}
    for number, module in enumerate(modules):
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            names.setdefault(id(tensor), ("param", number, *name.split(".")))
    return names


def parameter(modules: Sequence[nn.Module], key: tuple[Any, ...]) -> Tensor:
    """The parameter or buffer of a key."""
    _, number, *path, last = key
    module: Any = modules[number]
    for name in path:
        module = module._modules[name]
    tensor: Tensor | None = module._parameters.get(last)
    if tensor is None:
        tensor = module._buffers[last]
    assert tensor is not None
    return tensor


def hooked(modules: Sequence[nn.Module]) -> bool:
    """Whether a module has hooks, which a trace would call once and never again."""
    return any(
        getattr(module, name) for root in modules for module in root.modules() for name in _HOOKS
    )


def fingerprint(functions: Functions) -> tuple[Any, ...]:
    """What a trace of functions depends on: their code, and all that they hold but tensors."""
    result: list[Any] = []
    known: dict[int, Any] = {}  # most functions are methods of the same cell
    for function in functions:
        plain = function.__func__ if isinstance(function, MethodType) else function
        if not isinstance(plain, FunctionType):
            raise CompileError(f"{type(plain).__name__} is no Python function")
        result.append((plain.__code__, *_of(plain.__defaults__, 0)))
        for held in _held(function):
            if id(held) not in known:
                known[id(held)] = _of(held, 0)
            result.append(known[id(held)])
    return tuple(result)


def _of(value: Any, depth: int) -> Any:
    """A hashable part of a fingerprint."""
    if value is None or isinstance(value, (bool, int, float, str, bytes, torch.dtype)):
        return type(value), value
    if isinstance(value, Tensor):
        return "tensor", tuple(value.shape), value.dtype, value.requires_grad
    if depth >= _DEEPEST:
        return ("id", id(value))
    if isinstance(value, nn.Module):
        own = value.__dict__
        tensors = [own["_parameters"], own["_buffers"], own["_modules"]]
        plain = {name: held for name, held in own.items() if name not in _PRIVATE}
        return type(value), *(_items(each, depth) for each in (*tensors, plain))
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value), *(_of(each, depth + 1) for each in value)
    if isinstance(value, Mapping):
        return type(value), _items(value, depth)
    if isinstance(value, FunctionType):
        return value.__code__, *(_of(held, depth + 1) for held in _held(value))
    if isinstance(value, type) or not _attributes(value):
        return ("id", id(value))
    return type(value), _items(_attributes(value), depth)


def _items(mapping: Mapping[Any, Any], depth: int) -> tuple[Any, ...]:
    return tuple((str(name), _of(held, depth + 1)) for name, held in mapping.items())

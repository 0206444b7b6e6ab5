"""The compiled way of cells that have none by hand.

A traversal of enough nodes traces, compiles and checks a cell once; where something does not hold,
it runs uncompiled, and :func:`compile_report` gives the reason. Whether there are enough nodes
depends on the present batch alone, and in a training run on the run alone
(:func:`dgltrees.training.run.compiles_run`), never on what ran before.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.cells.base import autocasts
from dgltrees.cells.compiled.check import (
    MOST,
    Fields,
    Outcome,
    Shared,
    Work,
    degrees_of,
    hooked,
    modules_of,
)
from dgltrees.cells.compiled.kernels import compiles, decided
from dgltrees.cells.compiled.loops import CompileError
from dgltrees.cells.compiled.reads import Reads
from dgltrees.cells.compiled.run import Machine
from dgltrees.errors import ConfigError
from dgltrees.traversal.functions import prepared
from dgltrees.traversal.views import IndexedRows
from dgltrees.traversal.ways import Traversal, general_way, goes_second, way_of
from dgltrees.trees.batch import TreeBatch

SMALLEST, ALONE = 32, 2**14
"""The fewest nodes of a batch for which a cell is compiled; and outside of a run, without
gradients, where a few seconds of compiling are seldom repaid."""
WIDEST = 16
"""The most children for which a cell is compiled where all nodes have as many."""

Ints = NDArray[np.int64]
_versions: WeakKeyDictionary[nn.Module, dict[Any, Outcome]] = WeakKeyDictionary()
_reads: WeakKeyDictionary[nn.Module, dict[Any, Reads]] = WeakKeyDictionary()
_of_functions: dict[Any, dict[Any, Outcome]] = {}
_reads_of_functions: dict[Any, Reads] = {}
_lock = threading.RLock()


@general_way
def compiled_traversal(
    traversal: Traversal, batch: TreeBatch, ndata: Shared, edata: Fields
) -> Fields | None:
    """The states of all nodes by compiled code; None where the generic way has to go."""
    rows = {name: t.rows if isinstance(t, IndexedRows) else t for name, t in ndata.items()}
    floats = [t for t in rows.values() if t.is_floating_point()]
    if not floats or not len(batch.src) or not compiles(floats[0]) or autocasts("cpu"):
        return None
    if _watched() or any(type(t) not in (Tensor, nn.Parameter) for t in rows.values()):
        return None
    lasting = torch.is_grad_enabled() or decided()
    if batch.num_nodes < (SMALLEST if lasting else ALONE):
        return None
    three = traversal.message, traversal.reduce, traversal.update
    try:
        modules = modules_of(three)
        versions = _versions_of(modules, three)
        key = _reads_of(modules, three).key, _signature(rows), _signature(edata), traversal.group_by
    except (CompileError, TypeError):
        return None
    work: Work | None = None
    for arity in _arities(traversal, batch):
        place = (*key, arity)
        outcome = versions.get(place)
        if isinstance(outcome, str):
            continue
        if work is None:
            fields: Shared = {n: t for n, t in ndata.items() if not isinstance(t, IndexedRows)}
            if traversal.prepare is not None:
                fields = {**fields, **prepared(traversal.prepare, ndata, batch.num_nodes)}
            work = Work(traversal, batch, fields, edata, modules, _types(traversal, batch, fields))
            work.check_graph()
        if not isinstance(outcome, Machine) or not work.known(outcome):
            with _lock:
                outcome = work.checked(versions.get(place), arity, len(versions))
                if len(versions) <= MOST:
                    versions[place] = outcome
        if isinstance(outcome, Machine):
            return work.run(outcome) if work.in_range(outcome) and not hooked(modules) else None
    return None


def compile_report(cell: nn.Module) -> str:
    """Report whether the functions of a cell run as machine code, and if not, why.

    A cell is compiled when backend ``levels`` runs it over a batch of at least 32 nodes, or 16,384
    without gradients, on a processor, in single or double precision, with numba installed. A
    training run decides once for all its batches (the setting ``training.compile``).

    Arguments:
        cell: a cell, or the module whose methods are passed to :func:`dgltrees.prop_nodes_topo`.

    Returns:
        a sentence; several lines if it depends on the settings and fields that the cell ran with.

    Raises:
        ConfigError: it is no module.
    """
    name = type(cell).__name__
    if not isinstance(cell, nn.Module):
        raise ConfigError(f"expected a cell, or a module whose methods are passed, got {name}")
    versions = _versions.get(cell, {})
    if not versions and way_of(cell) is not None and not goes_second(cell):
        return f"{name} has a compiled way of its own"
    by_settings: dict[Any, list[tuple[int | None, Outcome]]] = {}
    for (*key, arity), outcome in versions.items():
        by_settings.setdefault(tuple(key), []).append((arity, outcome))
    lines = [_explained(name, outcomes) for outcomes in by_settings.values()]
    if len(set(lines)) > 1:
        for number, line in enumerate(lines):
            lines[number] = f"with its {_ordinal(number)} settings or fields, {line}"
    return "\n".join(dict.fromkeys(lines)) or (
        f"{name} is not compiled: it has not run over a batch of {SMALLEST} nodes or more yet"
    )


def _explained(name: str, outcomes: Sequence[tuple[int | None, Outcome]]) -> str:
    """What became of a cell with some settings: for any number of children, or else for some."""
    alone = [arity or 0 for arity, outcome in outcomes[1:] if isinstance(outcome, Machine)]
    (_, first), *_ = outcomes
    if isinstance(first, Machine):
        return f"{name} is compiled"
    if alone:
        numbers = " or ".join(map(str, sorted(alone)))
        return f"{name} is compiled where all nodes have as many children, {numbers}; else {first}"
    return f"{name} is not compiled: {first}"


def _ordinal(number: int) -> str:
    return ("first", "second", "third")[number] if number < 3 else f"{number + 1}th"


def _arities(traversal: Traversal, batch: TreeBatch) -> list[int | None]:
    """Widths of mailboxes to compile for: that of the slots; or any, or else that of all nodes."""
    if traversal.slots is not None:
        return [traversal.slots]
    degrees = degrees_of(batch)
    inner = degrees[degrees > 0]
    same = len(inner) > 0 and inner.min() == inner.max() <= WIDEST
    return [None, int(inner[0])] if same else [None]


def _watched() -> bool:
    """Whether a transform of torch.func or a mode looks at every call, and would miss these."""
    private = ("_are_functorch_transforms_active", "_len_torch_dispatch_stack")
    return any(bool(getattr(torch._C, name, bool)()) for name in private)


def _signature(fields: Mapping[str, Tensor]) -> tuple[Any, ...]:
    return tuple((name, tuple(t.shape[1:]), t.dtype) for name, t in fields.items())


def _versions_of(modules: Sequence[nn.Module], functions: Sequence[Any]) -> dict[Any, Outcome]:
    """The versions of some functions: with their first module, or by their code."""
    if modules:
        return _versions.setdefault(modules[0], {})
    codes = tuple(getattr(function, "__code__", None) for function in functions)
    return _of_functions.setdefault(codes, {})


def _reads_of(modules: Sequence[nn.Module], functions: Sequence[Any]) -> Reads:
    """What functions read now: as the last time, if nothing has changed."""
    codes = tuple(getattr(function, "__code__", None) for function in functions)
    known = _reads.setdefault(modules[0], {}) if modules else _reads_of_functions
    if codes not in known or not known[codes].unchanged():
        known[codes] = Reads(functions)
    return known[codes]


def _types(traversal: Traversal, batch: TreeBatch, fields: Shared) -> Ints | None:
    """The type of each node that has children, 0 at others; None without types."""
    field = None if traversal.group_by is None else fields.get(traversal.group_by)
    if not isinstance(field, Tensor) or field.is_floating_point():
        return None
    types: Ints = batch.on_host(field).numpy().astype(np.int64)
    return types

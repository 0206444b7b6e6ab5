"""The entry point of compiled code, for cells without a manual implementation.

The first traversal of enough nodes traces, compiles and checks a cell. If this is not possible, the
cell runs uncompiled, and :func:`compile_report` gives the reason. Whether there are enough nodes
depends only on the batch, and in a training run only on the run
(:func:`dgltrees.training.run.compiles_run`), never on earlier batches.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.cells.base import autocasts
from dgltrees.cells.compiled.check import (
    MOST,
    Fields,
    Outcome,
    Shared,
    Work,
    degrees_of,
    modules_of,
)
from dgltrees.cells.compiled.kernels import available, compiles, decided
from dgltrees.cells.compiled.loops import CompileError
from dgltrees.cells.compiled.reads import Reads
from dgltrees.cells.compiled.run import Machine
from dgltrees.errors import ConfigError
from dgltrees.traversal.functions import prepared
from dgltrees.traversal.states import outside_checkpoints
from dgltrees.traversal.views import IndexedRows
from dgltrees.traversal.ways import Traversal, goes_second, hooked, watched, way_of
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import Ints

SMALLEST, ALONE = 32, 2**14
"""The fewest nodes of a batch for which a cell is compiled; and outside of a run, without
gradients, where a few seconds of compiling are seldom repaid."""
WIDEST = 16
"""The most children for which a cell is compiled where all nodes have as many."""

_versions: WeakKeyDictionary[nn.Module, dict[Any, Outcome]] = WeakKeyDictionary()
_reads: WeakKeyDictionary[nn.Module, dict[Any, Reads]] = WeakKeyDictionary()
_of_functions: dict[Any, dict[Any, Outcome]] = {}
_reads_of_functions: dict[Any, Reads] = {}
_lock = threading.RLock()


def compiled_traversal(
    traversal: Traversal, batch: TreeBatch, ndata: Shared, edata: Fields
) -> Fields | None:
    """Compute the states of all nodes by compiled code.

    It is None if the functions, the graph or the tensors cannot be compiled.
    """
    rows = {name: t.rows if isinstance(t, IndexedRows) else t for name, t in ndata.items()}
    floats = [t for t in rows.values() if t.is_floating_point()]
    if not floats or not len(batch.src) or not compiles(floats[0]) or autocasts("cpu"):
        return None
    if watched() or any(type(t) not in (Tensor, nn.Parameter) for t in rows.values()):
        return None
    lasting = torch.is_grad_enabled() or decided()
    if batch.num_nodes < (SMALLEST if lasting else ALONE):
        return None
    three = traversal.message, traversal.reduce, traversal.update
    try:
        modules, names = modules_of(three)
        versions = _versions_of(modules, three)
        reads = _reads_of(modules, three).key
        key = (reads, names, _signature(rows), _signature(edata), traversal.group_by)
    except (CompileError, TypeError):
        return None
    if hooked(modules):
        return None
    work: Work | None = None
    for arity in _arities(traversal, batch):
        place = (*key, arity)
        outcome = versions.get(place)
        if isinstance(outcome, str):
            continue
        if work is None:
            fields: Shared = dict(ndata)
            if traversal.prepare is not None:
                fields = {**fields, **prepared(traversal.prepare, ndata, batch.num_nodes)}
            work = Work(traversal, batch, fields, edata, modules, _types(traversal, batch, fields))
            work.check_graph()
        if not isinstance(outcome, Machine) or not work.known(outcome):
            with _lock, outside_checkpoints():  # the check computes gradients of its own
                outcome = work.checked(versions.get(place), arity, len(versions))
                if len(versions) <= MOST:
                    versions[place] = outcome
        if isinstance(outcome, Machine):
            return work.run(outcome) if work.in_range(outcome) else None
    return None


def compile_report(cell: nn.Module) -> str:
    """Report whether the functions of a cell run as machine code, and if not, why.

    A cell is compiled when backend ``"levels"`` runs it over a batch of at least 32 nodes (16,384
    without gradients), on the CPU, in single or double precision, with numba installed. A training
    run decides once for all its batches (setting ``training.compile``).

    Arguments:
        cell: a cell, or the module whose methods are passed to :func:`dgltrees.prop_nodes_topo`.

    Returns:
        a sentence; several lines if the answer depends on settings and fields of earlier runs.

    Raises:
        ConfigError: ``cell`` is not a module.

    Example:
        >>> from dgltrees import compile_report
        >>> from dgltrees.cells import ChildSumTreeLSTM
        >>> compile_report(ChildSumTreeLSTM(2, 3))
        'ChildSumTreeLSTM is not compiled: it has not run over a batch of 32 nodes or more yet'
    """
    name = type(cell).__name__
    if not isinstance(cell, nn.Module):
        raise ConfigError(f"expected a cell, or a module whose methods are passed, got {name}")
    if hooked([cell]):
        return f"{name} is not compiled: one of its modules has hooks"
    versions = _versions.get(cell, {})
    if not versions and way_of(cell) is not None and not goes_second(cell):
        return f"{name} has a manual implementation in compiled code"
    by_settings: dict[Any, list[tuple[int | None, Outcome]]] = {}
    for (*key, arity), outcome in versions.items():
        by_settings.setdefault(tuple(key), []).append((arity, outcome))
    lines = [_explained(name, outcomes) for outcomes in by_settings.values()]
    if not lines and not available():
        needed = "numba (pip install 'dgltrees[compile]') and the BLAS routines of torch"
        return f"{name} is not compiled: that needs {needed}"
    if len(set(lines)) > 1:
        for number, line in enumerate(lines):
            lines[number] = f"with its {_ordinal(number)} settings or fields, {line}"
    return "\n".join(dict.fromkeys(lines)) or (
        f"{name} is not compiled: it has not run over a batch of {SMALLEST} nodes or more yet"
    )


def _explained(name: str, outcomes: Sequence[tuple[int | None, Outcome]]) -> str:
    """Return the sentence about a cell with some settings."""
    alone = [arity or 0 for arity, outcome in outcomes[1:] if isinstance(outcome, Machine)]
    (_, first), *_ = outcomes
    if isinstance(first, Machine):
        return f"{name} is compiled"
    if alone:
        numbers = " or ".join(map(str, sorted(alone)))
        return f"{name} is compiled only if all inner nodes have {numbers} children: {first}"
    return f"{name} is not compiled: {first}"


def _ordinal(number: int) -> str:
    return ("first", "second", "third")[number] if number < 3 else f"{number + 1}th"


def _arities(traversal: Traversal, batch: TreeBatch) -> list[int | None]:
    """Return widths of mailboxes to compile for: of the slots, any (None), or that of all nodes."""
    if traversal.slots is not None:
        return [traversal.slots]
    degrees = degrees_of(batch)
    inner = degrees[degrees > 0]
    same = len(inner) > 0 and inner.min() == inner.max() <= WIDEST
    return [None, int(inner[0])] if same else [None]


def _signature(fields: Mapping[str, Tensor]) -> tuple[Any, ...]:
    return tuple((name, tuple(t.shape[1:]), t.dtype) for name, t in fields.items())


def _versions_of(modules: Sequence[nn.Module], functions: Sequence[Any]) -> dict[Any, Outcome]:
    """Return the versions of some functions: with their first module, or by their code."""
    if modules:
        return _versions.setdefault(modules[0], {})
    codes = tuple(getattr(function, "__code__", None) for function in functions)
    return _of_functions.setdefault(codes, {})


def _reads_of(modules: Sequence[nn.Module], functions: Sequence[Any]) -> Reads:
    """Return the values that functions read now, or the last ones if nothing has changed."""
    codes = tuple(getattr(function, "__code__", None) for function in functions)
    known = _reads.setdefault(modules[0], {}) if modules else _reads_of_functions
    if codes not in known or not known[codes].unchanged(functions):
        known[codes] = Reads(functions)
    return known[codes]


def _types(traversal: Traversal, batch: TreeBatch, fields: Shared) -> Ints | None:
    """Return the type of each node that has children, 0 at others; None without types."""
    field = None if traversal.group_by is None else fields.get(traversal.group_by)
    if not isinstance(field, Tensor) or field.is_floating_point():
        return None
    return batch.on_host(field).numpy().astype(np.int64)

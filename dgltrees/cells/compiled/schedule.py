"""Passes over a loop program: unread steps, fused loops, first values, and the layout of memory.

Lowering writes a nest for each assignment, in the order of the trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import inf, prod
from typing import Any, NamedTuple

from dgltrees.cells.compiled.loops import (
    ALL,
    SLOT,
    Assign,
    Axis,
    Buffer,
    Const,
    Gradient,
    Load,
    Lookup,
    Nest,
    Product,
    Program,
    Step,
    loads,
    moved,
    replaced,
    row_major,
)


def read_of(step: Step) -> Iterator[Load]:
    """Return the loads of a step."""
    return iter([step.x]) if isinstance(step, Product) else step.reads


def written_by(step: Step) -> Iterator[Load]:
    """Return the targets of a step."""
    return iter([step.target]) if isinstance(step, Product) else step.writes


def runs(steps: Iterable[Step]) -> Iterator[list[Nest] | list[Product]]:
    """Group adjacent nests, which share a loop over rows, and adjacent products."""
    return (list(run) for _, run in groupby(steps, type))  # type: ignore[misc]


def without_unread(program: Program) -> None:
    """Remove steps whose results are not read."""
    while True:
        steps = [step for some in program.steps.values() for step in some]
        read = program.kept.union(load.source for step in steps for load in read_of(step))
        unread = {step for step in steps if all(x.source not in read for x in written_by(step))}
        if not unread:
            return
        for some in program.steps.values():
            some[:] = [step for step in some if step not in unread]


# Fusion.


def fused(steps: Sequence[Step]) -> list[Step]:
    """Move nests and products as early as possible, and merge nests of equal loops."""
    result: list[Step] = []
    rest = list(steps)
    while rest:
        blocked: set[Any] = set()
        ready: list[Nest] = []
        later: list[Step] = []
        for step in rest:
            if isinstance(step, Product) or not blocked.isdisjoint(_own_reads(step)):
                blocked.update(load.source for load in written_by(step))
                later.append(step)
            else:
                ready.append(step)
        waiting = {x.source for s in later if isinstance(s, Nest) for x in s.writes}
        products: list[Product] = []
        rest = []
        for step in later:
            if isinstance(step, Product) and step.x.source not in waiting.union(
                p.target.source for p in products
            ):
                products.append(step)
            else:
                waiting.update(load.source for load in written_by(step))
                rest.append(step)
        result += _merged(ready)
        result += products
    return result


def _own_reads(nest: Nest) -> set[Any]:
    """Return the loads of a nest from its own rows, not from those of the children."""
    return {load.source for load in nest.reads if load.rows in ("node", "edge")}


def _merged(nests: Sequence[Nest]) -> list[Nest]:
    """Merge nests of one assignment with the last nest that has equal loops and fits."""
    merged: list[Nest] = []
    where: dict[Any, int] = {}
    for nest in nests:
        first = max((where.get(source, -1) for source in _own_reads(nest)), default=-1)
        for number in range(len(merged) - 1, max(first, 0) - 1, -1):
            host = merged[number]
            if _shape(host) == _shape(nest):
                assign = _renamed(nest, host.axes)
                if number > first or _fits(assign, host):
                    merged[number] = replace(host, body=(*host.body, assign))
                    break
        else:
            number = len(merged)
            merged.append(nest)
        for load in nest.writes:
            where[load.source] = max(where.get(load.source, -1), number)
    return merged


def _shape(nest: Nest) -> tuple[bool, list[int], int]:
    """Return what mergeable nests have in common: loops, and how many of them are merged over."""
    return nest.edges, [axis.size for axis in nest.axes], len(nest.body[0].over)


def _renamed(nest: Nest, axes: Sequence[Axis]) -> Assign:
    """Return the assignment of a nest with other axes."""
    change = {a: (0, ((b, 1),)) for a, b in zip(nest.axes, axes)}
    (assign,) = nest.body
    assert isinstance(assign.target, Load)
    target, expr = moved(assign.target, change), replaced(assign.expr, change)
    over = tuple(axes[len(axes) - len(assign.over) :])
    return replace(assign, target=target, expr=expr, over=over)


def _fits(assign: Assign, nest: Nest) -> bool:
    """Return whether an assignment reads results of the nest only at the same index."""
    written = {a.target.key: a for a in nest.body if isinstance(a.target, Load)}
    sources = {load.source for load in nest.writes}
    for load in loads(assign.expr):
        if load.source in sources and load.rows in ("node", "edge"):
            before = written.get(load.key)
            if before is None or before.merge is not None:
                return False
    return True


FIRST = {"sum": 0.0, "max": -inf, "min": inf}
"""What is merged with the first number."""


def started(steps: Sequence[Step]) -> list[Step]:
    """Add steps that set the first values of targets that are merged with their old values."""
    result: list[Step] = []
    for step in steps:
        plain: list[Assign] = []
        for assign in step.body if isinstance(step, Nest) else ():
            target = assign.target
            if not assign.onto or not isinstance(target, Load):
                continue
            first = Const(FIRST[assign.merge or ""])
            if any(axis is SLOT or isinstance(axis, Lookup) for axis in target.axes):
                column = Axis(target.source.width)  # type: ignore[union-attr]
                whole = Load(target.source, target.rows, 0, ((column, 1),))
                result.append(Nest(False, (column,), (Assign(whole, first),)))
            else:
                plain.append(Assign(target, first))
        if plain:
            assert isinstance(step, Nest)
            axes = step.axes[: len(step.axes) - len(step.body[0].over)]
            result.append(Nest(False, axes, tuple(plain)))
        result.append(step)
    return result


# Where buffers are: as few columns as will do, since memory is what takes time.

LINE, PAGE = 16, 1024
"""Numbers of a cache line; of a page, as wide as which rows would share lines of a cache."""


class Layout(NamedTuple):
    """The columns of a program's buffers and gradients in the tables of nodes and edges.

    Leaves and inner nodes, and nodes of different types, are different rows, so buffers of only one
    of them share columns with those of the others. Columns that the backward pass does not read are
    reused for results of the nest that reads them last. Gradients have separate tables, with
    columns only for buffers that have gradients.

    Attributes:
        offsets: the first column of each buffer and gradient.
        widths: the numbers of columns of the tables of nodes and of edges, and of their gradients.
    """

    offsets: Mapping[Buffer | Gradient, int]
    widths: tuple[int, int, int, int]


def layout_of(program: Program, needed: set[Any], derived: set[Buffer]) -> Layout:
    """Compute the layout of a program."""
    of_phase = _phases_of(program)
    hosts = _hosts(program, needed)
    columns, values = _columns([b for b in program.buffers if b not in hosts], of_phase)
    gradients, others = _columns([b for b in program.buffers if b in derived], of_phase)
    offsets = dict[Buffer | Gradient, int](columns.items())
    offsets.update((Gradient(buffer), at) for buffer, at in gradients.items())
    for buffer, (host, shift) in hosts.items():  # a host has columns of its own
        offsets[buffer] = columns[host] + shift
    return Layout(offsets, (*values, *others))


def _phases_of(program: Program) -> dict[Buffer, str]:
    """Return the buffers that only some rows have: leaves, other nodes, or those of one type."""
    seen: dict[Any, set[str]] = {}
    for phase, steps in program.steps.items():
        for load in (x for s in steps for x in (*written_by(s), *read_of(s))):
            which = "child" if load.rows == "child" else phase.name
            seen.setdefault(load.source, set()).add(which)
    some = {phase.name for phase in program.steps if phase != ALL}
    return {
        buffer: min(which)
        for buffer, which in seen.items()
        if len(which) == 1 and which <= some
        if isinstance(buffer, Buffer) and buffer not in program.kept
    }


def _columns(
    buffers: Sequence[Buffer], of_phase: Mapping[Buffer, str]
) -> tuple[dict[Buffer, int], tuple[int, int]]:
    """Return the first column of each buffer; the numbers of columns of nodes and of edges."""
    offsets: dict[Buffer, int] = {}
    phases = ["", *sorted(set(of_phase.values()))]
    ends = {(rows, phase): 0 for rows in ("node", "edge") for phase in phases}
    for phase in phases:
        for buffer in buffers:
            if of_phase.get(buffer, "") == phase:
                shared = ends[buffer.rows, ""] if phase else 0
                offsets[buffer] = shared + ends[buffer.rows, phase]
                ends[buffer.rows, phase] += buffer.width
    node, edge = (
        ends[rows, ""] + max([0, *(ends[rows, phase] for phase in phases[1:])])
        for rows in ("node", "edge")
    )
    return offsets, (_padded(node), _padded(edge))


def _padded(width: int) -> int:
    return width + LINE if width and width % PAGE == 0 else width


def _hosts(program: Program, needed: set[Any]) -> dict[Buffer, tuple[Buffer, int]]:
    """Return buffers that reuse the columns of another, which their nest is the last to read."""
    steps = [step for some in program.steps.values() for step in some]
    nests = [step for step in steps if isinstance(step, Nest)]
    readers: dict[Any, list[tuple[Step, int, Load]]] = {}
    writes: dict[Any, int] = {}
    for step in steps:
        for load in written_by(step):
            writes[load.source] = writes.get(load.source, 0) + 1
        if isinstance(step, Product):
            readers.setdefault(step.x.source, []).append((step, 0, step.x))
            continue
        for number, assign in enumerate(step.body):
            for load in loads(assign.expr):
                readers.setdefault(load.source, []).append((step, number, load))
    hosts: dict[Buffer, tuple[Buffer, int]] = {}
    for nest in nests:
        free: dict[Any, tuple[int, Load, Buffer]] = {}  # by key, with the first that reads it
        for source, reads in readers.items():
            if not isinstance(source, Buffer) or source in needed or source in program.kept:
                continue
            if all(step is nest and load.rows == source.rows for step, _, load in reads):
                for _, number, load in reads:
                    free.setdefault(load.key, (number, load, source))
        slices = _disjoint(list(free.values()))
        for number, assign in enumerate(nest.body):
            target = assign.target
            assert isinstance(target, Load)
            buffer = target.source
            if assign.merge or buffer in program.kept or writes[buffer] > 1:
                continue
            if not isinstance(buffer, Buffer) or not _fills(target, nest.axes, buffer):
                continue
            for each in slices:
                first, load, host = each
                same = dict(load.strides) == dict(target.strides) and load.rows == target.rows
                if same and first <= number and buffer is not host:
                    hosts[buffer] = host, load.offset
                    slices.remove(each)
                    break
    return {buffer: at for buffer, at in hosts.items() if at[0] not in hosts}


def _fills(target: Load, axes: Sequence[Axis], buffer: Buffer) -> bool:
    """Return whether an assignment writes all numbers of a buffer, in order."""
    strides = {axis: stride for axis, stride in target.strides if axis.size > 1}
    dense = {axis: stride for axis, stride in row_major(axes) if axis.size > 1}
    return strides == dense and prod(axis.size for axis in axes) == buffer.width


def _disjoint(reads: list[tuple[int, Load, Buffer]]) -> list[tuple[int, Load, Buffer]]:
    """Return the loads of a nest that share no number with another."""
    spans = [
        (host, load.offset, load.offset + 1 + sum((a.size - 1) * s for a, s in load.strides))
        for _, load, host in reads
    ]
    return [
        read
        for i, read in enumerate(reads)
        if not any(
            spans[i][0] is b and spans[i][1] < stop and start < spans[i][2]
            for j, (b, start, stop) in enumerate(spans)
            if j != i
        )
    ]

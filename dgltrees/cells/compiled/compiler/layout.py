"""Where the buffers of a program are: as few columns as will do, since memory is what takes time.

Leaves and inner nodes, and nodes of different types, are different rows, so what only one of them
computes shares columns with what only the others do. What the backward pass does not read gives
its columns to results of the loop that reads it last. Gradients have tables of their own, with
columns for what has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from dgltrees.cells.compiled.compiler.expressions import Buffer, Load, loads, row_major
from dgltrees.cells.compiled.compiler.loops import Group, Layout, key_of
from dgltrees.cells.compiled.compiler.statements import (
    SEND,
    Phase,
    Product,
    Program,
    Statement,
)

__all__ = ["compact"]

Phases = Mapping[Phase, Sequence[tuple[Sequence[Group], Sequence[Product]]]]
LINE, PAGE = 16, 1024
"""Numbers of a cache line; of a page, as wide as which rows would share lines of a cache."""


def compact(program: Program, phases: Phases, needed: set[Any], derived: set[Buffer]) -> Layout:
    """The layout of a program.

    Arguments:
        program: what is computed.
        phases: the stages of each kind of steps.
        needed: what the backward pass reads.
        derived: the buffers that have gradients.
    """
    of_phase = _phases_of(program)
    hosts = _hosts(program, phases, needed)
    own = [b for b in program.buffers if b not in hosts]
    offsets, values = _columns(own, of_phase)
    for buffer, (host, shift) in hosts.items():  # a host has columns of its own
        offsets[buffer] = offsets[host] + shift
    gradients, others = _columns([b for b in program.buffers if b in derived], of_phase)
    return Layout(offsets, gradients, (*values, *others))


def _phases_of(program: Program) -> dict[Buffer, str]:
    """The buffers that only some rows have: leaves, other nodes, or those of one type."""
    seen: dict[Any, set[str]] = {}
    for phase, steps in program.steps.items():
        for step in steps:
            read = [step.x] if isinstance(step, Product) else list(loads(step.expr))
            for load in (step.target, *read):
                which = "child" if load.rows == "child" else phase.name
                seen.setdefault(load.source, set()).add(which)
    for buffer, _ in program.states.values():
        seen[buffer] = {"state"}
    some = {phase.name for phase in program.steps if phase != SEND}
    return {
        buffer: min(which)
        for buffer, which in seen.items()
        if len(which) == 1 and which <= some and isinstance(buffer, Buffer)
    }


def _columns(
    buffers: Sequence[Buffer], of_phase: Mapping[Buffer, str]
) -> tuple[dict[Buffer, int], tuple[int, int]]:
    """The first column of each buffer; the numbers of columns of nodes and of edges."""
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


def _hosts(program: Program, phases: Phases, needed: set[Any]) -> dict[Buffer, tuple[Buffer, int]]:
    """Buffers that stand in columns of another, which is read last by the loop that writes them."""
    readers: dict[Any, list[tuple[Group | None, int, Load]]] = {}
    writes: dict[Any, int] = {}
    stages = [stage for each in phases.values() for stage in each]
    groups = [group for some, _ in stages for group in some]
    for _, products in stages:
        for p in products:
            writes[p.target.source] = writes.get(p.target.source, 0) + 1
            readers.setdefault(p.x.source, []).append((None, 0, p.x))
    for group in groups:
        for number, s in enumerate(group.statements):
            writes[s.target.source] = writes.get(s.target.source, 0) + 1
            for load in loads(s.expr):
                readers.setdefault(load.source, []).append((group, number, load))
    states = {buffer for buffer, _ in program.states.values()}
    hosts: dict[Buffer, tuple[Buffer, int]] = {}
    for group in groups:
        free: dict[Any, tuple[int, Load, Buffer]] = {}  # by key, with the first that reads it
        for source, reads in readers.items():
            if not isinstance(source, Buffer) or source in needed or source in states:
                continue
            if all(g is group and load.rows == source.rows for g, _, load in reads):
                for _, number, load in reads:
                    free.setdefault(key_of(load), (number, load, source))
        slices = _disjoint(list(free.values()))
        for number, s in enumerate(group.statements):
            target = s.target.source
            if s.reduction or target in states or writes[target] > 1 or not _dense(s, target):
                continue
            for each in slices:
                first, load, host = each
                same = dict(load.strides) == dict(s.target.strides) and load.rows == s.target.rows
                if same and first <= number and isinstance(target, Buffer) and target is not host:
                    hosts[target] = host, load.offset
                    slices.remove(each)
                    break
    return {b: at for b, at in hosts.items() if at[0] not in hosts}


def _dense(statement: Statement, source: Any) -> bool:
    """Whether a statement writes all numbers of a buffer, in order."""
    strides = {axis: stride for axis, stride in statement.target.strides if axis.size > 1}
    dense = {axis: stride for axis, stride in row_major(statement.axes) if axis.size > 1}
    return strides == dense and prod(axis.size for axis in statement.axes) == source.width


def _disjoint(reads: list[tuple[int, Load, Buffer]]) -> list[tuple[int, Load, Buffer]]:
    """Those reads of a loop that share no number with another."""
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

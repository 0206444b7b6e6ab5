"""Loops over the nodes of a level, their children, and the entries of a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from dgltrees.cells.compiled.compiler.expressions import (
    SLOT,
    Axis,
    Buffer,
    Const,
    Degree,
    Expr,
    Input,
    Load,
    Lookup,
    Op,
    Position,
    loads,
    replaced,
)
from dgltrees.cells.compiled.compiler.scalar import RULES
from dgltrees.cells.compiled.compiler.statements import Product, Statement, Step

__all__ = [
    "Group",
    "Layout",
    "Loop",
    "Writer",
    "key_of",
    "needed_rows",
    "open_edges",
    "open_nodes",
    "row_of",
    "stages",
    "table_of",
    "write_rows",
]


@dataclass
class Layout:
    """Where the buffers of a program, and their gradients, are in the tables of nodes and edges.

    Attributes:
        offsets, gradients: the first column of each buffer, and of its gradient.
        widths: the numbers of columns of T, E, G and H.
    """

    offsets: Mapping[Buffer, int]
    gradients: Mapping[Buffer, int]
    widths: tuple[int, int, int, int]


@dataclass
class Group:
    """Statements in one loop: over nodes or edges, and the same axes."""

    edges: bool
    axes: tuple[Axis, ...]
    over: tuple[Axis, ...]
    statements: list[Statement] = field(default_factory=list)

    @property
    def key(self) -> tuple[Any, ...]:
        """What groups that fit together have in common."""
        return self.edges, *_sizes(self.axes), -1, *_sizes(self.over)


def _sizes(axes: Iterable[Axis]) -> tuple[int, ...]:
    return tuple(axis.size for axis in axes)


def stages(steps: Sequence[Step]) -> list[tuple[list[Group], list[Product]]]:
    """Loops and products in turn, each as early as it can be."""
    result, rest = [], list(steps)
    while rest:
        blocked: set[Buffer] = set()
        ready: list[Statement] = []
        later: list[Step] = []
        for step in rest:
            if isinstance(step, Product) or not blocked.isdisjoint(_reads(step)):
                blocked.add(step.target.source)  # type: ignore[arg-type]
                later.append(step)
            else:
                ready.append(step)
        waiting = {s.target.source for s in later if isinstance(s, Statement)}
        products: list[Product] = []
        rest = []
        for step in later:
            if isinstance(step, Product) and step.x.source not in waiting.union(
                p.target.source for p in products
            ):
                products.append(step)
            else:
                waiting.add(step.target.source)
                rest.append(step)
        result.append((_grouped(ready), products))
    return result


def _reads(step: Statement) -> set[Any]:
    return {load.source for load in loads(step.expr) if load.rows in ("node", "edge")}


def _grouped(statements: Sequence[Statement]) -> list[Group]:
    """Statements by loop: each in the last loop that it can be in."""
    groups: list[Group] = []
    where: dict[Any, int] = {}
    for statement in statements:
        new = Group(statement.edges, statement.axes, statement.over)
        first = max((where.get(source, -1) for source in _reads(statement)), default=-1)
        for number in range(len(groups) - 1, max(first, 0) - 1, -1):
            group = groups[number]
            if group.key == new.key:
                moved = _renamed(statement, group)
                if number > first or _fits(moved, group):
                    group.statements.append(moved)
                    break
        else:
            groups.append(new)
            new.statements.append(statement)
            number = len(groups) - 1
        source = statement.target.source
        where[source] = max(where.get(source, -1), number)
    return groups


def _renamed(statement: Statement, group: Group) -> Statement:
    """A statement with the axes of a loop."""
    own, theirs = statement.axes + statement.over, group.axes + group.over
    change = {a: (0, ((b, 1),)) for a, b in zip(own, theirs)}
    target = replaced(statement.target, change)
    assert isinstance(target, Load)
    return Statement(
        target,
        group.axes,
        replaced(statement.expr, change),
        statement.reduction,
        group.over,
        statement.children,
    )


def _fits(statement: Statement, group: Group) -> bool:
    """Whether a statement reads what the loop has written at the same index alone."""
    written = {key_of(s.target): s for s in group.statements}
    sources = {s.target.source for s in group.statements}
    for load in loads(statement.expr):
        if load.source in sources and load.rows in ("node", "edge"):
            before = written.get(key_of(load))
            if before is None or before.reduction is not None:
                return False
    return True


def key_of(load: Load) -> tuple[Any, ...]:
    """What two loads of the same number have in common."""
    strides = frozenset((axis, stride) for axis, stride in load.strides if stride)
    return load.source, load.rows, load.offset, strides


class Writer:
    """Lines of Python."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def __call__(self, line: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.depth + line)

    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines) + "\n"


class Loop:
    """The body of a loop over axes, whose lines stand as far outside as they can."""

    def __init__(self, group: Group, layout: Layout) -> None:
        self.group, self.layout = group, layout
        self.axes = group.axes + group.over
        self.before: list[list[str]] = [[] for _ in range(len(self.axes) + 1)]
        self.after: list[list[str]] = [[] for _ in range(len(self.axes) + 1)]
        self.names: dict[Any, tuple[str, int]] = {}
        self.sources: dict[str, Any] = {}
        self.fresh = (f"x{i}" for i in count())

    def depth(self, load: Load) -> int:
        """How many loops a load is in."""
        axes = [a.of if isinstance(a, Lookup) else a for a, stride in load.strides if stride]
        return max((self.axes.index(a) + 1 for a in axes if a is not SLOT), default=0)

    def at(self, load: Load, gradient: bool = False) -> str:
        """The place of a number, such as ``t[128 + j0]``, or of its gradient."""
        begins = self.layout.gradients if gradient else self.layout.offsets
        offset = load.offset + begins.get(load.source, 0)  # type: ignore[arg-type]
        terms = [str(offset)] if offset else []
        for axis, stride in load.strides:
            if stride:
                name = self._index(axis)
                terms.append(name if stride == 1 else f"{stride} * {name}")
        return f"{row_of(load, gradient)}[{' + '.join(terms) or '0'}]"

    def _index(self, axis: Axis) -> str:
        if axis is SLOT:
            return "slot"
        if isinstance(axis, Lookup):
            return f"np.int64({row_of(table_row(axis))}[j{self.axes.index(axis.of)}])"
        return f"j{self.axes.index(axis)}"

    def load(self, load: Load) -> str:
        """The variable that holds a number."""
        key = key_of(load)
        if key not in self.names:
            depth = self.depth(load)
            self.names[key] = self.define(self.at(load), depth), depth
            self.sources[self.names[key][0]] = load.source
        return self.names[key][0]

    def define(self, code: str, depth: int) -> str:
        """A new variable."""
        name = next(self.fresh)
        self.before[depth].append(f"{name} = {code}")
        return name

    def compute(self, expr: Expr) -> tuple[str, int]:
        """The variable or literal that holds an expression, and how many loops it is in."""
        if isinstance(expr, Load):
            return self.load(expr), self.names[key_of(expr)][1]
        if isinstance(expr, Const):
            return f"number({expr.value!r})".replace("inf", "np.inf"), 0
        if isinstance(expr, Degree):
            return "degree", 0
        if isinstance(expr, Position):
            return "place", 0
        args = [self.compute(arg) for arg in expr.args]
        key = (expr.name, *(code for code, _ in args))
        if key not in self.names:
            depth = max((depth for _, depth in args), default=0)
            code = RULES[expr.name].code.format(*(code for code, _ in args))
            self.names[key] = self.define(code, depth), depth
        return self.names[key]

    def clean(self) -> set[Any]:
        """Leave out variables that nothing reads; the sources that are read."""
        lines = [line for place in (*self.before, *self.after) for line in place]
        defined: dict[str, list[str]] = {}
        used: set[str] = set()
        for line in lines:
            if match := _DEFINITION.match(line):
                defined.setdefault(match[1], []).append(line)
            else:
                used.update(_names(line))
        for name in sorted(defined, key=lambda name: -int(name[1:])):  # each reads earlier ones
            if name in used:
                used.update(n for line in defined[name] for n in _names(line))
        dead = {line for name in defined.keys() - used for line in defined[name]}
        for place in (*self.before, *self.after):
            place[:] = [line for line in place if line not in dead]
        return {source for name, source in self.sources.items() if name in used}

    def write(self, out: Writer) -> None:
        """Write the loops."""
        self.clean()
        start = out.depth
        for depth, axis in enumerate((*self.axes, None)):
            for line in self.before[depth]:
                out(line)
            if axis is not None:
                out(f"for j{depth} in range({axis.size}):")
                out.depth += 1
        if not any((self.before[-1], self.after[-1])):
            out("pass")
        for depth in range(len(self.axes), -1, -1):
            out.depth = start + depth
            for line in self.after[depth]:
                out(line)
        out.depth = start


_DEFINITION = re.compile(r"(x\d+) = ")


def _names(line: str) -> list[str]:
    """The variables in a line, but that which it defines."""
    return re.findall(r"\bx\d+\b", _DEFINITION.sub("", line, count=1))


def table_row(axis: Lookup) -> Load:
    """The load of the table that an index is read from."""
    return Load(axis.table, "none", 0, ())


def row_of(load: Load, gradient: bool = False) -> str:
    """The name of the row that a load reads, or of its gradient."""
    kind = {"node": "", "child": "c", "edge": "e", "type": "k", "none": "p"}[load.rows]
    if isinstance(load.source, Input):
        return f"{'d' if gradient else ''}i{load.source.number}{kind}"
    return f"{'g' if gradient else 't'}{kind}"


def open_nodes(out: Writer, groups: Sequence[Group]) -> None:
    """Begin a loop over the nodes of a level."""
    out("for v in range(start, stop):")
    out.depth += 1
    exprs = [e for group in groups for s in group.statements for e in leaves(s.expr)]
    if any(isinstance(e, Degree) for e in exprs):
        out("degree = number(edges[v + 1] - edges[v])")


def open_edges(out: Writer, group: Group) -> None:
    """Begin a loop over the edges of a node."""
    out("for e in range(edges[v], edges[v + 1]):")
    out.depth += 1
    out("u = child[e]")
    if any(isinstance(e, Position) for s in group.statements for e in leaves(s.expr)):
        out("place = number(e - edges[v])")
    if any(axis is SLOT for s in group.statements for axis, _ in s.target.strides):
        out("slot = slots[e]")


def leaves(expr: Expr) -> Iterator[Expr]:
    """What an expression is made of, without operations."""
    if isinstance(expr, Op):
        for arg in expr.args:
            yield from leaves(arg)
    else:
        yield expr


def needed_rows(reads: Iterable[Load], gradients: Iterable[Load]) -> dict[str, str]:
    """The rows that a loop needs, as a name and an expression each."""
    rows: dict[str, str] = {}
    reads = list(reads)
    strides = [axis for load in reads for axis, _ in load.strides]
    reads += [table_row(axis) for axis in strides if isinstance(axis, Lookup)]
    for gradient, some in ((False, reads), (True, gradients)):
        for load in some:
            name = row_of(load, gradient)
            source = load.source
            index = {"node": "v", "child": "u", "edge": "e"}.get(load.rows, "")
            if isinstance(source, Input):
                table = f"{'D' if gradient else 'I'}{source.number}"
                where = {"node": "rows[v]", "child": "rows[u]", "edge": "numbers[e]"}
                if load.rows == "none":
                    rows[name] = f"{table}[thread]" if gradient else table
                elif load.rows == "type":
                    rows[name] = f"{table}[thread, kind]" if gradient else f"{table}[kind]"
                else:
                    own = f"thread % len({table}), " if gradient and load.rows != "edge" else ""
                    rows[name] = f"{table}[{own}{where[load.rows]}]"
            else:
                table = (
                    ("G" if gradient else "T")
                    if load.rows != "edge"
                    else ("H" if gradient else "E")
                )
                base = (" - base" if load.rows != "edge" else " - edge_base") if gradient else ""
                rows[name] = f"{table}[{index}{base}]"
    return rows


def write_rows(out: Writer, rows: dict[str, str], inner: bool) -> None:
    """Write the rows of the node, or those of the edge and its child."""
    for name, code in rows.items():
        if _of_edge(code) == inner:
            out(f"{name} = {code}")


def _of_edge(code: str) -> bool:
    return "[u" in code or "[e" in code or "[order[u]" in code or "[numbers[e]" in code


def table_of(load: Load, gradient: bool) -> str:
    """The table that holds a number, or its gradient."""
    if load.rows == "edge":
        return "H" if gradient else "E"
    return "G" if gradient else "T"

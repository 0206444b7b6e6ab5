"""Python code of a loop program, for numba: all levels of a shard, forwards and backwards.

A row of the table ``T`` holds all buffers of a node, and a row of ``E`` those of an edge, so that
within a row the compiler knows which numbers are which; ``G`` and ``H`` hold their gradients. A run
of nests is one loop over the nodes of a level, in a function of its own; products are calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from dgltrees.cells.compiled.derivative import Derivative, nesting
from dgltrees.cells.compiled.loops import (
    ALL,
    OPERATIONS,
    SLOT,
    ZERO,
    Assign,
    Axis,
    Buffer,
    Const,
    Degree,
    Expr,
    Gradient,
    Input,
    Load,
    Lookup,
    Name,
    Nest,
    Op,
    Phase,
    Position,
    Product,
    Program,
    Step,
    WeightGradient,
    leaves,
)
from dgltrees.cells.compiled.schedule import Layout, runs, started

BOUNDS = "first, given, middle, last, leaf, low, high, above, leaf_run, inner_run, end_run"
PLAN = "order", "edges", "child", "numbers", "slots", "rows"
SPANS = {"send": "first, last", "leaf": "given, middle", "inner": "middle, last"}
"""The rows that steps of each phase are done for, and their runs of the same type."""
RUNS = {"leaf": "leaf_run, inner_run", "inner": "inner_run, end_run"}
ABOVE = "levels[above, 0] if above < high else last, last"
"""The rows above the lowest level of inner nodes, where all children are leaves."""
FIRST = {"sum": "number(0)", "max": "number(-np.inf)", "min": "number(np.inf)"}
MERGE = {"sum": "{0} + {1}", "max": "larger({0}, {1})", "min": "smaller({0}, {1})"}


class Text:
    """Lines of Python."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def __call__(self, *lines: str) -> None:
        """Write lines."""
        self.lines += ["    " * self.depth + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write a line, and within this context the lines below it."""
        self(head)
        self.depth += 1
        yield
        self.depth -= 1

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


class Row(NamedTuple):
    """A row of a table: its variable, where it is, and the arguments that this reads."""

    name: str
    code: str
    needs: tuple[str, ...]


LETTERS = {"node": "", "child": "c", "edge": "e", "type": "k", "none": "p"}
ROWS = {
    ("t", "node"): ("T[v]", "T"),
    ("t", "child"): ("T[u]", "T"),
    ("t", "edge"): ("E[e]", "E"),
    ("g", "node"): ("G[v - base]", "G base"),
    ("g", "child"): ("G[u - base]", "G base"),
    ("g", "edge"): ("H[e - edge_base]", "H edge_base"),
    ("i", "node"): ("I{n}[rows[v]]", "I{n} rows"),
    ("i", "child"): ("I{n}[rows[u]]", "I{n} rows"),
    ("i", "edge"): ("I{n}[numbers[e]]", "I{n} numbers"),
    ("i", "type"): ("I{n}[kind]", "I{n} kind"),
    ("i", "none"): ("I{n}", "I{n}"),
    ("di", "node"): ("D{n}[thread % len(D{n}), rows[v]]", "D{n} thread rows"),
    ("di", "child"): ("D{n}[thread % len(D{n}), rows[u]]", "D{n} thread rows"),
    ("di", "edge"): ("D{n}[numbers[e]]", "D{n} numbers"),
    ("di", "type"): ("D{n}[thread, kind]", "D{n} thread kind"),
    ("di", "none"): ("D{n}[thread]", "D{n} thread"),
}
"""Rows of buffers, inputs and the gradients of both; each thread has totals of its own."""


def row_of(load: Load) -> Row:
    """Return the row that a load reads."""
    source, gradient = load.source, isinstance(load.source, Gradient)
    table = source.of if isinstance(source, Gradient) else source
    if isinstance(table, Buffer):
        kind, number = "tg"[gradient], ""
    else:
        kind, number = "di" if gradient else "i", str(table.number)
    code, needs = (text.format(n=number) for text in ROWS[kind, load.rows])
    return Row(f"{kind}{number}{LETTERS[load.rows]}", code, tuple(needs.split()))


class Code:
    """The code of ``up_shard`` or ``down_shard``, and of the functions that it calls."""

    def __init__(self, program: Program, layout: Layout, name: str, arguments: str) -> None:
        self.program, self.layout, self.name = program, layout, name
        inputs = [i.number for i in program.inputs.values()]
        tables = [f"{letter}{i}" for i in inputs for letter in "ID"]
        outputs = [f"O{i}" for i in range(len(program.states))]
        spaces = "T", "E", "G", "H", "base", "edge_base", "thread"
        self.order = ["start", "stop", "kind", *PLAN, *spaces, *tables, *outputs]
        self.functions: list[str] = []
        self.main = out = Text()
        out('@njit(inline="always", **INNER)', f"def {name}_shard({arguments}):")  # compiled once
        out.depth = 1
        out(f"bounds, levels, runs, {', '.join(PLAN)} = plan")
        out("".join(f"I{i}, " for i in inputs) + "= inputs")
        out("".join(f"{name}, " for name in outputs) + "= outputs")
        out("space = scratch(T)")
        out(f"{BOUNDS} = bounds[shard]")

    def __str__(self) -> str:
        return "\n\n".join([*self.functions, str(self.main)])

    def function(self, name: str, body: Text, needs: Iterable[str]) -> str:
        """Add a function of the rows of a level, and return a call of it."""
        read = {"start", "stop", "T", *needs}
        call = f"{self.name}_{name}({', '.join(each for each in self.order if each in read)})"
        out = Text()
        out("@njit(**INNER)", f"def {call}:")
        out.depth = 1
        out("number = T.dtype.type", *body.lines)
        self.functions.append(str(out))
        return call

    def columns(self, load: Load, width: int) -> str:
        """Return the columns of a product, in the rows of a level."""
        source, gradient = load.source, isinstance(load.source, Gradient)
        assert not isinstance(source, Input)
        begin = self.layout.offsets[source] + load.offset
        rows, base, table = "start:stop", "base", "TG"[gradient]
        if load.rows == "edge":
            rows, base, table = "edges[start]:edges[stop]", "edge_base", "EH"[gradient]
        if gradient:
            rows = rows.replace(":", f" - {base} : ") + f" - {base}"
        return f"{table}[{rows}, {begin}:{begin + width}]"

    def steps(self, phase: Phase, steps: Sequence[Step]) -> list[str]:
        """Return calls for the rows of a level."""
        lines: list[str] = []
        for number, run in enumerate(runs(steps)):
            nests = [step for step in run if isinstance(step, Nest)]
            lines += [self.nests(f"{phase.name}_{number}", nests)] if nests else []
            for step in run:
                lines += self.product(step) if isinstance(step, Product) else []
        return lines

    def nests(self, name: str, nests: Sequence[Nest]) -> str:
        """Return a call of a function of nests, in one loop over the nodes of a level."""
        return self.function(name, *printed_nests(nests, self.layout))

    def product(self, p: Product) -> list[str]:
        """Return the call of a product; none on the lowest inner level if it is zero there."""
        k, m = p.shape[::-1] if p.turned else p.shape
        x, target, weight = self.columns(p.x, k), self.columns(p.target, m), matrix(p)
        function = "multiply_by_transposed" if p.turned else "multiply"
        call = f"{function}({x}, {weight}, {target}, {float(p.onto)}, space)"
        if not p.above:
            return [call]
        otherwise = "pass" if p.onto else f"{target}[:] = 0"
        return ["if level >= above:", f"    {call}", "else:", f"    {otherwise}"]

    def each(self, item: str, span: str, calls: Sequence[tuple[Phase, Sequence[str]]]) -> None:
        """Return a loop over levels, or over runs of them, whose rows are of one type each."""
        with self.main.block(f"for {item} in range({span}):"):
            self.main(f"start, stop, kind = {item}s[{item}]")
            for phase, lines in calls:
                if phase.kind is None or not lines:
                    self.main(*lines)
                    continue
                with self.main.block(f"if kind == {phase.kind}:"):
                    self.main(*lines)

    def given(self, calls: Sequence[str]) -> None:
        """Return calls for the rows whose states are given."""
        with self.main.block("if given > first:"):
            self.main("start, stop, kind = first, given, 0", *calls)

    def states(self, name: str, code: str, gradient: bool = False) -> str:
        """Return a function that copies the columns of all states, or of their gradients."""
        out, needs = Text(), {"order"}
        with out.block("for v in range(start, stop):"):
            for number, (buffer, _) in enumerate(self.program.states.values()):
                source = Gradient(buffer) if gradient else buffer
                row = row_of(Load(source, "node", 0, ()))
                begin = self.layout.offsets[source]
                columns = f"{row.code[:-1]}, {begin}:{begin + buffer.width}]"
                out(code.format(columns=columns, outside=f"O{number}"))
                needs.update(row.needs, [f"O{number}"])
        return self.function(name, out, needs)


def matrix(p: Product, gradient: bool = False) -> str:
    """Return the weight of a product, or its gradient."""
    k, m = p.shape
    kind = ["kind"] if p.weight.rows == "type" else []
    numbers = f"{p.first}:{p.first + k * m}"
    where = ", ".join([*(["thread"] if gradient else []), *kind, numbers])
    return f"{'D' if gradient else 'I'}{p.weight.number}[{where}].reshape({k}, {m})"


def printed_up(program: Program, layout: Layout) -> str:
    """Print the code of ``up_shard``, which computes the states of a shard."""
    code = Code(program, layout, "up", "shard, plan, T, E, inputs, outputs")
    calls = {phase: code.steps(phase, started(steps)) for phase, steps in program.steps.items()}
    code.given([code.states("given", "copy({columns}, {outside}[order[v]])"), *calls[ALL]])
    for rows, levels in (("leaf", "leaf, low"), ("inner", "low, high")):
        at_level = [(phase, calls[phase]) for phase in (*program.phases(rows), ALL)]
        code.each("level", levels, at_level)
    code.main("start, stop, kind = given, last, 0")
    code.main(code.states("states", "copy({outside}[order[v]], {columns})"))
    return str(code)


def printed_down(program: Program, derivative: Derivative, layout: Layout) -> str:
    """Print the code of ``down_shard``, which computes the gradients of a shard."""
    arguments = "shard, thread, plan, T, E, G, H, inputs, outputs, totals"
    code = Code(program, layout, "down", arguments)
    out = code.main
    calls = {phase: code.steps(phase, steps) for phase, steps in derivative.steps.items()}
    out("".join(f"D{i.number}, " for i in program.inputs.values()) + "= totals")
    out("base, edge_base = first, edges[first]")
    code.given([code.nests("clear_given", cleared(program.kept))])
    others = derivative.cleared - program.kept
    if others:
        out("start, stop, kind = first, last, 0", code.nests("clear", cleared(others)))
    out("start, stop, kind = given, last, 0")
    out(code.states("outside", "outside_gradient({columns}, {outside}, order[v])", True))
    for rows, levels in (("inner", "high - 1, low - 1, -1"), ("leaf", "low - 1, leaf - 1, -1")):
        at_level = [(phase, calls[phase]) for phase in (ALL, *program.phases(rows))]
        code.each("level", levels, at_level)
    code.given([*calls[ALL], code.states("given", "add({outside}[order[v]], {columns})", True)])
    for phase, weights in derivative.weights.items():
        by_type = [w for w in weights if w.product.weight.rows == "type" or phase.kind is not None]
        above = [w for w in weights if w.product.above and not program.types]
        rest = [w for w in weights if w not in (*by_type, *above)]
        for some, rows in ((rest, SPANS[phase.rows]), (above, ABOVE)):
            if some:
                out(f"start, stop, kind = {rows}, 0", *(_of_weight(code, w) for w in some))
        if by_type:
            lines = [_of_weight(code, w) for w in by_type]
            code.each("run", RUNS[phase.rows], [(phase, lines)])
    return str(code)


def _of_weight(code: Code, w: WeightGradient) -> str:
    k, m = w.product.shape
    x, y = code.columns(w.product.x, k), code.columns(w.y, m)
    return f"multiply_transposed({x}, {y}, {matrix(w.product, gradient=True)}, space)"


def cleared(buffers: Iterable[Buffer]) -> list[Nest]:
    """Return nests that clear the gradients of buffers."""
    nests = []
    for buffer in sorted(buffers, key=lambda b: (b.rows != "node", b.number)):
        column = Axis(buffer.width)
        target = Load(Gradient(buffer), buffer.rows, 0, ((column, 1),))
        nests.append(Nest(buffer.rows == "edge", (column,), (Assign(target, ZERO),)))
    return nests


def printed_nests(nests: Sequence[Nest], layout: Layout) -> tuple[Text, set[str]]:
    """Print the loop over a level that some nests share, and return the arguments that it reads."""
    out, needs = Text(), set[str]()
    used = [leaf for nest in nests for leaf in _used(nest)]
    with out.block("for v in range(start, stop):"):
        if any(isinstance(leaf, Degree) for leaf in used):
            out("degree = number(edges[v + 1] - edges[v])")
            needs.add("edges")
        _write_rows(out, needs, used, inner=False)
        for nest in nests:
            body = Body(nest, layout)
            if not nest.edges:
                body.write(out)
                continue
            with out.block("for e in range(edges[v], edges[v + 1]):"):
                own = _used(nest)
                out("u = child[e]")
                needs.update(["edges", "child"])
                if any(isinstance(leaf, Position) for leaf in own):
                    out("place = number(e - edges[v])")
                if any(isinstance(leaf, Load) and SLOT in leaf.axes for leaf in own):
                    out("slot = slots[e]")
                    needs.add("slots")
                _write_rows(out, needs, own, inner=True)
                body.write(out)
    return out, needs


def _used(nest: Nest) -> list[Expr]:
    """Return the operands of a nest's expressions, its targets, and the tables of its indices."""
    used = [leaf for a in nest.body for e in (a.expr, a.target) for leaf in leaves(e)]
    axes = [axis for leaf in used if isinstance(leaf, Load) for axis in leaf.axes]
    return used + [_table(axis) for axis in axes if isinstance(axis, Lookup)]


def _table(axis: Lookup) -> Load:
    """Return the load of the table that an index is read from."""
    return Load(axis.table, "none", 0, ())


def _write_rows(out: Text, needs: set[str], used: Iterable[Expr], inner: bool) -> None:
    """Write the rows of the node, or those of an edge and its child."""
    rows = {
        row_of(leaf): None
        for leaf in used
        if isinstance(leaf, Load) and (leaf.rows in ("child", "edge")) == inner
    }
    for row in rows:
        out(f"{row.name} = {row.code}")
        needs.update(row.needs)


class Body:
    """The loops of a nest over axes, with each line in the outermost loop possible."""

    def __init__(self, nest: Nest, layout: Layout) -> None:
        self.nest, self.layout = nest, layout
        levels = range(len(nest.axes) + 1)
        self.before: list[list[str]] = [[] for _ in levels]
        self.after: list[list[str]] = [[] for _ in levels]
        self.known: dict[object, tuple[str, int]] = {}
        self.count = 0

    def write(self, out: Text) -> None:
        """Write the loops."""
        for assign in self.nest.body:
            self.assign(assign)
        start = out.depth
        for depth, lines in enumerate(self.before):
            out(*lines)
            if depth < len(self.nest.axes):
                out(f"for j{depth} in range({self.nest.axes[depth].size}):")
                out.depth += 1
        for depth in reversed(range(len(self.after))):
            out.depth = start + depth
            out(*self.after[depth])

    def assign(self, assign: Assign) -> None:
        """Write an assignment; the one of a name is written where the name is read."""
        code, depth = self.number(assign.expr)
        if isinstance(assign.target, Name):
            self.known[assign.target] = code, depth
            return
        at, inner = self.place(assign.target), len(self.nest.axes)
        if assign.merge is None:
            self.before[-1].append(f"{at} = {code}")
            self.known[assign.target.key] = code, inner
            return
        rule, lines = MERGE[assign.merge], self.before[-1]
        if assign.over:
            outer = inner - len(assign.over)
            total = self.define(FIRST[assign.merge], outer)
            lines.append(f"{total} = {rule.format(total, code)}")
            code, lines = total, self.after[outer]
        lines.append(f"{at} = {rule.format(at, code) if assign.onto else code}")

    def define(self, code: str, depth: int) -> str:
        """Return a new variable."""
        name = f"x{self.count}"
        self.count += 1
        self.before[depth].append(f"{name} = {code}")
        return name

    def number(self, expr: Expr) -> tuple[str, int]:
        """Return the variable that holds an expression, and how many loops contain it."""
        if isinstance(expr, (Degree, Position)):
            return "degree" if isinstance(expr, Degree) else "place", 0
        if isinstance(expr, Name):
            return self.known[expr]
        if isinstance(expr, Op):
            args = [self.number(arg) for arg in expr.args]
            key: object = (expr.name, *(code for code, _ in args))
            depth = max((depth for _, depth in args), default=0)
            code = OPERATIONS[expr.name].code.format(*(code for code, _ in args))
        elif isinstance(expr, Load):
            key, depth, code = expr.key, nesting(expr, self.nest.axes), self.place(expr)
        else:
            assert isinstance(expr, Const)
            key = code = f"number({expr.value!r})".replace("inf", "np.inf")
            depth = 0
        if key not in self.known:
            self.known[key] = self.define(code, depth), depth
        return self.known[key]

    def place(self, load: Load) -> str:
        """Return the index of a number, such as ``t[128 + j0]``."""
        begin = 0
        if isinstance(load.source, Buffer) or isinstance(getattr(load.source, "of", None), Buffer):
            begin = self.layout.offsets[load.source]  # type: ignore[index]
        offset = begin + load.offset
        terms = [str(offset)] if offset else []
        for axis, stride in load.strides:
            if stride:
                index = self.index(axis)
                terms.append(index if stride == 1 else f"{stride} * {index}")
        return f"{row_of(load).name}[{' + '.join(terms) or '0'}]"

    def index(self, axis: Axis) -> str:
        """Return the variable of an axis."""
        if axis is SLOT:
            return "slot"
        if isinstance(axis, Lookup):
            row = row_of(_table(axis)).name
            return f"np.int64({row}[j{self.nest.axes.index(axis.of)}])"
        return f"j{self.nest.axes.index(axis)}"

"""Python code of a program, for numba: all levels of a shard, forwards and backwards.

A row of the table ``T`` holds all buffers of a node, and a row of ``E`` those of an edge, so that
within a row the compiler knows which numbers are which; ``G`` and ``H`` hold their gradients. A
level is a sequence of stages: one loop over its nodes for everything that a row can compute, which
is a function of its own, then the matrix products of all its rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dgltrees.cells.compiled.compiler.backward import Backward, Gradients
from dgltrees.cells.compiled.compiler.expressions import Buffer, Input, Load, loads
from dgltrees.cells.compiled.compiler.layout import compact
from dgltrees.cells.compiled.compiler.loops import (
    Group,
    Layout,
    Loop,
    Writer,
    key_of,
    needed_rows,
    open_edges,
    open_nodes,
    stages,
    table_of,
    write_rows,
)
from dgltrees.cells.compiled.compiler.statements import (
    SEND,
    Phase,
    Product,
    Program,
    Statement,
)

__all__ = ["down_code", "layout_of", "up_code"]

SPANS = {"send": "first, last", "leaf": "given, middle", "inner": "middle, last"}
"""The rows that steps of each kind are done for, and their runs of the same type."""
RUNS = {"leaf": "leaf_run, inner_run", "inner": "inner_run, end_run"}
ABOVE = "levels[above, 0] if above < high else last, last"
"""The rows above the lowest level of inner nodes, where all children are leaves."""
BOUNDS = "first, given, middle, last, leaf, low, high, above, leaf_run, inner_run, end_run"
FIRST = {"sum": "zero", "max": "-infinity", "min": "infinity"}
MERGE = {"sum": "{0} + {1}", "max": "larger({0}, {1})", "min": "smaller({0}, {1})"}
CONSTANTS = {
    "zero": "0",
    "half": "0.5",
    "one": "1",
    "infinity": "np.inf",
    "erf_slope": "1.1283791670955126",
}
"""Numbers that rules name (:mod:`dgltrees.cells.compiled.compiler.scalar`)."""


class Code:
    """The code of ``up_shard`` or ``down_shard``, and of the functions of its stages."""

    def __init__(self, program: Program, layout: Layout, tables: str, inputs: str) -> None:
        self.program, self.layout, self.reads = program, layout, set[Any]()
        self.phases = {name: stages(steps) for name, steps in program.steps.items()}
        names = [f"{letter}{i.number}" for i in program.inputs.values() for letter in inputs]
        names += [f"O{i}" for i in range(len(program.states))]
        plan = "start, stop, kind, order, edges, child, numbers, slots, rows"
        self.arguments = [*plan.split(", "), *tables.split(", "), *names]
        self.functions: list[str] = []
        self.main = Writer()

    def function(self, name: str, body: Writer) -> str:
        """Add the function of a stage, and return a call of it."""
        out, read = Writer(), set(re.findall(r"\w+", "\n".join(["T", *body.lines])))
        lines = [f"{c} = number({value})" for c, value in CONSTANTS.items() if c in read]
        lines = ["number = T.dtype.type", *lines, *body.lines]
        call = f"{name}({', '.join(each for each in self.arguments if each in read)})"
        out("@njit(**LOOPS)")
        out(f"def {call}:")
        out.depth = 1
        for line in lines:
            out(line)
        self.functions.append(out.text())
        return call

    def unpack(self) -> None:
        """Write names for the parts of the arguments."""
        out, inputs = self.main, [i.number for i in self.program.inputs.values()]
        out("bounds, levels, runs, order, edges, child, numbers, slots, rows = plan")
        out("".join(f"I{i}, " for i in inputs) + "= inputs")
        out("".join(f"O{i}, " for i in range(len(self.program.states))) + "= outputs")
        out("space = scratch(T)")
        out(f"{BOUNDS} = bounds[shard]")

    def columns(self, load: Load, shift: int, width: int, gradient: bool = False) -> str:
        """The columns of a product, in the rows of a level."""
        begins = self.layout.gradients if gradient else self.layout.offsets
        begin = begins[load.source] + load.offset + shift  # type: ignore[index]
        rows = "edges[start]:edges[stop]" if load.rows == "edge" else "start:stop"
        if gradient:
            base = " - edge_base" if load.rows == "edge" else " - base"
            rows = rows.replace(":", f"{base} : ") + base
        return f"{table_of(load, gradient)}[{rows}, {begin}:{begin + width}]"

    def text(self) -> str:
        """The functions of the stages, then the main one."""
        return "\n\n".join([*self.functions, self.main.text()])


def up_code(program: Program, layout: Layout) -> str:
    """The code of ``up_shard``, which computes the states of a shard."""
    code = Code(program, layout, "T, E", "I")
    out = code.main
    out("@njit(**LOOPS)")
    out("def up_shard(shard, plan, T, E, inputs, outputs):")
    out.depth = 1
    code.unpack()
    steps = {phase: _up(code, phase) for phase in program.steps}
    given, states = Writer(), Writer()
    for writer, call in ((given, "copy({1}, {0})"), (states, "copy({0}, {1})")):
        writer("for v in range(start, stop):")
        for number, (buffer, _) in enumerate(program.states.values()):
            begin = code.layout.offsets[buffer]
            columns = f"T[v, {begin}:{begin + buffer.width}]"
            writer("    " + call.format(f"O{number}[order[v]]", columns))
    out("if given > first:")
    out("    start, stop, kind = first, given, 0")
    for line in (code.function("up_given", given), *steps[SEND]):
        out(f"    {line}")
    for rows, span in (("leaf", "leaf, low"), ("inner", "low, high")):
        out(f"for level in range({span}):")
        out("    start, stop, kind = levels[level]")
        for phase in (*program.of(rows), SEND):
            _of_type(out, phase, steps[phase])
    out("start, stop, kind = given, last, 0")
    out(code.function("up_states", states))
    return code.text()


def _of_type(out: Writer, phase: Phase, lines: Sequence[str]) -> None:
    """Write lines for the rows of a level, if they are of the type of a phase."""
    if phase.kind is not None and lines:
        out(f"    if kind == {phase.kind}:")
    for line in lines:
        out(f"    {line}" if phase.kind is None else f"        {line}")


def _up(code: Code, phase: Phase) -> list[str]:
    """Calls of the stages of a phase."""
    lines: list[str] = []
    for number, (groups, products) in enumerate(code.phases[phase]):
        if groups:
            out = Writer()
            open_nodes(out, groups)
            reads = [x for g in groups for s in g.statements for x in (*loads(s.expr), s.target)]
            write_rows(out, needed_rows(reads, ()), False)
            for group in groups:
                _forward(out, group, code.layout)
            name = f"up_{phase.name}_{number}"
            lines.append(code.function(name, out))
        for product in products:
            k, m = product.shape
            for x, y, w in product.parts:
                a, b = code.columns(product.x, x, k), code.columns(product.target, y, m)
                call = f"multiply({a}, {_matrix(product, w)}, {b}, 0.0, space)"
                lines += _above_leaves(code, product, call, f"{b}[:] = 0")
    return lines


def _above_leaves(code: Code, product: Product, call: str, otherwise: str) -> list[str]:
    """A product; where all rows of its first factor are zero, what is done instead."""
    if product.x.source not in code.program.gathered:
        return [call]
    return ["if level >= above:", f"    {call}", "else:", f"    {otherwise}"]


def _forward(out: Writer, group: Group, layout: Layout) -> None:
    """Write the loop of a group."""
    loop, inside = Loop(group, layout), len(group.axes)
    starts = [s for s in group.statements if s.reduction and (s.children or s.scatters)]
    if starts:
        clear = Loop(Group(True, group.axes, ()), layout)
        for s in starts:
            if s.scatters:
                begin = layout.offsets[s.target.source]  # type: ignore[index]
                out(f"clear(t[{begin}:{begin + s.target.source.width}])")
            else:
                clear.before[-1].append(f"{clear.at(s.target)} = {FIRST[s.reduction or '']}")
        if clear.before[-1]:
            clear.write(out)
    if group.edges:
        reads = [x for s in group.statements for x in (*loads(s.expr), s.target)]
        open_edges(out, group)
        write_rows(out, needed_rows(reads, ()), True)
    for s in group.statements:
        code, _ = loop.compute(s.expr)
        at = loop.at(s.target)
        if s.reduction is None:
            loop.before[-1].append(f"{at} = {code}")
            loop.names[key_of(s.target)] = (code, len(loop.axes))
            continue
        rule = MERGE[s.reduction]
        if group.over:
            total = next(loop.fresh)
            loop.before[inside].append(f"{total} = {FIRST[s.reduction]}")
            loop.before[-1].append(f"{total} = {rule.format(total, code)}")
            code = total
        value = rule.format(at, code) if s.children or s.scatters else code
        (loop.after[inside] if group.over else loop.before[-1]).append(f"{at} = {value}")
    loop.write(out)
    if group.edges:
        out.depth -= 1


def down_code(program: Program, layout: Layout, wanted: set[Input]) -> str:
    """The code of ``down_shard``, which computes the gradients of a shard.

    Arguments:
        program: what to derive.
        layout: where its buffers are.
        wanted: the inputs whose gradients are computed.
    """
    return _down_code(program, layout, wanted)[0].text()


def layout_of(program: Program) -> Layout:
    """Where the buffers of a program are: few columns, of what the backward pass needs."""
    plain = dict[Buffer, int](), dict[Buffer, int]()
    for begins in plain:
        for buffer in program.buffers:
            begins[buffer] = 0
    wanted = set(program.inputs.values())
    code, known = _down_code(program, Layout(*plain, (0, 0, 0, 0)), wanted)
    return compact(program, code.phases, code.reads, known.cleared.union(known.written))


def _down_code(program: Program, layout: Layout, wanted: set[Input]) -> tuple[Code, Gradients]:
    """The code of ``down_shard``, and which gradients it stores."""
    states = {buffer for buffer, _ in program.states.values()}
    cleared = states.union(
        load.source
        for steps in program.of("inner").values()
        for s in steps
        if isinstance(s, Statement)
        for load in loads(s.expr)
        if load.rows == "child" and isinstance(load.source, Buffer)
    )
    while True:
        code = Code(program, layout, "T, E, G, H, base, edge_base, thread", "ID")
        known = Gradients(wanted, cleared)
        phases = (SEND, *program.of("inner"), *program.of("leaf"))
        calls = {phase: _down(code, phase, known) for phase in phases}
        if known.stable:
            break
        cleared = known.cleared
    out = code.main
    out("@njit(**LOOPS)")
    out("def down_shard(shard, thread, plan, T, E, G, H, inputs, outputs, totals):")
    out.depth = 1
    code.unpack()
    out("".join(f"D{i.number}, " for i in program.inputs.values()) + "= totals")
    out("base, edge_base = first, edges[first]")
    out("if given > first:")
    out("    start, stop, kind = first, given, 0")
    out(f"    {code.function('down_clear_given', _cleared(code.layout, states))}")
    out("start, stop, kind = first, last, 0")
    out(code.function("down_clear", _cleared(code.layout, cleared - states)))
    out("start, stop, kind = given, last, 0")
    out(code.function("down_outside", _outside(program, code.layout)))
    for name, span in (("inner", "high - 1, low - 1, -1"), ("leaf", "low - 1, leaf - 1, -1")):
        out(f"for level in range({span}):")
        out("    start, stop, kind = levels[level]")
        for phase in (SEND, *program.of(name)):
            _of_type(out, phase, calls[phase])
    out("if given > first:")
    out("    start, stop, kind = first, given, 0")
    for line in (*calls[SEND], code.function("down_given", _to_given(program, code.layout))):
        out(f"    {line}")
    for phase in phases:
        products = [p for _, ps in code.phases[phase] for p in ps if p.weight in wanted]
        by_type = [p for p in products if p.weight.rows == "type" or phase.kind is not None]
        above = [p for p in products if p.x.source in program.gathered and not program.types]
        _of_weights(code, [p for p in products if p not in (*by_type, *above)], SPANS[phase.rows])
        _of_weights(code, above, ABOVE)
        _of_weights(code, by_type, "", RUNS.get(phase.rows, ""), phase.kind)
        code.reads.update(p.x.source for p in products)
    return code, known


def _matrix(product: Product, first: int, gradient: bool = False) -> str:
    """A weight of a product, or its gradient."""
    (k, m), number = product.shape, product.weight.number
    kind = ["kind"] if product.weight.rows == "type" else []
    where = ", ".join([*(["thread"] if gradient else []), *kind, f"{first}:{first + k * m}"])
    return f"{'D' if gradient else 'I'}{number}[{where}].reshape({k}, {m})"


def _of_weights(
    code: Code, products: Sequence[Product], rows: str, runs: str = "", kind: int | None = None
) -> None:
    """The gradients of weights: one product over all rows, or one over those of each type."""
    if not products:
        return
    out, space = code.main, "    " if runs else ""
    if runs:
        out(f"for run in range({runs}):")
    out(f"{space}start, stop, kind = {'runs[run]' if runs else f'{rows}, 0'}")
    if kind is not None:
        out(f"{space}if kind == {kind}:")
        space += "    "
    for p in products:
        k, m = p.shape
        for x, y, w in p.parts:
            a, b = code.columns(p.x, x, k), code.columns(p.target, y, m, gradient=True)
            out(f"{space}multiply_transposed({a}, {b}, {_matrix(p, w, True)}, space)")


def _cleared(layout: Layout, cleared: set[Buffer]) -> Writer:
    """Clear what gradients are added to."""
    out = Writer()
    for rows, lines, columns in (
        ("node", "for v in range(start, stop):", "G[v - base, {}:{}]"),
        ("edge", "for e in range(edges[start], edges[stop]):", "H[e - edge_base, {}:{}]"),
    ):
        buffers = [b for b in sorted(cleared, key=lambda b: b.number) if b.rows == rows]
        if buffers:
            out(lines)
        for buffer in buffers:
            begin = layout.gradients[buffer]
            out(f"    clear({columns.format(begin, begin + buffer.width)})")
    return out


def _outside(program: Program, layout: Layout) -> Writer:
    """Write the gradients of the states from outside."""
    out = Writer()
    out("for v in range(start, stop):")
    for number, (buffer, _) in enumerate(program.states.values()):
        begin = layout.gradients[buffer]
        columns = f"G[v - base, {begin}:{begin + buffer.width}]"
        out(f"    outside_gradient({columns}, O{number}, order[v])")
    return out


def _to_given(program: Program, layout: Layout) -> Writer:
    """Add the gradients of given states to those from outside."""
    out = Writer()
    out("for v in range(start, stop):")
    for number, (buffer, _) in enumerate(program.states.values()):
        begin = layout.gradients[buffer]
        out(f"    add(O{number}[order[v]], G[v - base, {begin}:{begin + buffer.width}])")
    return out


def _down(code: Code, phase: Phase, known: Gradients) -> list[str]:
    """Calls of the stages of a phase, backwards."""
    lines: list[str] = []
    for number, (groups, products) in reversed(list(enumerate(code.phases[phase]))):
        for p in reversed(products):
            if p.target.source not in known:
                continue
            known.read(p.target.source)
            k, m = p.shape
            for x, y, w in p.parts:
                at = Load(p.x.source, p.x.rows, p.x.offset + x, ())
                beta = 0.0 if known.sign_of_columns(at, k) == "=" else 1.0
                a = code.columns(p.x, x, k, gradient=True)
                b = code.columns(p.target, y, m, gradient=True)
                call = f"multiply_by_transposed({b}, {_matrix(p, w)}, {a}, {beta}, space)"
                lines += _above_leaves(code, p, call, "pass" if beta else f"{a}[:] = 0")
        body = _derived(groups, code, known)
        if body is not None:
            lines.append(code.function(f"down_{phase.name}_{number}", body))
    return lines


def _derived(groups: Sequence[Group], code: Code, known: Gradients) -> Writer | None:
    """The loop over the nodes of a stage, backwards; None if no gradient comes out of it."""
    backs = []
    for group in reversed(groups):
        back = Backward(group, code.layout, known)
        back.run()
        if back.total:
            code.reads.update(back.loop.clean())
            backs.append(back)
    if not backs:
        return None
    out = Writer()
    open_nodes(out, groups)
    reads = [x for g in groups for s in g.statements for x in (*loads(s.expr), s.target)]
    write_rows(out, needed_rows(reads, [x for b in backs for x in b.gradients]), False)
    for back in backs:
        if back.group.edges:
            open_edges(out, back.group)
            own = [x for s in back.group.statements for x in (*loads(s.expr), s.target)]
            write_rows(out, needed_rows(own, back.gradients), True)
        back.loop.write(out)
        if back.group.edges:
            out.depth -= 1
    return out

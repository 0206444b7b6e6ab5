"""What torch computes for all nodes at once, before the traversal."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, fx

from dgltrees.cells.compiled.compiler.operators import HEAVY, OPERATORS
from dgltrees.cells.compiled.compiler.reasons import CompileError
from dgltrees.cells.compiled.compiler.statements import Key, Program
from dgltrees.cells.compiled.compiler.trace import Trace

__all__ = ["Hoisted", "name_of", "tensors_of"]

aten = torch.ops.aten


class Hoisted:
    """The operations of a trace that do not depend on the children.

    Of these, those on parameters alone and products with the inputs are computed before.

    Arguments:
        program: gets these calls.
        trace: the operations.
        names: the keys of parameters and buffers, by the ids of the tensors.
        all_nodes: whether the operations are those of all nodes; products with the inputs of some
            alone are not computed before.

    Attributes:
        kinds: the kind and the name of each placeholder.
        nodes: what torch computes.
    """

    def __init__(
        self, program: Program, trace: Trace, names: Mapping[int, Key], all_nodes: bool = True
    ) -> None:
        self.program, self.trace, self.names, self.all_nodes = program, trace, names, all_nodes
        places = [n for n in trace.module.graph.nodes if n.op == "placeholder"]
        self.kinds = dict(zip(places, trace.inputs))
        self.nodes = self._eager()

    def _eager(self) -> set[fx.Node]:
        """The nodes that torch computes for all nodes at once, before the traversal."""
        free: set[fx.Node] = set()  # of the states
        fixed: set[fx.Node] = set()  # of the inputs, too
        *nodes, _ = self.trace.module.graph.nodes
        for node in nodes:
            arguments = node.all_input_nodes
            if "by_type" in node.meta or node.target is aten.bernoulli.default:
                continue
            if node.op == "get_attr":
                free.add(node)
                fixed.add(node)
            elif node.op == "placeholder":
                if self.kinds[node][0] == "node" and self.all_nodes:
                    free.add(node)
            elif all(n in free for n in arguments) and not self.counts(node, child=True):
                free.add(node)
                if all(n in fixed for n in arguments) and not self.counts(node, child=False):
                    fixed.add(node)
        calls = [n for n in nodes if n in free and n.op == "call_function"]
        easy = OPERATORS.keys() - HEAVY
        eager, stack = (
            set(fixed),
            [n for n in calls if name_of(n) not in easy and n.target is not operator.getitem],
        )
        while stack:
            node = stack.pop()
            if node not in eager:
                eager.add(node)
                stack.extend(node.all_input_nodes)
        return eager

    def counts(self, node: fx.Node, child: bool) -> bool:
        """Whether a size of a result counts nodes, or children."""
        shapes = [t.shape for t in tensors_of(node)]
        factors = [self.trace.sizes.factors(size) for shape in shapes for size in shape]
        return any(f is not None and f[1 if child else 0] for f in factors)

    def key(self, node: fx.Node) -> Key:
        """The key of what torch computes before."""
        if node.op == "placeholder":
            return ("field", self.kinds[node][1])
        if node.op == "get_attr":
            tensor = _attribute(self.trace.module, str(node.target))
            if id(tensor) not in self.names:
                raise CompileError(
                    "it reads a tensor that is no parameter or buffer of the cell", node
                )
            return self.names[id(tensor)]
        by_node = [self.counts(each, child=False) for each in node.all_input_nodes]
        if any(by_node) and not self.counts(node, child=False) and "new_" not in name_of(node):
            raise CompileError("it computes something of all nodes together", node)
        args = tuple(self._argument(arg) for arg in node.args)
        kwargs = {name: self._argument(arg) for name, arg in node.kwargs.items()}
        return self.program.call(node.target, args, kwargs)

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, fx.Node):
            return self.key(arg)
        if isinstance(arg, (list, tuple)):
            return [self._argument(each) for each in arg]
        factors = self.trace.sizes.factors(arg)
        if factors is not None and factors[0]:
            return ("rows", factors[2])
        return arg


def name_of(node: fx.Node) -> str:
    """The name of an operation, such as ``"mm.default"``; empty for anything else."""
    return str(node.target).partition(".")[2] if node.op == "call_function" else ""


def tensors_of(node: fx.Node) -> list[Tensor]:
    """The results of an operation."""
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    return [each for each in values if isinstance(each, Tensor)]


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module

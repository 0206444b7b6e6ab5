"""Other ways to run the same model on torch, and dyNET: those that are installed take part.

Every contender starts from the weights of :class:`tests.benchmarks.contenders.Model`.
"""

from __future__ import annotations

import importlib
import warnings
from importlib.metadata import version

import numpy as np
import torch
from torch import Tensor

from dgltrees import Forest, TreeBatch
from tests.benchmarks.contenders import CLASSES, Contender, Model

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tests.benchmarks import pyg
except ImportError:  # without torch_geometric
    pyg = None  # type: ignore[assignment]


def torch_geometric() -> Contender:
    """A message passing layer, run once a level."""

    def states(model: Model, batch: TreeBatch) -> Tensor:
        h = pyg.run_cell(model.cell, batch, {"x": model.embed(batch.ndata["token"])})["h"]
        return h[batch.roots]

    return Contender(f"torch_geometric {version('torch_geometric')}", states)


class DyNet(Contender):
    """An expression a node, batched by the library; one thread."""

    def __init__(self) -> None:
        import dynet_config

        super().__init__(f"dyNET {version('dyNET38')}", lambda model, batch: torch.empty(0))
        dynet_config.set(mem=1500, autobatch=1, random_seed=1)
        object.__setattr__(self, "own", {})  # a copy of each model, which must outlive its graphs

    def _copy(self, model: Model) -> tuple:
        import dynet as dy

        collection = dy.ParameterCollection()
        cell = model.cell
        arrays = {
            "W": cell.W.T, "U": cell.U.T, "U_f": cell.U_f.T, "b": cell.b,
            "out": model.out.weight, "b_out": model.out.bias,
        }  # fmt: skip
        made = {
            name: collection.parameters_from_numpy(np.ascontiguousarray(tensor.detach().numpy()))
            for name, tensor in arrays.items()
        }
        embed = collection.lookup_parameters_from_numpy(model.embed.weight.detach().numpy())
        trainer = dy.SimpleSGDTrainer(collection, 0.1)
        trainer.set_clip_threshold(0)
        return dy, made, embed, trainer, cell.hidden_size, collection

    def step(self, model: Model, forest: Forest) -> float:
        """One update of dyNET's own copy of the weights."""
        if model not in self.own:
            self.own[model] = self._copy(model)
        dy, p, embed, trainer, size, _ = self.own[model]
        dy.renew_cg()
        token, up = forest.columns["token"].tolist(), forest.global_parent.tolist()
        below: list[list] = [[] for _ in token]
        states = [None] * len(token)
        for v in np.argsort(-forest.depth, kind="stable").tolist():
            wx = dy.affine_transform([p["b"], p["W"], embed[token[v]]])
            a, kept = dy.pick_range(wx, 0, 3 * size), None
            if below[v]:
                wx_f = dy.pick_range(wx, 3 * size, 4 * size)
                a = a + p["U"] * dy.esum([h for h, _ in below[v]])
                gates = [dy.logistic(wx_f + p["U_f"] * h) for h, _ in below[v]]
                kept = dy.esum([dy.cmult(f, c) for f, (_, c) in zip(gates, below[v])])
            i, o, u = (dy.pick_range(a, k * size, (k + 1) * size) for k in range(3))
            c = dy.cmult(dy.logistic(i), dy.tanh(u))
            c = c if kept is None else c + kept
            states[v] = (dy.cmult(dy.logistic(o), dy.tanh(c)), c)
            if up[v] >= 0:
                below[up[v]].append(states[v])
        losses = [
            dy.pickneglogsoftmax(
                dy.affine_transform([p["b_out"], p["out"], states[root][0]]), t % CLASSES
            )
            for t, root in enumerate(forest.roots.tolist())
        ]
        loss = dy.average(losses)
        value = loss.value()
        loss.backward()
        trainer.update()
        return float(value)


class Products(Contender):
    """The matrix products of a step alone: one of each shape, forwards and twice backwards."""

    def __init__(self) -> None:
        super().__init__("its products", lambda model, batch: torch.empty(0))

    def step(self, model: Model, forest: Forest) -> float:
        """As many multiplications as a step has, on one table each."""
        cell = model.cell
        inner = int(np.count_nonzero(forest.degree))
        rows = (forest.num_nodes, cell.W), (inner, cell.U), (int(forest.degree.sum()), cell.U_f)
        with torch.no_grad():
            for count, weight in rows:
                x = torch.ones(count, len(weight))
                y = x @ weight
                y @ weight.t()
                x.t() @ y
        return 0.0


PRODUCTS = Products()


def installed() -> dict[str, Contender]:
    """The peers that can be imported here."""
    found = {}
    for module, make in (("torch_geometric", torch_geometric), ("dynet_config", DyNet)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(module)
                contender = make()
        except ImportError:
            continue
        found[contender.name] = contender
    return found

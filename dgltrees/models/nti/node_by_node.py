"""Node-by-node attention: while a hypothesis is encoded, each node looks at the premise's tree."""

from __future__ import annotations

from typing import Any, Optional, cast

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell
from dgltrees.models.nti.attention import Attended, AttentionOverTrees
from dgltrees.models.nti.encoder import NTIEncoder
from dgltrees.models.nti.encoding import Encoding
from dgltrees.models.nti.heads import PairHead
from dgltrees.models.nti.sentences import Sentences, pairs
from dgltrees.traversal import Edges, Nodes, traverse
from dgltrees.traversal.views import Groups
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import ranges

__all__ = ["NodeByNode"]


class NodeByNode(nn.Module):
    """Node-by-node attention between two sentences.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.1, say
    only that the model "attends over the premise tree nodes at every time step of hypothesis
    encoding", with the weights of both trees tied. What happens at a node is inferred from that and
    from the number of parameters in Table 1: the cell makes (h_p, c_p), q = h_p attends to the
    premise's tree, and h_tree of (15), or of tree attention, takes the place of h_p before it
    passes up; c_p stays, and so do leaves. Where there is a leaf LSTM, it begins the hypothesis
    with the state and memory that it had after the premise.

    Arguments:
        inputs: gives every token its vector: ``(S, k)`` of a batch with S nodes.
        encoder: makes trees over the tokens of both sentences.
        attention: global or tree attention of the encoder's size.
        head: compares the roots.
        dropout: probability of dropout on the attention vectors.
    """

    def __init__(
        self,
        inputs: nn.Module,
        encoder: NTIEncoder,
        attention: AttentionOverTrees,
        head: PairHead,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.input, self.encoder, self.attention, self.head = inputs, encoder, attention, head
        self.dropout = nn.Dropout(dropout)

    def encode(self, batch: TreeBatch) -> tuple[Encoding, Encoding, Tensor]:
        """The trees over premises and hypotheses, which a batch holds by turns, and who saw what.

        Returns:
            both encodings, and ``(N, M)`` which part of its attention each node of the hypotheses
            paid to each node of its premise; zero at leaves.

        Raises:
            TreeError: the number of sentences is odd.
        """
        first, second = pairs(self.input(batch), batch)
        premise: Encoding = self.encoder(first)
        hypothesis, weights = self.read(second, premise)
        return premise, hypothesis, weights

    def read(self, sentences: Sentences, premise: Encoding) -> tuple[Encoding, Tensor]:
        """The trees over hypotheses whose nodes attend to their premises, and the weights."""
        encoder = self.encoder
        trees, ndata, last = encoder.read(sentences, premise.last)
        ndata["tree"] = trees.tree_of_node.to(premise.h.device)
        attending = _Attending(encoder.cell, self.attention, self.dropout, premise)
        state = traverse(attending, trees, ndata, backend=encoder.backend)
        return Encoding(trees, state["h"], state.get("c"), last), state["weights"]

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(T / 2, classes)`` logits of all pairs.

        Raises:
            TreeError: the number of sentences is odd.
        """
        premise, hypothesis, _ = self.encode(batch)
        logits: Tensor = self.head(premise.roots, hypothesis.roots)
        return logits


class _Attending:
    """A cell, after whose update each node with children attends to a premise."""

    group_by = "tree"  # says on the host how many queries of each tree there are at a level

    def __init__(
        self,
        cell: BaseCell,
        attention: AttentionOverTrees,
        dropout: nn.Module,
        premise: Encoding,
    ) -> None:
        self.cell, self.attention, self.dropout, self.premise = cell, attention, dropout, premise
        self.keys = attention.keys(premise)  # which all levels ask
        self.slots: Optional[int] = cell.slots

    def prepare(self, ndata: Any) -> dict[str, Tensor]:
        return self.cell.prepare(ndata)

    def message(self, edges: Edges) -> dict[str, Tensor]:
        return self.cell.message(edges)

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        received = torch.ones_like(nodes.data["tree"], dtype=torch.bool)
        return {**self.cell.reduce(nodes), "received": received}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        made: dict[str, Tensor] = self.cell.update(nodes)
        h, (trees, number) = made["h"], self.premise.table.there.shape
        if "received" not in nodes.data:
            return {**made, "weights": h.new_zeros(len(h), number)}
        place, queries = _places(cast(Groups, nodes.groups))
        place = place.to(h.device, non_blocking=True)
        q = h.new_zeros(trees * queries, h.shape[1]).index_copy(0, place, h)
        found: Attended = self.attention(q.view(trees, queries, -1), self.premise, keys=self.keys)
        attended, weights = (each.flatten(0, 1).index_select(0, place) for each in found)
        return {**made, "h": self.dropout(attended), "weights": weights}


def _places(groups: Groups) -> tuple[Tensor, int]:
    """Where rows, tree by tree, stand in a table of as many rows a tree; and how many those are.

    Arguments:
        groups: the trees, in the order of their rows, and how many rows each has.
    """
    tree, count = np.array(groups).T
    queries = int(count.max())
    return torch.from_numpy(ranges(tree * queries, count)), queries

"""Node-by-node attention: while a hypothesis is encoded, each node attends to its premise."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell
from dgltrees.options import Fraction, checked
from dgltrees.papers.nti.models.attention import AttentionOverTrees
from dgltrees.papers.nti.models.encoder import NTIEncoder
from dgltrees.papers.nti.models.encoding import EncodingPair, NTIEncoding
from dgltrees.papers.nti.models.pairs import SentencePairEncoder
from dgltrees.papers.nti.models.sentences import Sentences, split_pairs
from dgltrees.traversal import Edges, Nodes, traverse
from dgltrees.traversal.views import Groups
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import ranges

__all__ = ["NodeByNode"]


@checked
class NodeByNode(SentencePairEncoder):
    """Encodes pairs of sentences with node-by-node attention of the second over the first.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.1, say
    only that the model "attends over the premise tree nodes at every time step of hypothesis
    encoding", with the weights of both trees tied. The computation at a node is inferred from that
    and from the number of parameters in Table 1: the cell computes (h_p, c_p), q = h_p attends to
    the premise's tree, and h_tree of (15), or of tree attention, replaces h_p before it is sent to
    the parent; c_p and the leaves are not changed. A leaf LSTM starts the hypothesis with the state
    and memory that it had after the premise.

    Arguments:
        encoder: builds trees over the tokens of both sentences.
        attention: global or tree attention of the encoder's size.
        dropout: the probability of dropout on the attention vectors.
    """

    def __init__(
        self, encoder: NTIEncoder, attention: AttentionOverTrees, *, dropout: Fraction = 0.0
    ) -> None:
        super().__init__(encoder)
        self.attention = attention
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: TreeBatch) -> EncodingPair:
        """Encode both sentences of each pair.

        The attribute ``attention`` of the second encoding holds the weights of all its nodes.

        Raises:
            TreeError: the number of sentences is odd.
        """
        first, second = split_pairs(self.input(batch), batch)
        premise = self.encoder.encode(first)
        return EncodingPair(premise, self.encode_second(second, premise))

    def encode_second(self, sentences: Sentences, premise: NTIEncoding) -> NTIEncoding:
        """Encode hypotheses, whose nodes attend to the encoded premises."""
        encoder = self.encoder
        trees, ndata, parts = encoder.plant(sentences, premise.final)
        ndata["tree"] = trees.tree_of_node.to(premise.states.device)
        attending = _Attending(encoder.cell, self.attention, self.dropout, premise)
        # what attends holds the tensors of one batch, so that no code can be compiled for all
        state = traverse(attending, trees, ndata, fused=False)
        memory, weights = state.get("c"), state["weights"]
        return NTIEncoding(trees, state["h"], memory=memory, attention=weights, **parts)


class _Attending:
    """Wraps a cell so that each inner node attends to a premise after its update."""

    group_by = "tree"  # gives the number of queries per tree and level on the host

    def __init__(
        self,
        cell: BaseCell,
        attention: AttentionOverTrees,
        dropout: nn.Module,
        premise: NTIEncoding,
    ) -> None:
        self.cell, self.attention, self.dropout, self.premise = cell, attention, dropout, premise
        self.keys = attention.keys(premise)  # the same at all levels
        self.slots: int | None = cell.slots

    def prepare(self, ndata: Any) -> dict[str, Tensor]:
        return self.cell.prepare(ndata)

    def message(self, edges: Edges) -> dict[str, Tensor]:
        return self.cell.message(edges)

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        received = torch.ones_like(nodes.data["tree"], dtype=torch.bool)
        return {**self.cell.reduce(nodes), "received": received}

    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        state: dict[str, Tensor] = self.cell.update(nodes)
        h, (trees, number) = state["h"], self.premise.table.mask.shape
        if "received" not in nodes.data:
            return {**state, "weights": h.new_zeros(len(h), number)}
        place, queries = _places(cast(Groups, nodes.groups))
        place = place.to(h.device, non_blocking=True)
        q = h.new_zeros(trees * queries, h.shape[1]).index_copy(0, place, h)
        attended = self.attention(q.view(trees, queries, -1), self.premise, keys=self.keys)
        h, weights = (each.flatten(0, 1).index_select(0, place) for each in attended)
        return {**state, "h": self.dropout(h), "weights": weights}


def _places(groups: Groups) -> tuple[Tensor, int]:
    """The place of each row in a padded table with one row per tree, and the table's width.

    Arguments:
        groups: the trees, in the order of their rows, and the number of rows of each.
    """
    tree, count = np.array(groups).T
    queries = int(count.max())
    return torch.from_numpy(ranges(tree * queries, count)), queries

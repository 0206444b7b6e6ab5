"""Whether a node gets another edge: the part of a tree's probability that its words do not have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dgltrees.cells.grouped import to_device
from dgltrees.errors import ConfigError
from dgltrees.models.heads import MLP
from dgltrees.models.language_model.possible_edges import deciding, outgoing
from dgltrees.models.language_model.tree_lm import TreeLM, source_of_node
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.dependencies import EDGE_TYPES

__all__ = ["AddDecisions", "Decisions", "JointTreeLM"]

STATES = ("own", "source")


class Decisions(NamedTuple):
    """All decisions on edges of one type in a batch.

    Attributes:
        logits: ``(M,)`` of an edge being added.
        added: ``(M,)`` whether the tree has that edge, 0.0 or 1.0.
        nodes: ``(M,)`` the nodes that decide.
    """

    logits: Tensor
    added: Tensor
    nodes: Tensor


class AddDecisions(nn.Module):
    r"""The classifiers ADD-LEFT, ADD-RIGHT, ADD-NX-LEFT and ADD-NX-RIGHT.

    Zhang, Lu and Lapata (2016), section 3.4: rectifier networks that read the hidden state and the
    output embedding of the node's word, :math:`[H[:, t]; W_{ho} e(w_t)]`.

    Arguments:
        size: d, of a hidden state and of an output embedding.
        hidden: sizes of the hidden layers.
        dropout: probability of dropout before every layer.
        state: ``"own"``, the state that the node's word was predicted from, or ``"source"``, that
            of its source, as the paper prints it.

    Raises:
        ConfigError: there is no such state.
    """

    def __init__(
        self,
        size: int,
        *,
        hidden: tuple[int, ...] = (300, 300),
        dropout: float = 0.5,
        state: str = "own",
    ) -> None:
        super().__init__()
        if state not in STATES:
            raise ConfigError(f"expected state to be one of {', '.join(STATES)}, got {state!r}")
        self.state = state
        self.add = nn.ModuleList(
            MLP(2 * size, 1, hidden, dropout=dropout) for _ in EDGE_TYPES.names
        )

    def forward(self, batch: TreeBatch, H: Tensor, output: Tensor) -> list[Decisions]:
        """The decisions of all trees, by type.

        Arguments:
            batch: as :class:`~dgltrees.models.TreeLM` takes it.
            H: ``(N, d)`` the states of all nodes.
            output: ``(V, d)`` the output embeddings.
        """
        if self.state == "source":
            H = H.index_select(0, source_of_node(batch))
        features = self.features(H, batch.ndata["word"], output)
        etype = batch.on_host(batch.ndata["etype"]).numpy()
        source = np.full(batch.num_nodes, -1)
        source[batch.dst.numpy()] = batch.src.numpy()
        has = outgoing(etype, source).astype(np.float32)
        found = []
        for kind, nodes in enumerate(map(np.flatnonzero, deciding(etype, source < 0))):
            rows = to_device(nodes, H.device)
            logits = self.add[kind](features.index_select(0, rows)).squeeze(1)
            added = torch.from_numpy(has[kind][nodes]).to(logits)
            found.append(Decisions(logits, added, rows))
        return found

    def features(self, H: Tensor, words: Tensor, output: Tensor) -> Tensor:
        """``(N, 2 d)`` what the classifiers read, of N nodes.

        Arguments:
            H: ``(N, d)`` the states: of the nodes themselves, or of their sources.
            words: ``(N,)`` their words.
            output: ``(V, d)`` the output embeddings.
        """
        return torch.cat([H, F.embedding(words, output)], 1)

    def log_prob(self, batch: TreeBatch, H: Tensor, output: Tensor) -> Tensor:
        """``(T,)`` the log-probability of each tree's decisions; arguments as :meth:`forward`."""
        total = H.new_zeros(batch.num_trees)
        for logits, added, nodes in self(batch, H, output):
            log_p = -F.binary_cross_entropy_with_logits(logits, added, reduction="none")
            total = total.index_add(0, batch.tree_of_node.index_select(0, nodes), log_p)
        return total


class JointTreeLM(nn.Module):
    r"""The probability of a sentence and its tree: of the words and of the decisions to add them.

    .. math:: \log P(S, T) = \log P(S|T) + \sum \log P(\text{decision})

    Arguments:
        words: the model of the words.
        decisions: the classifiers, which read its states.

    Raises:
        ConfigError: the model of the words generates the shape already.
    """

    def __init__(self, words: TreeLM, decisions: AddDecisions) -> None:
        super().__init__()
        if words.start is not None:
            raise ConfigError(
                "expected a model of words alone, got one with START and STOP (stops=True), whose "
                "log_prob is joint already"
            )
        self.words, self.decisions = words, decisions

    def log_prob(self, batch: TreeBatch) -> Tensor:
        """``(T,)`` the log-probability of each sentence together with its tree."""
        H = self.words.states(batch)
        given = self.words.total(self.words.predictions(batch, H), batch)
        return given + self.decisions.log_prob(batch, H, self.words.output)

"""The probability of a tree's shape, by binary decisions to add edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dgltrees.cells.grouped import to_device
from dgltrees.errors import ConfigError
from dgltrees.models.heads import MLP, wide
from dgltrees.papers.top_down.graphs import edge_decisions, source_nodes
from dgltrees.papers.top_down.models.tree_lm import TreeLM, source_of_node
from dgltrees.settings import Count, Fraction, checked
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.kinds import EDGE_TYPES


@checked
class AddDecisions(nn.Module):
    r"""The classifiers ADD-LEFT, ADD-RIGHT, ADD-NX-LEFT and ADD-NX-RIGHT.

    Zhang, Lu and Lapata (2016), section 3.4: rectifier networks over the hidden state and the
    output embedding of the node's word, :math:`[H[:, t]; W_{ho} e(w_t)]`. The text prints
    :math:`H[:, t']`, the state of the source, and no dropout; the defaults are those of its code.

    Arguments:
        hidden_size: size d of a state, and of an output embedding, of the language model; found in
            the run by ``dgltrees train-edge-classifier``.
        hidden: sizes of the classifiers' hidden layers.
        dropout: probability of dropout before every layer.
        state: state of the language model that is read: own, from which the node's own word was
            predicted, or source, that of the node it depends on, as the paper prints it.
        embedding: size s of the language model's word vectors, to read that of the node's word
            instead of its output embedding, "slightly worse classifiers" (footnote 6); by default
            the output embedding is read.

    Shapes:
        the :func:`decision_features` ``(N, 2 d)`` or ``(N, d + s)`` to ``(N, 4)`` logits of an edge
        of each type.

    Raises:
        ConfigError: there is no such state.
    """

    def __init__(
        self,
        hidden_size: Count,
        *,
        hidden: Sequence[Count] = (300, 300),
        dropout: Fraction = 0.5,
        state: Literal["own", "source"] = "own",
        embedding: Count | None = None,
    ) -> None:
        super().__init__()
        self.hidden_size, self.state, self.embedding = hidden_size, state, embedding
        self.features = hidden_size + (embedding or hidden_size)
        self.add = nn.ModuleList(
            MLP(self.features, 1, hidden, dropout=dropout) for _ in EDGE_TYPES.names
        )

    def vectors(self, model: TreeLM) -> Tensor:
        """Return the vectors of all words that are features, ``(V, d)`` or ``(V, s)``."""
        return model.embed.weight if self.embedding else model.output

    def forward(self, features: Tensor) -> Tensor:
        """Return the logits of an edge of each type, ``(N, 4)``, from the features."""
        features = features.to(next(self.parameters()).dtype)
        return torch.cat([add(features) for add in self.add], 1)

    def log_prob(self, batch: TreeBatch, H: Tensor, vectors: Tensor) -> Tensor:
        """Return the log-probability of each tree's decisions, ``(T,)``."""
        etype = batch.on_host(batch.ndata["etype"]).numpy()
        added = to_device(edge_decisions(etype, source_nodes(batch)).T, H.device)
        nll = decision_nll(self(decision_features(batch, H, vectors, self.state)), added).sum(1)
        return -nll.new_zeros(batch.num_trees).index_add(0, batch.tree_of_node, nll)


def decision_nll(logits: Tensor, added: Tensor) -> Tensor:
    """Return the negative log-likelihood of decisions; all three have the same shape."""
    logits = wide(logits)
    labels = added.clamp(min=0).to(logits)
    nll = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    return nll.masked_fill(added < 0, 0.0)


def decision_features(batch: TreeBatch, H: Tensor, vectors: Tensor, state: str) -> Tensor:
    """Return the input of the classifiers: states and vectors of words."""
    if state == "source":
        H = H.index_select(0, source_of_node(batch))
    return torch.cat([H, F.embedding(batch.ndata["word"], vectors)], 1)


class JointTreeLM(nn.Module):
    r"""The joint probability of a sentence and its tree, by words and decisions to add edges.

    .. math:: \log P(S, T) = \log P(S|T) + \sum \log P(\text{decision})

    Arguments:
        words: the model of the words.
        decisions: the classifiers over its states.

    Raises:
        ConfigError: the model of the words already generates the shape (``stops``).
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
        """Return the log-probability of each sentence together with its tree, ``(T,)``."""
        H = self.words.states(batch)
        log_p = self.words.total(self.words.predictions(batch, H), batch)
        return log_p + self.decisions.log_prob(batch, H, self.decisions.vectors(self.words))

"""Language models: what they have in common, noise-contrastive estimation, LSTMs over sentences."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dgltrees.cells.initial import uniform
from dgltrees.errors import ConfigError
from dgltrees.models.inputs import WordEmbedding
from dgltrees.models.sequence_encoder import packed
from dgltrees.models.softmax import softmax_nll
from dgltrees.settings import Count, Fraction, Positive
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import lasts, starts, within


class Predictions(NamedTuple):
    """The P words that a model predicts in a batch, and the states it predicts them from.

    Attributes:
        h: ``(P, d)``, the states.
        words: ``(P,)``, the words.
        node: ``(P,)``, the node of each word in the batch; ROOT for symbols that mark an end and
            have no node.
    """

    h: Tensor
    words: Tensor
    node: Tensor


class LanguageModel(nn.Module, ABC):
    """A model of the words of trees, with word vectors and an output layer without bias.

    All parameters are drawn from U(-0.1, 0.1), as in the paper.

    Arguments:
        words: V, the size of the vocabulary with ROOT.
        state_size: the size of the states that words are predicted from.
        embedding: s, the size of a word vector.
        tied: use the word vectors as output embeddings, for which the sizes must be equal.
        dropout: the probability of dropout between the states and the output layer.
        vectors: ``(V, s)`` the initial word vectors; by default they are drawn.

    Raises:
        ConfigError: sizes do not fit.
    """

    start: int | None = None
    """The id of START, if START and STOP are generated; that of STOP is the next."""

    def __init__(
        self,
        words: Count,
        state_size: Count,
        embedding: Count,
        *,
        tied: bool = False,
        dropout: Fraction = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        if tied and embedding != state_size:
            raise ConfigError(
                f"expected model.embedding to be {state_size}, the size of a state, with "
                f"model.tied, got {embedding}; make model.hidden_size and model.embedding equal, "
                "or set model.tied to false"
            )
        self.embed = WordEmbedding("word", words, embedding, vectors=vectors)
        if vectors is None:
            uniform(self.embed)
        self.dropout = nn.Dropout(dropout)
        self.W_ho = (
            None if tied else nn.Parameter(torch.empty(words, state_size).uniform_(-0.1, 0.1))
        )

    @property
    def output(self) -> Tensor:
        """The output embeddings, ``(V, d)``."""
        return self.embed.weight if self.W_ho is None else self.W_ho

    @abstractmethod
    def forward(self, batch: TreeBatch) -> Predictions:
        """Return the predictions of all words except ROOT."""

    def label_scores(self, h: Tensor, words: Tensor) -> Tensor | None:
        """Return the scores of dependency labels, ``(P, K)``; None without labels."""
        return None

    def log_prob(self, batch: TreeBatch) -> Tensor:
        """Return the log-probability of each sentence, ``(T,)``, by the full softmax."""
        return self.total(self(batch), batch)

    def total(self, predictions: Predictions, batch: TreeBatch) -> Tensor:
        """Return the log-probability of the predictions of each tree, ``(T,)``."""
        nll = softmax_nll(predictions.h, self.output, predictions.words)
        tree = batch.tree_of_node.index_select(0, predictions.node)
        return nll.new_zeros(batch.num_trees).index_add(0, tree, -nll)


def half(hidden_size: int, embedding: int | None) -> int:
    """Return the size of word vectors: by default half that of the states, as in the paper."""
    return max(1, hidden_size // 2) if embedding is None else embedding


class _SequenceModel(LanguageModel):
    """The base of models that run LSTMs over the nodes of each tree in order, ROOT first."""

    directions: ClassVar[int]

    def __init__(
        self,
        words: Count,
        hidden_size: Count,
        *,
        embedding: Count | None = None,
        layers: Count = 1,
        layer_dropout: Fraction = 0.0,
        **options: Any,
    ) -> None:
        s, size = half(hidden_size, embedding), self.directions * hidden_size
        super().__init__(words, size, s, **options)
        self.lstms = nn.ModuleList(
            nn.LSTM(s, hidden_size, layers, dropout=layer_dropout) for _ in range(self.directions)
        )
        uniform(self.lstms)

    def run(self, direction: int, x: Tensor, batch: TreeBatch) -> Tensor:
        """Return the state after each row of ``x``, ``(N, d)``, per sentence from zeros."""
        words, row = packed(x, batch.sizes)
        states: Tensor = self.lstms[direction](words)[0].data
        return states.index_select(0, row)


class SequenceLM(_SequenceModel):
    r"""An LSTM language model, the baseline of Table 1 in Zhang, Lu and Lapata (2016).

    .. math:: P(S) = \prod_{t=1}^n P(w_t | ROOT, w_1, \dots, w_{t-1})

    ROOT marks the beginning of the sentence and, with ``end``, its end. Batches are of
    trees whose nodes are in word order after ROOT, with a node column ``word``; edges are not used.

    Arguments:
        words: V, the size of the vocabulary with ROOT.
        hidden_size: d.
        embedding: s, the size of a word vector; by default d/2.
        layers: the number of layers.
        layer_dropout: the probability of dropout between the layers.
        tied, dropout, vectors: see ``LanguageModel``; tied needs s = d.
        end: predict the end of every sentence too; ``log_prob`` is that of the sentence with it.

    Raises:
        ConfigError: sizes do not fit.
    """

    directions = 1

    def __init__(
        self, words: Count, hidden_size: Count, *, end: bool = False, **options: Any
    ) -> None:
        super().__init__(words, hidden_size, **options)
        self.end = end

    def forward(self, batch: TreeBatch) -> Predictions:
        """Predict all words except ROOT in node order; with ``end``, also the end, as ROOT."""
        h = self.run(0, self.embed(batch), batch)
        rows = before = torch.arange(batch.num_nodes)
        before = (before - 1).index_copy(0, starts(batch.sizes), lasts(batch.sizes))
        if not self.end:
            rows = rows[before < rows]
        before, rows = before[rows].to(h.device), rows.to(h.device)
        h = self.dropout(h.index_select(0, before))
        return Predictions(h, batch.ndata["word"].index_select(0, rows), rows)


class BidirectionalLM(_SequenceModel):
    r"""An LSTM language model in both directions: a word from all words before and after it.

    .. math:: \prod_{t=1}^n P(w_t | ROOT, w_1, \dots, w_{t-1};\, w_{t+1}, \dots, w_n, ROOT)

    Two LSTMs run up to the word from both sides, and it is predicted from both of their states.
    The product is a score, not a probability of the sentence. For arguments and batches see
    :class:`SequenceLM`; tied embeddings need s = 2 d.
    """

    directions = 2

    def forward(self, batch: TreeBatch) -> Predictions:
        """Predict all words except ROOT, in the order of the nodes."""
        x = self.embed(batch)
        first = torch.repeat_interleave(starts(batch.sizes), batch.sizes)
        place = within(batch.sizes)
        words_of = torch.repeat_interleave(batch.sizes, batch.sizes) - 1
        # Backwards: ROOT, then the last word down to the first.
        backwards = first + torch.where(place > 0, words_of + 1 - place, 0)
        rows = torch.nonzero(place > 0)[:, 0]
        before, after = rows - 1, (first + words_of - place)[rows]
        device = x.device
        f = self.run(0, x, batch).index_select(0, before.to(device))
        b = self.run(1, x.index_select(0, backwards.to(device)), batch)
        h = self.dropout(torch.cat([f, b.index_select(0, after.to(device))], 1))
        rows = rows.to(device)
        return Predictions(h, batch.ndata["word"].index_select(0, rows), rows)


class NCE(nn.Module):
    r"""The objective of Zhang, Lu and Lapata (2016, section 2.5) for large vocabularies.

    .. math::

        \hat P(w) &= \exp(W_{ho}[w,:] \cdot h_t) / \hat Z \\
        P_d(w) &= \frac{\hat P(w)}{\hat P(w) + k P_n(w)} \\
        L_t &= -\log P_d(w_t) - \sum_{j=1}^k \log(1 - P_d(\tilde w_{t,j}))

    with k noise words for each position, sampled at every call from the unigram distribution
    :math:`P_n(w) \propto count(w)^{3/4}`. :math:`\hat Z` is a parameter, as in the paper, and in
    effect a constant: next to :math:`e^9` its updates are small. Its logarithm would be a bad
    parameter: the gradient, summed over all words, fills the bound of the gradient norm, and ln Z
    jumps by several nats at every update.

    Arguments:
        counts: ``(V,)``, the frequency of each word in the training data; a word with 0 is never
            sampled.
        noise: k, the number of noise words per position.
        power: of the counts.
        log_z: the initial :math:`\ln \hat Z`.

    Raises:
        ConfigError: all counts are 0.
    """

    log_noise: Tensor

    def __init__(
        self, counts: Tensor, *, noise: Count = 20, power: Positive = 0.75, log_z: float = 9.0
    ) -> None:
        super().__init__()
        self.noise = noise
        self.Z = nn.Parameter(torch.tensor(math.exp(log_z)))
        self.power = power
        self.set_counts(counts)

    def set_counts(self, counts: Tensor) -> None:
        """Replace the counts, ``(V,)``, of the noise distribution."""
        weight = counts.double() ** self.power * (counts > 0)
        if counts.dim() != 1 or not 0 < float(weight.sum()) < math.inf:
            raise ConfigError(
                f"expected counts of words that are not all 0, got {tuple(counts.shape)} counts "
                f"with the sum {float(counts.sum())}"
            )
        p = weight / weight.sum()
        self.register_buffer("log_noise", torch.log(self.noise * p), persistent=False)
        self.p = p  # no buffer: it keeps its precision

    def draw(self, count: int) -> Tensor:
        """Draw ``count`` words from the noise distribution, ``(count,)``."""
        words = torch.multinomial(self.p, count, replacement=True)
        return words.to(self.log_noise.device, non_blocking=True)

    def forward(self, h: Tensor, output: Tensor, words: Tensor) -> Tensor:
        """Return the loss of each position, ``(P,)``."""
        noise = self.draw(len(words) * self.noise).view(len(words), self.noise)
        words = torch.cat([words.unsqueeze(1), noise], 1)  # (P, 1 + k)
        score = (F.embedding(words, output) @ h.unsqueeze(2)).squeeze(2)  # (P, 1 + k)
        noise_score = self.log_noise.to(score.dtype)[words]  # ln(k P_n)
        ratio = score - self.Z.log() - noise_score
        sign = torch.ones_like(ratio)
        sign[:, 1:] = -1
        return -F.logsigmoid(sign * ratio).sum(1)

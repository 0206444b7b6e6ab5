"""Language models over dependency trees: TreeLSTM and LdTreeLSTM, and their START and STOP."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell
from dgltrees.cells.initial import uniform
from dgltrees.cells.top_down import INITIAL, LeftDependentLSTM, TopDownLSTM
from dgltrees.papers.top_down.graphs import edge_decisions, left_chains, nearest_left, source_nodes
from dgltrees.papers.top_down.models.language_model import LanguageModel, Predictions, half
from dgltrees.settings import Count, Fraction, NonNegativeInt
from dgltrees.traversal import run_cell
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.kinds import EdgeType
from dgltrees.trees.segments import inverse, owner


class TreeLM(LanguageModel):
    r"""The probability of a sentence given its dependency tree.

    Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016), equations
    (1) to (7):

    .. math:: P(S|T) = \prod_{w \in BFS(T) \setminus ROOT} P(w | D(w))

    where D(w) is the path from ROOT to w, which :class:`~dgltrees.cells.TopDownLSTM` runs over.
    With ``left_dependents`` it is the LdTreeLSTM, whose GEN-R also has as input the state of
    :class:`~dgltrees.cells.LeftDependentLSTM` after the left dependents of the same head.

    Batches are those of ``generation_batch``, with a node column ``word``.

    Arguments:
        words: V, the size of the vocabulary with ROOT.
        hidden_size: d.
        embedding: s, the size of a word vector; by default d/2.
        layers: L, the number of layers of the four LSTMs; the LD LSTM has one.
        left_dependents: LdTreeLSTM instead of TreeLSTM.
        shared: use one LSTM for all types of edges.
        tied: use the word vectors as output embeddings, for which s = d is needed.
        dropout: the probability of dropout between the top layer and the output layer.
        layer_dropout: the probability of dropout between the layers of the four LSTMs.
        vectors: ``(V, s)`` the initial word vectors (TreeLSTM*), with ``stops`` two rows more; by
            default they are drawn.
        labels: the number of labels of dependencies, which are predicted too; by default 0, as in
            the paper.
        stops: generate the shape too, by START and STOP (``with_stops``), two
            more rows of the tables of words: ``log_prob`` is log P(S, T) then.
        compile: run the cells as compiled code where possible; use False for second derivatives.

    Raises:
        ConfigError: sizes do not fit.
    """

    decisions: None = None
    """The edge classifiers; only ``JointTreeLM`` has them."""

    def __init__(
        self,
        words: Count,
        hidden_size: Count,
        *,
        embedding: Count | None = None,
        layers: Count = 1,
        left_dependents: bool = False,
        shared: bool = False,
        tied: bool = False,
        dropout: Fraction = 0.0,
        layer_dropout: Fraction = 0.0,
        vectors: Tensor | None = None,
        labels: NonNegativeInt = 0,
        stops: bool = False,
        compile: bool = True,
    ) -> None:
        s = half(hidden_size, embedding)
        rows = words + 2 * stops
        super().__init__(rows, hidden_size, s, tied=tied, dropout=dropout, vectors=vectors)
        self.start = words if stops else None  # the id of START; STOP's is the next
        left_size = hidden_size if left_dependents else 0
        self.cell = TopDownLSTM(
            s, hidden_size, layers=layers, left_size=left_size, shared=shared, dropout=layer_dropout
        )
        self.left = LeftDependentLSTM(s, hidden_size) if left_dependents else None
        self.labels = nn.Linear(2 * hidden_size, labels) if labels else None
        if self.labels is not None:
            uniform(self.labels)
        self.compiled = compile

    def states(self, batch: TreeBatch) -> Tensor:
        """Return the states H that predict the words of nodes, ``(N, d)``; 0.01 at ROOT."""
        x = self.embed(batch)  # (N, s)
        ndata = {"x": x.index_select(0, source_of_node(batch)), "etype": batch.ndata["etype"]}
        if self.left is not None:
            ndata["left"] = self._left(self.left, batch, x)
        return self._run(self.cell, batch, ndata)

    def _run(self, cell: BaseCell, batch: TreeBatch, ndata: dict[str, Tensor]) -> Tensor:
        """Run a cell and return the states of its top layer, ``(N, d)``."""
        states = run_cell(cell, batch, ndata, outputs=["h"], compile=self.compiled)
        return states["h"][:, -1]  # of (N, L, d)

    def _left(self, cell: BaseCell, batch: TreeBatch, x: Tensor) -> Tensor:
        """Return the state q_K after the left dependents for RIGHT edges, else q_0, ``(N, d)``."""
        chains = left_chains(batch)
        nodes = chains.ndata["node"]
        q = self._run(cell, chains, {"x": x.index_select(0, nodes)})
        states = q.new_full((len(x) + 1, q.shape[1]), INITIAL).index_copy(0, nodes, q)
        return states.index_select(0, batch.ndata["nearest_left"] % len(states))  # -1: the last row

    def forward(self, batch: TreeBatch) -> Predictions:
        """Predict all words except ROOT in node order; with ``stops``, also START and STOP."""
        if self.start is None:
            return self.predictions(batch, self.states(batch))
        extended = with_stops(batch, self.start)
        predictions = self.predictions(extended, self.states(extended))
        node = extended.ndata["node"].index_select(0, predictions.node)
        return predictions._replace(node=node)

    def predictions(self, batch: TreeBatch, H: Tensor) -> Predictions:
        """Predict all words except ROOT, from the :meth:`states` of all nodes."""
        rows = nodes_but_root(batch)
        h = self.dropout(H.index_select(0, rows))
        return Predictions(h, batch.ndata["word"].index_select(0, rows), rows)

    @property
    def words(self) -> TreeLM:
        """The model of the words: this model itself."""
        return self

    def label_scores(self, h: Tensor, words: Tensor) -> Tensor | None:
        """Return the logits of dependency labels, ``(P, K)``; None without labels.

        They are those of P(label | w, D(w)). The paper's trees have no labels. Here the label of a
        word is predicted after the word, by a softmax layer over the features of the decisions,
        :math:`[H[:, t]; W_{ho} e(w_t)]`. Labels do not change the probability of the words.

        Arguments:
            h: ``(P, d)`` the states that the words are predicted from.
            words: ``(P,)`` the words.
        """
        if self.labels is None:
            return None
        scores: Tensor = self.labels(torch.cat([h, F.embedding(words, self.output)], 1))
        return scores


def source_of_node(batch: TreeBatch) -> Tensor:
    """Return the source of each node's incoming edge, ``(N,)``; ROOT's is itself."""
    source = torch.arange(batch.num_nodes)
    source[batch.dst] = batch.src
    return source.to(batch.device, non_blocking=True)


def nodes_but_root(batch: TreeBatch) -> Tensor:
    """Return the indices of all nodes except ROOT, ``(P,)``, on the device."""
    return batch.dst.sort().values.to(batch.device, non_blocking=True)


def with_stops(batch: TreeBatch, start: int) -> TreeBatch:
    """Add START after the last left dependent of each word and STOP after the last right one.

    Zhang, Lu and Lapata (2016), footnote 5, after Eisner (1996): the symbols are treated as
    words, so that P(S|T) of the new trees is the joint probability of the words and of the shape.
    Where a node could have another edge and has none, an edge to a symbol is added: each word has
    one START, after its last left dependent or in place of one, and one STOP; ROOT has a STOP after
    its dependents. That is 2 N + 1 symbols for N words. The LD LSTM reads START before the left
    dependents.
    """
    etype, word = (batch.on_host(batch.ndata[name]).numpy() for name in ("etype", "word"))
    source = source_nodes(batch)
    symbol_type, at = np.nonzero(edge_decisions(etype, source) == 0)
    is_left = np.isin(symbol_type, (EdgeType.LEFT, EdgeType.NX_LEFT))

    sizes = batch.sizes.numpy()
    tree = owner(sizes)
    tree = np.concatenate([tree, tree[at]])
    order = np.argsort(tree, kind="stable")
    new_index = inverse(order)
    root = np.flatnonzero(source < 0)[tree[len(word) :]]
    source = np.concatenate([source, at])[order]
    child = np.flatnonzero(source >= 0)
    columns = {
        "word": np.concatenate([word, np.where(is_left, start, start + 1)]),
        "etype": np.concatenate([etype, symbol_type]),
        "node": np.concatenate([np.arange(len(word)), root]),
    }
    ndata = {name: torch.from_numpy(column[order]) for name, column in columns.items()}
    result = TreeBatch(
        torch.from_numpy(child),
        torch.from_numpy(new_index[source[child]]),
        torch.from_numpy(np.bincount(tree, minlength=len(sizes))),
        ndata=ndata,
        edata={"etype": ndata["etype"][child]},
        etype_names=batch.etype_names,
    ).reversed()
    result.ndata["nearest_left"] = nearest_left(result)
    return result.to(batch.device)

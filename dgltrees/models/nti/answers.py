"""NTI-ANF-LSTM: which sentences answer a question."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.models.nti.encoder import NTIEncoder
from dgltrees.models.nti.encoding import Encoding
from dgltrees.models.nti.heads import PairHead
from dgltrees.models.nti.sentences import pairs
from dgltrees.trees.batch import TreeBatch

__all__ = ["AnswerSelector", "word_counts"]


class AnswerSelector(nn.Module):
    """Scores candidate answers to a question.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 4.2: the
    root over the answer is the query with which the attentive nodes over the question compose it;
    the head's one logit is o^QA of equation (20).

    Arguments:
        inputs: gives every token its vector: ``(S, k)`` of a batch with S nodes.
        question: encodes questions; its cell wants a node field ``q`` (NTI-ANF-LSTM).
        answer: encodes answers (NTI-SLSTM-LSTM), to the question's size.
        head: compares the roots; with ``shared``, it has two extra features.
        shared: the token column that is 1 where the word stands in the other sentence too: the
            feature of footnote 6, :func:`word_counts`. Without it there is no such feature.
    """

    def __init__(
        self,
        inputs: nn.Module,
        question: NTIEncoder,
        answer: NTIEncoder,
        head: PairHead,
        *,
        shared: Optional[str] = None,
    ) -> None:
        super().__init__()
        self.input, self.question, self.answer = inputs, question, answer
        self.head, self.shared = head, shared

    def encode(self, batch: TreeBatch) -> tuple[Encoding, Encoding]:
        """The trees over questions and answers, which a batch holds by turns.

        Raises:
            TreeError: the number of sentences is odd.
        """
        first, second = pairs(self.input(batch), batch)
        answer: Encoding = self.answer(second)
        question: Encoding = self.question(first, query=answer.roots)
        return question, answer

    def forward(self, batch: TreeBatch) -> Tensor:
        """``(T / 2, 1)`` logits of all pairs of a question and an answer.

        Raises:
            TreeError: the number of sentences is odd, or the column of shared words missing.
        """
        question, answer = self.encode(batch)
        extra = None if self.shared is None else word_counts(batch, self.shared).to(answer.h)
        logits: Tensor = self.head(question.roots, answer.roots, extra)
        return logits


def word_counts(batch: TreeBatch, column: str) -> Tensor:
    """``(T / 2, 2)`` log(1 + n), n the words of question and answer that stand in the other too.

    The paper names "a simple word count feature" and no formula (footnote 6); this one is ours.

    Arguments:
        batch: pairs of sentences, one after the other.
        column: the node column, 1 where a word stands in the other sentence too, else 0.

    Raises:
        TreeError: there is no such column.
    """
    if column not in batch.ndata:
        raise TreeError(f"expected a node column {column!r}, got only {sorted(batch.ndata)}")
    shared = batch.ndata[column].float()
    count = shared.new_zeros(batch.num_trees).index_add(0, batch.tree_of_node, shared)
    return torch.log1p(count).view(-1, 2)

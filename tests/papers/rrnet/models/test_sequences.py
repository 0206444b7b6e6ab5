"""Networks whose RECUR alone consumes a token, beside the paper's recursion over one sentence."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from dgltrees.errors import ConfigError, TreeError
from dgltrees.papers.rrnet.graphs import token_at, word_operations
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder, RRNetEncoding
from dgltrees.papers.rrnet.models.language_model import StreamLM
from dgltrees.papers.rrnet.models.objectives import Reinforce
from dgltrees.papers.rrnet.models.policy import RandomOperations
from dgltrees.trees import TreeBatch
from dgltrees.trees.kinds import Operation
from tests.cells.rrnet_reference import read
from tests.papers.rrnet.models.conftest import (
    WORDS,
    assert_equals_its_sentences,
    network,
    sentences,
)
from tests.papers.rrnet.models.test_language_model import window

LENGTHS = [4, 1, 3]
MERGES, SPLITS = [0, 0, 1, 0, 0, 0, 0, 1], [2, 0, 0, 1, 0, 1, 1, 0]
LETTERS = np.array(list("?SRM"))


def parsed() -> TreeBatch:
    batch = sentences(LENGTHS)
    batch.ndata.update(merges=torch.tensor(MERGES), splits=torch.tensor(SPLITS))
    return batch


def letters(encoding: RRNetEncoding) -> list[str]:
    """The operations of each sentence, as S, R and M."""
    assert encoding.operations is not None
    sizes = (encoding.batch.sizes - 1).tolist()
    parts = encoding.operations.split(sizes)
    return ["".join(LETTERS[part.numpy()]) for part in parts]


def recursion(encoder: RRNetEncoder, batch: TreeBatch, operations: list[str]) -> Tensor:
    """The last state of each sentence: split and merge see the next token, which recur consumes."""
    x, last = encoder.input(batch).split(batch.sizes.tolist()), []
    for tokens, text in zip(x, operations):
        ops = [int(np.flatnonzero(letter == LETTERS)[0]) for letter in text]
        at = token_at(ops, [len(ops)], [len(tokens)])
        inputs = torch.cat([tokens, torch.zeros_like(tokens[:1])])[at]
        fields = {"x": torch.cat([inputs[:1], inputs])}
        last.append(read(encoder.cell, [Operation.START, *ops], fields)["h"][-1])
    return torch.stack(last)


def test_true_trees_equal_the_recursion() -> None:
    encoder = network(policy=False, consume="recur")
    encoding = encoder(parsed())
    assert letters(encoding) == ["SSRRMRSRMM", "R", "SRSRMRM"]
    assert_close(encoding.roots, recursion(encoder, parsed(), letters(encoding)))
    assert encoding.token_nodes is not None
    assert encoding.batch.ndata["op"][encoding.token_nodes].tolist() == [Operation.RECUR] * 8
    encoding.roots.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in encoder.parameters())


def test_a_policy_makes_whole_trees() -> None:
    encoder = network(objective=Reinforce(), consume="recur", max_open=3)
    lengths = [6, 1, 4]
    batch = sentences(lengths, seed=2)
    encoding = encoder(batch)
    for text, length in zip(letters(encoding), lengths):
        assert re.fullmatch("(S*RM*)*", text)
        assert text.count("R") == length
        assert text.count("S") == text.count("M")
    assert 0 < int(encoding.batch.ndata["open"].max()) <= 3
    assert_close(encoding.roots, recursion(encoder, batch, letters(encoding)))
    rewards = torch.ones(3, dtype=torch.float64)
    decisions = encoding.decisions
    assert decisions is not None
    chosen = decisions.scores.gather(1, decisions.actions[:, None])
    assert (chosen > -100).all()  # no choice is illegal where it is scored again
    assert torch.isfinite(encoder.decision_losses(encoding, rewards)).all()


def test_in_evaluation_a_batch_equals_its_sentences_and_trees_in_the_data_do_not_matter() -> None:
    encoder = network(supervised_fraction=1.0, consume="recur", max_open=3).eval()
    assert_equals_its_sentences(encoder, parsed())


def test_in_training_a_supervised_policy_follows_the_trees() -> None:
    encoder = network(supervised_fraction=1.0, consume="recur")
    encoding = encoder(parsed())
    assert letters(encoding) == ["SSRRMRSRMM", "R", "SRSRMRM"]
    decisions = encoding.decisions
    assert decisions is not None
    log_p = torch.log_softmax(decisions.scores, 1).gather(1, decisions.actions[:, None])[:, 0]
    losses = encoder.decision_losses(encoding, torch.zeros(3))
    assert_close(losses, -torch.stack([part.sum() for part in log_p.split([10, 1, 7])]))
    assert log_p[10] < 0  # of a single word: split or recur
    assert log_p[[8, 9, 17]].eq(0).all()  # at the end nothing but merge is legal
    half = network(supervised_fraction=0.5, objective=Reinforce(), consume="recur")
    known = half(parsed()).batch.ndata["from_data"]
    assert known.any()
    assert not known.all()


@pytest.mark.parametrize("given", [True, False])
def test_windows_of_a_text_are_one_long_run(given: bool) -> None:
    """Losses and states equal those of all steps one after the other."""
    encoder = network(policy=not given, consume="recur", max_open=4)
    model = StreamLM(encoder).double().eval()
    words = torch.randint(WORDS, (2, 13), generator=torch.Generator().manual_seed(3))
    merges = torch.tensor([[2, 0, 1, 0, 0, 1] * 2, [0, 0, 0, 1, 2, 0] * 2])
    splits = torch.tensor([[1, 1, 0, 0, 1, 1] * 2, [0, 1, 1, 1, 0, 0] * 2])
    texts, losses = ["", ""], []
    for begin, end in ((0, 5), (5, 12)):
        batch, targets = window(words, begin, end)
        batch.ndata.update(
            merges=merges[:, begin:end].flatten(), splits=splits[:, begin:end].flatten()
        )
        decided = model.rollout(batch)
        graph = decided.rollout.graph
        for row, part in enumerate(graph.ndata["op"].split(graph.sizes.tolist())):
            texts[row] += "".join(LETTERS[part[(part > 0) & (part < 4)].numpy()])
        losses.append(
            model(decided, targets).view(2, -1)
            if given
            else model.outputs(batch, targets)["loss"].view(2, -1)
        )
    if given:
        operations, sizes = word_operations(
            merges.flatten().numpy(), splits.flatten().numpy(), [12, 12], opened=[0, 0]
        )
        whole = "".join(LETTERS[operations])
        assert texts == [whole[: sizes[0]], whole[sizes[0] :]]
    for row in range(2):
        states = []
        for stop in (at + 1 for at, letter in enumerate(texts[row]) if letter == "R"):
            alone = TreeBatch(
                *[torch.empty(0).long()] * 2, torch.tensor([12]), ndata={"word": words[row, :12]}
            )
            states.append(recursion(encoder, alone, [texts[row][:stop]])[0])
        log_p = torch.log_softmax(torch.stack(states) @ model.output.t(), 1)
        assert_close(torch.cat(losses, 1)[row], -log_p.gather(1, words[row, 1:, None])[:, 0])


def test_rewards_of_words_are_those_of_the_steps_that_consume_them() -> None:
    encoder = network(objective=Reinforce(), consume="recur", max_open=3)
    model = StreamLM(encoder).double()
    batch, targets = window(torch.arange(14).view(2, 7) % WORDS, 0, 6)
    decided = model.rollout(batch)
    torch.manual_seed(5)
    encoding = encoder(decided.rollout)
    rewards = torch.randn(12, dtype=torch.float64)
    recurs = encoding.operations == Operation.RECUR
    on_steps = torch.zeros(len(recurs), dtype=torch.float64).masked_scatter(recurs, rewards)
    losses = encoder.token_losses(encoding, rewards)
    assert_close(losses.sum(), encoder.step_losses(encoding, on_steps).sum())
    assert losses.shape == (12,)
    assert torch.isfinite(model(decided, targets)).all()


def test_what_is_refused() -> None:
    columns = "node columns 'merges' and 'splits' with the operations"
    with pytest.raises(TreeError, match=f"missing {columns} of every token; this model"):
        network(policy=False, consume="recur")(sentences([2]))
    with pytest.raises(TreeError, match=f"missing {columns} that supervise the policy"):
        network(consume="recur", supervised_fraction=1.0)(sentences([2]))
    with pytest.raises(TreeError, match="at most 1 open subtrees, the limit of the stack, got 2"):
        network(consume="recur", supervised_fraction=1.0, max_open=1)(parsed())
    fixed: Any = RandomOperations("word", WORDS)
    with pytest.raises(ConfigError, match="an operation for each token id, got consume='recur'"):
        network(policy=False, fixed=fixed, consume="recur")

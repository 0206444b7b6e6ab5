"""Encoders of recurrent-recursive networks: gold, chosen and random operations, and losses."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from dgltrees.cells import RRNetCell
from dgltrees.errors import ConfigError, TreeError
from dgltrees.models import MLP, Head, PairHead, Root, WordEmbedding
from dgltrees.papers.rrnet.models.classifier import NumberDecoder, PolicyClassifier
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder, RRNetEncoding
from dgltrees.papers.rrnet.models.objectives import Reinforce
from dgltrees.papers.rrnet.models.policy import (
    OnlyRecur,
    Policy,
    RandomOperations,
    legal,
    legalized,
)
from dgltrees.papers.rrnet.models.sequences import supervised_tokens
from dgltrees.papers.rrnet.models.stepping import advance, initial_state
from dgltrees.trees import TreeBatch
from tests.papers.rrnet.models.conftest import (
    SIZE,
    STATE,
    WORDS,
    assert_equals_its_sentences,
    network,
    sentences,
)

GIVEN = [1, 2, 2, 3, 2, 2, 1, 3, 2, 2, 2]
LENGTHS = [5, 1, 5]


def last_states(
    encoder: RRNetEncoder, batch: TreeBatch, operations: Tensor, field: str = "h"
) -> Tensor:
    """The last state of each sentence, one token at a time."""
    x, at, last = encoder.input(batch), 0, []
    for size in batch.sizes.tolist():
        state = initial_state(encoder.cell, 1, encoder.max_open)
        for token in range(at, at + size):
            state = advance(
                encoder.cell, x[token : token + 1], operations[token : token + 1], state
            )
        last.append(getattr(state, field)[0])
        at += size
    return torch.stack(last)


def steps(encoding: RRNetEncoding, column: str = "op") -> Tensor:
    sizes = encoding.batch.sizes.tolist()
    parts = encoding.batch.ndata[column].split(sizes)
    return torch.cat([part[1:] for part in parts])


def test_without_a_policy_gold_operations_are_followed() -> None:
    encoder = network(policy=False)
    batch = sentences(LENGTHS, GIVEN)
    encoding = encoder(batch)
    assert steps(encoding).tolist() == GIVEN
    assert encoding.decisions is None
    assert_close(encoding.roots, last_states(encoder, batch, torch.tensor(GIVEN)))
    encoder.returns_memories = True
    memories = last_states(encoder, batch, torch.tensor(GIVEN), "c")
    assert_close(encoder(batch).memories, memories)
    assert encoding.memories is None


def test_the_operations_that_a_policy_chose_are_followed() -> None:
    encoder = network(objective=Reinforce(), max_open=2)
    batch = sentences([7, 3, 9, 1], seed=2)
    rollout = encoder.rollout(batch)
    encoding = encoder(rollout)
    operations = steps(encoding)
    assert set(operations.tolist()) == {1, 2, 3}
    assert int(encoding.batch.ndata["open"].max()) <= 2
    assert_close(encoding.roots, last_states(encoder, batch, operations))
    assert_close(encoding.decisions.actions, operations - 1)


def test_in_evaluation_the_highest_score_decides_every_time() -> None:
    encoder = network(objective=Reinforce()).eval()
    batch = sentences([7, 3, 9], seed=2)
    one, other = encoder(batch), encoder(batch)
    assert_close(steps(one), steps(other))
    assert_close(one.decisions.actions, one.decisions.scores.argmax(1))
    encoder.train()
    drawn = [steps(encoder(batch)).tolist() for _ in range(5)]
    assert len({tuple(row) for row in drawn}) > 1


def test_a_batch_equals_its_sentences() -> None:
    encoder = network(objective=Reinforce()).eval()
    assert_equals_its_sentences(encoder, sentences([4, 9, 1, 6], seed=4))


def test_a_supervised_policy_follows_in_training_and_decides_in_evaluation() -> None:
    encoder = network(supervised_fraction=1.0)
    batch = sentences(LENGTHS, GIVEN)
    encoding = encoder(batch)
    assert steps(encoding).tolist() == GIVEN
    assert steps(encoding, "from_data").all()
    losses = encoder.decision_losses(encoding, torch.zeros(3))
    nll = nn.functional.cross_entropy(
        encoding.decisions.scores, torch.tensor(GIVEN) - 1, reduction="none"
    )
    assert_close(losses, torch.stack([part.sum() for part in nll.split(LENGTHS)]))
    encoder.eval()
    assert not steps(encoder(batch), "from_data").any()


def test_a_fraction_is_supervised_and_the_others_are_rewarded() -> None:
    encoder = network(objective=Reinforce(entropy=0.0, value=0.0), supervised_fraction=0.5)
    lengths = [5] * 40
    batch = sentences(lengths, [1, 2, 3, 2, 2] * 40)
    encoding = encoder(batch)
    given = steps(encoding, "from_data").view(40, 5)
    assert (given.all(1) == given.any(1)).all()
    assert 8 < int(given[:, 0].sum()) < 32
    assert (steps(encoding).view(40, 5)[given[:, 0]] == torch.tensor([1, 2, 3, 2, 2])).all()
    assert_close(given, steps(encoder(batch), "from_data").view(40, 5))  # the same ones again
    nothing = encoder.decision_losses(encoding, encoding.decisions.values.new_zeros(40))
    assert (nothing[given[:, 0]] > 0).all()


@pytest.mark.parametrize("fraction", [0.0, 0.1, 1.0])
def test_about_that_fraction_of_sentences_is_supervised(fraction: float) -> None:
    batch = sentences([6] * 3000, seed=5)
    mask = supervised_tokens(batch, "word", fraction).view(3000, 6)
    assert (mask.all(1) == mask.any(1)).all()
    assert abs(float(mask[:, 0].double().mean()) - fraction) < 0.02
    half = sentences([6] * 1000)
    half.ndata["word"] = batch.ndata["word"][6000:12000]
    assert_close(supervised_tokens(half, "word", fraction), mask[1000:2000].flatten())


def test_dropout_has_one_mask_for_all_steps() -> None:
    encoder = network(objective=Reinforce(), dropout=0.5, cell={"layer_norm": True})
    batch = sentences([8, 5], seed=3)
    rollout = encoder.rollout(batch)
    assert rollout.x_mask.shape == (2, SIZE)
    assert rollout.h_mask.shape == (2, STATE)
    assert set(rollout.h_mask.unique().tolist()) <= {0.0, 2.0}
    one, other = encoder(rollout), encoder(rollout)
    assert_close(one.states, other.states)  # the masks are the rollout's
    encoder.eval()
    assert encoder.rollout(batch).h_mask is None


def test_rewards_at_the_end_are_rewards_of_the_last_step() -> None:
    encoder = network(objective=Reinforce())
    encoding = encoder(sentences([4, 1, 6], seed=3))
    last = torch.tensor([0.0] * 3 + [2.0] + [-1.0] + [0.0] * 5 + [0.5], dtype=torch.float64)
    ends = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64)
    assert_close(encoder.decision_losses(encoding, ends), encoder.decision_losses(encoding, last))


def test_fixed_operations() -> None:
    encoder = network(policy=False, fixed=RandomOperations("word", WORDS, 1), max_open=2)
    wanted = encoder.fixed.operation
    assert set(wanted.tolist()) == {1, 2, 3}
    batch = sentences([9, 9, 3], seed=2)
    done, asked = steps(encoder(batch)), wanted[batch.ndata["word"]]
    differs = done != asked
    assert differs.any()
    assert (done[differs] == 2).all()
    assert_close(RandomOperations("word", WORDS, 1).operation, wanted)


def test_illegal_operations_become_recurs() -> None:
    wanted = torch.tensor([3, 1, 1, 1, 3, 3, 3, 1, 3])
    operations = legalized(wanted, torch.tensor([7, 2]), 2)
    assert operations.tolist() == [2, 1, 1, 2, 3, 3, 2, 1, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": False, "objective": Reinforce()}, "missing policy for the objective"),
        ({"policy": False, "supervised_fraction": 0.5}, "missing policy .* supervised fraction"),
        ({"fixed": RandomOperations("word", WORDS)}, "a policy or fixed operations, got both"),
    ],
)
def test_settings_that_do_not_go_together(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        network(**options)


@pytest.mark.parametrize(
    ("operations", "options", "message"),
    [
        ([2, 0, 2], {"policy": False}, "of every token; this model needs sent"),
        ([1, 3, 3], {"policy": False}, "node 3: expected a split for every merge"),
        (
            [1, 1, 1],
            {"supervised_fraction": 1.0, "max_open": 2},
            "expected at most 2 open subtrees",
        ),
    ],
)
def test_impossible_operations_are_refused(
    operations: list[int], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TreeError, match=message):
        network(**options)(sentences([3], operations))


def head(kind: str) -> Head:
    torch.manual_seed(0)
    heads = {
        "classes": lambda: MLP(STATE, 3),
        "pairs": lambda: PairHead(STATE, 3, hidden=4),
        "numbers": lambda: NumberDecoder(STATE),
    }
    return heads[kind]().double()


@pytest.mark.parametrize("kind", ["classes", "pairs", "numbers"])
@pytest.mark.parametrize("reward", ["accuracy", "likely", "log_likelihood"])
def test_the_loss_is_that_of_the_head_and_of_the_policy(kind: str, reward: str) -> None:
    encoder = network(objective=Reinforce())
    model = PolicyClassifier(encoder, Root(), head(kind), reward=reward, weight=0.5)
    batch = sentences([4, 6, 2, 5], seed=1)
    targets = torch.tensor([1, 0] if kind == "pairs" else [1, 0, 2, 1])
    rollout = model.rollout(batch)
    losses = model(rollout, targets)
    encoding = encoder(rollout)
    nll = model.head.nll(encoding.roots, targets)
    best, _ = model.head.predict(encoding.roots)
    rewards = {
        "accuracy": (best == targets).double(),
        "likely": (nll.exp() < 2).double(),
        "log_likelihood": -nll.detach().double(),
    }[reward]
    arity = model.head.arity
    losses_of_policy = encoder.decision_losses(encoding, rewards.repeat_interleave(arity))
    expected = nll + 0.5 * losses_of_policy.view(-1, arity).sum(1)
    assert_close(losses, expected, check_dtype=False)
    losses.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    model.eval()
    with torch.no_grad():
        loss, prediction, probability = model.outputs(batch, targets)
    assert loss.shape == prediction.shape == probability.shape == targets.shape
    assert ((probability > 0) & (probability <= 1)).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_policies_work_in_half_precision(dtype: torch.dtype) -> None:
    policy = Policy(STATE, SIZE).to(dtype)
    h, e = torch.randn(4, STATE, dtype=dtype), torch.randn(4, SIZE, dtype=dtype)
    scores, _ = policy(h, e, legal(torch.tensor([0, 0, 1, 2]), 2))
    p = torch.softmax(scores, 1)
    assert scores.dtype == torch.float32
    assert (p[:2, 2] == 0).all()
    assert p[3, 0] == 0


def test_gold_operations_must_close_what_they_open() -> None:
    batch = sentences([3, 3], [1, 2, 3, 1, 2, 2])
    with pytest.raises(TreeError, match="tree 1, node 1: .*SPLIT"):
        network(policy=False)(batch)


def test_a_supervised_policy_needs_gold_operations() -> None:
    encoder = network(supervised_fraction=0.5, objective=Reinforce())
    with pytest.raises(TreeError, match="supervise the policy .*policy.supervised_fraction 0"):
        encoder(sentences([3, 2]))
    encoder.eval()(sentences([3, 2]))
    unknown = sentences([3, 2], [0] * 5)  # of sentences without brackets
    with pytest.raises(TreeError, match="train on trees in brackets, or set model.policy.agent"):
        network(supervised_fraction=1.0)(unknown)
    network(supervised_fraction=1.0, objective=Reinforce())(unknown)


def test_an_unknown_reward_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected reward to be one of accuracy, likely, log_"):
        PolicyClassifier(network(), Root(), head("classes"), reward="none")


@pytest.mark.parametrize("fixed", [None, OnlyRecur()], ids=["gold", "recur"])
def test_only_recurs_are_an_lstm(fixed: nn.Module | None) -> None:
    words = WordEmbedding("word", WORDS, SIZE)
    encoder = RRNetEncoder(words, RRNetCell(SIZE, STATE), fixed=fixed)
    batch = sentences([6], [2] * 6 if fixed is None else None)
    lstm = nn.LSTM(SIZE, STATE)
    with torch.no_grad():
        gates = [0, 1, 3, 2]  # torch's are i, f, u, o; ours i, f, o, u

        def own(parameter: Tensor) -> Tensor:
            return torch.cat([parameter.t().chunk(4)[gate] for gate in gates])

        lstm.weight_ih_l0.copy_(own(encoder.cell.W[1]))
        lstm.weight_hh_l0.copy_(own(encoder.cell.U[1]))
        lstm.bias_ih_l0.copy_(torch.cat([encoder.cell.b[1].chunk(4)[gate] for gate in gates]))
        lstm.bias_hh_l0.zero_()
    expected, _ = lstm(encoder.input(batch)[:, None])
    assert_close(encoder(batch).states[1:], expected[:, 0])

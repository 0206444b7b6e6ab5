"""Streams of text, window by window, without a look ahead."""

import itertools
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from dgltrees.cells.initial import uniform
from dgltrees.errors import ConfigError, TreeError
from dgltrees.models import GivenVectors, WordEmbedding
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder
from dgltrees.papers.rrnet.models.language_model import LSTMStream, StreamLM
from dgltrees.papers.rrnet.models.objectives import Reinforce
from dgltrees.papers.rrnet.models.policy import RandomOperations
from dgltrees.papers.rrnet.models.stepping import advance, initial_state
from dgltrees.trees import TreeBatch
from dgltrees.trees.kinds import Operation
from tests.papers.rrnet.models.conftest import EMPTY, SIZE, STATE, WORDS, network

STREAMS, LENGTH = 3, 23


def language_model(encoder: RRNetEncoder | LSTMStream, **options: Any) -> StreamLM:
    """A model whose parameters are all drawn, so that each matters."""
    model = StreamLM(encoder, **options).double()
    uniform(model, 0.8)
    return model


def learner(**options: Any) -> StreamLM:
    return language_model(network(objective=Reinforce(), max_open=3, **options))


def control(**options: Any) -> StreamLM:
    """Random operations, one for each word."""
    fixed = RandomOperations("word", WORDS, 1)
    return language_model(network(policy=False, fixed=fixed, max_open=3, **options))


def lstm(layers: int = 1, **options: Any) -> StreamLM:
    reader = LSTMStream(WordEmbedding("word", WORDS, SIZE), STATE, layers=layers, **options)
    return language_model(reader)


def text(seed: int = 0, length: int = LENGTH) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(WORDS, (STREAMS, length + 1), generator=generator)


def window(words: Tensor, begins: int, ends: int) -> tuple[TreeBatch, Tensor]:
    """Tokens ``begins`` to ``ends`` of each stream, and the words after them."""
    sizes = torch.full((len(words),), ends - begins)
    place = torch.arange(begins, ends).repeat(len(words))
    ndata = {"word": words[:, begins:ends].flatten(), "place": place}
    batch = TreeBatch(EMPTY, EMPTY, sizes, ndata=ndata)
    return batch, words[:, begins + 1 : ends + 1].flatten()


def read(model: StreamLM, words: Tensor, cuts: list[int]) -> tuple[Tensor, Tensor]:
    """Losses and operations of all tokens, ``(B, T)``, in windows cut there."""
    losses, operations = [], []
    for begins, ends in itertools.pairwise(cuts):
        outputs = model.outputs(*window(words, begins, ends))
        losses.append(outputs["loss"].view(len(words), -1))
        operation = Operation.RECUR - outputs["splits"] + outputs["merges"]
        operations.append(operation.view(len(words), -1))
    return torch.cat(losses, 1), torch.cat(operations, 1)


KINDS = {
    "policy": learner,
    "running": lambda: learner(cell={"memory": "running", "merge": "two_layers"}),
    "layer_norm": lambda: learner(cell={"layer_norm": True}),
    "words": lambda: learner(consume="recur"),
    "random": control,
    "lstm": lstm,
    "deep_lstm": lambda: lstm(layers=2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_windows_are_one_long_run(kind: str) -> None:
    model = KINDS[kind]().eval()
    whole, done = read(model, text(), [0, LENGTH])
    parts, same = read(model, text(), [0, 1, 8, 15, LENGTH])
    assert_close(parts, whole)
    assert same.equal(done)


@pytest.mark.parametrize("kind", KINDS)
def test_no_loss_depends_on_later_words(kind: str) -> None:
    """Other words from t + 1 on: the loss of a word before, and all operations, stay the same."""
    model = KINDS[kind]().eval()
    words = text()
    losses, done = read(model, words, [0, 8, 15, LENGTH])
    for t in (0, 6, 7, 12, LENGTH - 1):  # the last consumed is word t
        other = words.clone()
        other[:, t + 1 :] = (other[:, t + 1 :] + 1) % WORDS
        changed, now = read(model, other, [0, 8, 15, LENGTH])
        assert changed[:, :t].equal(losses[:, :t])
        assert now[:, : t + 1].equal(done[:, : t + 1])


@pytest.mark.parametrize("kind", KINDS)
def test_the_distribution_of_the_next_word_is_one_and_comes_from_the_prefix(kind: str) -> None:
    """The probabilities of all words that could come next, each read as if it did, sum to one."""
    model = KINDS[kind]().eval()
    words = text()
    for t in (0, 6, 7, 12):
        total = torch.zeros(STREAMS, dtype=torch.float64)
        for word in range(WORDS):
            other = words.clone()
            other[:, t + 1] = word
            total += torch.exp(-read(model, other, [0, 8, 15])[0][:, t])
        assert_close(total, torch.ones_like(total))


@pytest.mark.parametrize("kind", ["policy", "running", "layer_norm", "random"])
def test_the_graph_of_windows_equals_steps_on_the_fly(kind: str) -> None:
    model = KINDS[kind]().eval()
    words = text()
    losses, done = read(model, words, [0, 8, 15, LENGTH])
    encoder = model.encoder
    state, found = initial_state(encoder.cell, STREAMS, 3), []
    with torch.no_grad():
        for t in range(LENGTH):
            state = advance(encoder.cell, encoder.input.look_up(words[:, t]), done[:, t], state)
            logits = state.h @ model.output.t()
            found.append(F.cross_entropy(logits, words[:, t + 1], reduction="none"))
    assert_close(losses, torch.stack(found, 1))
    carried = model.carried.state
    assert carried.size.tolist() == state.size.tolist()
    assert_close((carried.h, carried.c), (state.h, state.c))
    for row, size in enumerate(state.size.tolist()):
        assert_close(carried.stack[row, :size], state.stack[row, :size])


def test_sub_trees_are_open_over_windows_and_merged_in_later_ones() -> None:
    model = control()
    with torch.no_grad():  # words 0 and 1 split and merge
        model.encoder.fixed.operation.copy_(torch.tensor([1, 3, 2, 2, 2, 2]))
    words = torch.tensor([[0, 2, 0, 3, 4, 1, 5, 1, 1, 2]])
    _, done = read(model.eval(), words, [0, 3, 6, 9])
    assert "".join(Operation(op).name[0] for op in done[0].tolist()) == "SRSRRMRMR"
    model.outputs(*window(words, 0, 3))
    assert model.carried.state.size.tolist() == [2]
    graph = model.rollout(window(words, 3, 6)[0]).rollout.graph
    assert graph.ndata["op"].tolist() == [0, 4, 4, 2, 2, 3]
    assert graph.src.tolist() == [0, 3, 4, 2]  # the innermost OPEN returns to the merge
    model.outputs(*window(words, 3, 6))
    assert model.carried.state.size.tolist() == [1]


@pytest.mark.parametrize("kind", ["policy", "running", "random", "lstm"])
def test_gradients_stop_where_a_window_begins(kind: str) -> None:
    """What is carried over is a constant: it alone comes from the window before."""
    model = KINDS[kind]()
    words = text()
    model(model.rollout(window(words, 0, 8)[0]), window(words, 0, 8)[1])
    batch, targets = window(words, 8, 15)
    decided = model.rollout(batch)
    before = words[:, :8].unique()
    gone = sorted(set(before.tolist()) - set(words[:, 8:15].flatten().tolist()))
    state = model.carried.state
    tensors = state[:4] if hasattr(state, "stack") else state
    assert not any(t.requires_grad for t in tensors)
    model(decided, targets).sum().backward()
    grad = model.encoder.input.weight.grad
    assert torch.isfinite(grad).all()
    assert all(grad[word].eq(0).all() for word in gone)


def test_gradients_are_those_of_the_window_alone() -> None:
    """With respect to the word vectors of the second window, by finite differences."""
    model = control().eval()
    words = text(length=12)
    model.outputs(*window(words, 0, 6))
    carried = model.carried
    batch, targets = window(words, 6, 12)

    def loss(weight: Tensor) -> Tensor:
        model.carried = carried
        found = torch.func.functional_call(
            model, {"encoder.input.weight": weight}, (model.rollout(batch), targets)
        )
        return found.sum()

    weight = model.encoder.input.weight.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(loss, weight, fast_mode=True)


def test_the_lstm_is_torch_s_on_the_whole_stream() -> None:
    model = lstm(layers=2).eval()
    words = text()
    found, _ = read(model, words, [0, 8, 15, LENGTH])
    x = model.encoder.input.weight[words[:, :-1].t()]
    states, _ = model.encoder.lstm(x)  # (T, B, d)
    logits = states @ model.output.t()
    expected = F.cross_entropy(logits.flatten(0, 1), words[:, 1:].t().flatten(), reduction="none")
    assert_close(found, expected.view(LENGTH, STREAMS).t())
    assert model.outputs(*window(words, 0, 8))["splits"].eq(-1).all()


def test_streams_may_differ_by_a_token() -> None:
    model, words = learner().eval(), text()
    batch, targets = window(words, 0, 6)
    keep = torch.tensor([True] * 6 + [True] * 5 + [False] + [True] * 5 + [False])
    ndata = {name: column[keep] for name, column in batch.ndata.items()}
    uneven = TreeBatch(EMPTY, EMPTY, torch.tensor([6, 5, 5]), ndata=ndata)
    for each in (model, lstm().eval()):
        whole = each.outputs(batch, targets)["loss"]
        assert_close(each.outputs(uneven, targets[keep])["loss"], whole[keep])


def test_rewards_are_log_probabilities_of_the_next_words_less_the_mean_of_the_other_streams() -> (
    None
):
    torch.manual_seed(3)
    model = learner()
    model.weight = 0.3
    batch, targets = window(text(), 0, 6)
    decided = model.rollout(batch)
    losses = model(decided, targets)
    encoding = model.encoder.with_bootstrap(
        model.encoder(decided.rollout), decided.rollout, targets[5::6]
    )
    nll = F.cross_entropy(encoding.tokens @ model.output.t(), targets, reduction="none")
    policy = model.encoder.objective.losses(encoding.decisions, less_others(-nll.detach()))
    assert_close(losses, nll + 0.3 * policy)
    model.reward = "likely"
    likely = (nll.detach() < math.log(2)).double()
    policy = model.encoder.objective.losses(encoding.decisions, less_others(likely))
    assert_close(model(decided, targets), nll + 0.3 * policy)


def less_others(rewards: Tensor) -> Tensor:
    """The rewards of each stream less the mean over all steps of the others, by the definition."""
    streams = rewards.view(STREAMS, -1)
    rows = [torch.cat([streams[:i], streams[i + 1 :]]).mean() for i in range(STREAMS)]
    return (streams - torch.stack(rows)[:, None]).flatten()


def test_streams_of_different_sizes_are_compared_with_all_steps_of_the_others() -> None:
    model, nll = learner(), torch.tensor([1.0, 2.0, 3.0, 5.0, 8.0, 13.0])
    rewards = model._rewards(nll, torch.tensor([3, 1, 2]))
    expected = [26 / 3 - 1, 26 / 3 - 2, 26 / 3 - 3, 27 / 5 - 5, 11 / 4 - 8, 11 / 4 - 13]
    assert_close(rewards, torch.tensor(expected))
    alone = model._rewards(nll, torch.tensor([6]))
    assert_close(alone, nll.mean() - nll)


def test_a_window_ends_with_the_value_of_the_state_that_the_next_one_begins_with() -> None:
    model = learner()
    words = text()
    batch, targets = window(words, 0, 6)
    decided = model.rollout(batch)
    encoding = model.encoder.with_bootstrap(
        model.encoder(decided.rollout), decided.rollout, targets[5::6]
    )
    model(decided, targets)
    later = model.encoder(model.rollout(window(words, 6, 12)[0]).rollout).decisions
    scores, values = encoding.decisions.bootstrap
    assert_close((scores, values), (later.scores[::6].detach(), later.values[::6].detach()))
    assert not values.requires_grad


@pytest.mark.parametrize("diverged", [torch.nan, -1e10])
def test_a_policy_that_has_diverged_chooses_nothing(diverged: float) -> None:
    model, words = learner(), torch.ones(1, 9, dtype=torch.long)
    for parameter in model.encoder.policy.parameters():
        torch.nn.init.constant_(parameter, diverged)
    with pytest.raises(ConfigError, match="no legal operation .*diverged; lower training.lr"):
        model.rollout(window(words, 0, 8)[0])


@pytest.mark.parametrize("kind", ["policy", "lstm"])
def test_dropout_has_one_mask_for_all_steps_of_a_window(kind: str) -> None:
    model = learner(dropout=0.5) if kind == "policy" else lstm(dropout=0.5)
    same = torch.ones(1, 9, dtype=torch.long)  # one word all along
    seen: list[torch.Tensor] = []
    batch, _ = window(same, 0, 8)
    if kind == "policy":
        decided = model.rollout(batch).rollout
        x = model.encoder.input(decided.graph)[1:]
        seen.append(x * decided.x_mask[0])
        assert decided.h_mask.shape == (1, STATE)
    else:
        handle = model.encoder.lstm.register_forward_pre_hook(lambda _, a: seen.append(a[0].data))
        model.encoder(model.rollout(batch).rollout)
        handle.remove()
    assert seen[0].eq(0).any()
    assert_close(seen[0], seen[0][:1].expand_as(seen[0]))


def test_windows_out_of_order_are_refused() -> None:
    model, words = learner(), text()
    message = "expected windows in order, got those of 3 streams at token 8 after none"
    with pytest.raises(TreeError, match=message):
        model.outputs(*window(words, 8, 15))
    model.outputs(*window(words, 0, 8))
    with pytest.raises(TreeError, match="at token 9 after 3 streams at token 8; begin at token 0"):
        model.outputs(*window(words, 9, 15))
    with pytest.raises(TreeError, match="got those of 2 streams at token 8 after 3 streams"):
        model.outputs(*window(words[:2], 8, 15))


def test_the_carried_state_is_no_part_of_the_weights() -> None:
    model = learner()
    names = set(model.state_dict())
    model.outputs(*window(text(), 0, 8))
    assert set(model.state_dict()) == names


def test_options_that_do_not_go_together() -> None:
    with pytest.raises(
        ConfigError, match="reward to be one of likely, log_likelihood, got 'accuracy'"
    ):
        StreamLM(network(), reward="accuracy")
    with pytest.raises(ConfigError, match="model.embedding to be 5, .* got 4"):
        StreamLM(network(), tied=True)
    given = RRNetEncoder(GivenVectors("x", SIZE), network().cell)
    with pytest.raises(ConfigError, match="expected learned word vectors, got GivenVectors"):
        StreamLM(given)


def test_tied_output_embeddings_are_the_word_vectors() -> None:
    reader = LSTMStream(WordEmbedding("word", WORDS, STATE), STATE)
    model = StreamLM(reader, tied=True)
    assert model.output is reader.input.weight
    assert isinstance(model.output, nn.Parameter)

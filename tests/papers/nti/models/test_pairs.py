"""Tree matching, node-by-node attention and answers, each pair by itself."""

import math
from typing import Any

import pytest
import torch
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from dgltrees.errors import TreeError
from dgltrees.models.heads import pair_features
from dgltrees.papers.nti.models.encoder import NTIEncoding
from dgltrees.papers.nti.models.pairs import SharedWordCount, split_pairs
from tests.backends import by_backend
from tests.papers.nti.models.reference import attend
from tests.papers.nti.models.worlds import ATTENTIONS, SIZE, make, texts

LENGTHS = [3, 4, 1, 2, 5, 1]

attentions = pytest.mark.parametrize("attention", ATTENTIONS)


def vectors(head: Any, asking: NTIEncoding, asked: NTIEncoding) -> list[torch.Tensor]:
    """The matching vector of each pair: its queries one by one through the LSTM."""
    made = []
    table = asking.table
    for t, size in enumerate(asking.batch.sizes.tolist()):
        found, _ = attend(head.attention, table.states, asked)
        queries = size if head.root_query or size == 1 else size - 1
        states, _ = head.lstm(found[t : t + 1, :queries])
        last = states[0, -1]
        if head.last is not None:
            earlier = states[0, : max(1, queries - 1)]
            s, q = head.last.score, last
            m = torch.stack([s.w @ torch.relu(s.W_1.T @ h + s.W_2.T @ q) for h in earlier])
            z = torch.softmax(m, 0) @ earlier
            last = torch.relu(head.last.W_1.T @ z + head.last.W_2.T @ q)
        made.append(last)
    return made


@attentions
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("code", [False, True])
def test_matching_by_hand(attention: str, full: bool, code: bool) -> None:
    model = make("matching", attention, full=full, root_query=not code, last_step=code)
    batch = texts(LENGTHS)
    premise, hypothesis = model.encoder(batch)
    both = [torch.stack(vectors(model.head, hypothesis, premise))]
    if full:
        both.append(torch.stack(vectors(model.head, premise, hypothesis)))
    assert_close(model(batch), model.head.output(torch.cat(both, 1)))


@attentions
def test_attention_of_a_pair_for_drawing(attention: str) -> None:
    model = make("matching", attention)
    premise, hypothesis = model.encoder(texts([3, 4]))
    found = model.head.attend(hypothesis, premise)
    assert found.weights.shape == (1, 7, 7)
    assert_close(found.weights.sum(2), torch.ones(1, 7))


@attentions
@pytest.mark.parametrize("leaves", ["identity", "lstm"])
@pytest.mark.parametrize("options", [{}, {"leaf_queries": True, "tied": False}])
def test_node_by_node_by_hand(attention: str, leaves: str, options: dict[str, Any]) -> None:
    model = make("node_by_node", attention, encoder={"leaves": leaves}, **options)
    batch = texts(LENGTHS)
    encoder = model.encoder
    premise, hypothesis = encoder(batch)
    assert (encoder.second is encoder.encoder) == bool(not options)
    weights, cell, trees = hypothesis.attention, encoder.second.cell, hypothesis.batch
    h, c, tree = hypothesis.states.clone(), hypothesis.memory.clone(), trees.tree_of_node
    degree = torch.bincount(trees.dst, minlength=trees.num_nodes)
    attends = degree >= 0 if options else degree > 0
    _, second = split_pairs(encoder.input(batch), batch)
    alone = encoder.second.encode(second, start=premise.final).states
    for node in torch.nonzero(attends)[:, 0].tolist():  # children stand before their parents
        below = trees.src[trees.dst == node]
        if not len(below):
            one = torch.zeros(len(LENGTHS) // 2, 1, SIZE)
            one[tree[node]] = alone[node]
            found, _ = attend(encoder.attention, one, premise)
            h[node] = found[tree[node], 0]
            continue
        a = cell.b + h[below].flatten() @ cell.U
        i, f_l, f_r, o, u = a.view(5, -1)
        i, f_l, f_r = (
            torch.stack([i, f_l, f_r]) + (c[below].flatten() @ cell.P).view(3, -1)
        ).sigmoid()
        c[node] = f_l * c[below[0]] + f_r * c[below[1]] + i * u.tanh()
        q = (o + c[node] @ cell.V).sigmoid() * c[node].tanh()
        one = torch.zeros(len(LENGTHS) // 2, 1, len(q))
        one[tree[node]] = q
        found, shares = attend(encoder.attention, one, premise)
        h[node] = found[tree[node], 0]
        own = shares[int(tree[node])][0]
        assert_close(weights[node, : len(own)], own)
    assert_close(hypothesis.states, h)
    assert_close(hypothesis.memory, c)
    assert_close(weights.sum(1), attends.to(h.dtype))
    assert_close(
        model(batch), model.head(torch.stack([premise.roots, hypothesis.roots], 1).flatten(0, 1))
    )


@attentions
@pytest.mark.parametrize("leaf_queries", [False, True])
def test_node_by_node_backends_agree(attention: str, leaf_queries: bool) -> None:
    model = make("node_by_node", attention, leaf_queries=leaf_queries)
    found = []
    for backend in ("levels", "dgl"):
        with by_backend(backend):
            logits = model(texts(LENGTHS))
        found.append([logits, *torch.autograd.grad(logits.pow(2).sum(), list(model.parameters()))])
    assert_close(*found)


class _NothingIsRead(TorchDispatchMode):
    """Fails where a tensor's values are asked for, which would wait for a GPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert func is not torch.ops.aten._local_scalar_dense.default, "a value was read"
        assert func is not torch.ops.aten.nonzero.default, "a mask was read"
        return func(*args, **(kwargs or {}))


def test_levels_wait_for_no_values() -> None:
    model = make("node_by_node", encoder={"leaves": "identity"})
    batch = texts(LENGTHS)
    encoder = model.encoder
    first, second = split_pairs(encoder.input(batch), batch)
    premise = encoder.encoder.encode(first)
    want = encoder.encode_second(second, premise).states  # the plan of the traversal is made here
    with _NothingIsRead():
        found = encoder.encode_second(second, premise).states
    assert_close(found, want)


def test_the_hypothesis_begins_where_the_premise_ended() -> None:
    model = make("node_by_node")
    one, other = texts([3, 4]), texts([3, 4])
    other.ndata["word"][:1] = (one.ndata["word"][:1] + 1) % 20  # a word of the premise
    leaves = [model.encoder(batch).second.states[:4] for batch in (one, other)]
    assert (leaves[0] - leaves[1]).abs().min() > 0


def test_features_of_a_pair() -> None:
    p, h = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 0.5]])
    want = [1.0, -2.0, 3.0, 0.5, 2.0, 2.5, 3.0, -1.0]
    assert_close(pair_features(p, h), torch.tensor([want]))


def test_the_answer_composes_the_question() -> None:
    model = make("answers")
    encoder, one, other = model.encoder, texts([4, 3]), texts([4, 3])
    other.ndata["word"][4:] = (one.ndata["word"][4:] + 1) % 20  # another answer
    questions = [encoder(batch).first for batch in (one, other)]
    assert_close(questions[0].states[:4], questions[1].states[:4])  # leaves do not see it
    assert (questions[0].roots - questions[1].roots).abs().max() > 0
    question, _ = split_pairs(encoder.input(one), one)
    encoding = encoder.question.encode(question, query=encoder(one).second.roots)
    assert_close(encoding.states, questions[0].states)
    assert model(one).shape == (1, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shared_words_are_counted(dtype: torch.dtype) -> None:
    batch = texts([3, 2, 1, 2])
    batch.ndata["shared"] = torch.tensor([1, 0, 1, 1, 1, 0, 0, 0])
    want = torch.tensor([[math.log(3)], [math.log(3)], [0.0], [0.0]], dtype=dtype)
    assert_close(SharedWordCount("shared").to(dtype)(batch), want)
    with pytest.raises(TreeError, match="expected a node column 'common', got only"):
        SharedWordCount("common")(batch)

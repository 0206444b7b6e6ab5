"""The decisions to add edges, and the symbols that can stand for them."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from torch.testing import assert_close

from dgltrees import ConfigError
from dgltrees.papers.top_down.graphs import generation_batch, generation_forest, left_chains
from dgltrees.papers.top_down.models.add_decisions import AddDecisions, JointTreeLM
from dgltrees.papers.top_down.models.tree_lm import TreeLM, source_of_node, with_stops
from tests.trees.dependencies import HEADS, forest_of, sentences

V, D = 20, 4


def make(**options: Any) -> JointTreeLM:
    torch.manual_seed(0)
    decisions = AddDecisions(D, hidden=(5, 6), **options)
    return JointTreeLM(TreeLM(V, D), decisions).double().eval()


def slow_decisions(heads: list[int]) -> list[tuple[int, int, bool]]:
    """(type, node, added) from dependents: has it one, has it one beyond the outermost?"""
    found = []
    for w in range(1, len(heads) + 1):
        dependents = [v for v in range(1, len(heads) + 1) if heads[v - 1] == w]
        found.append((0, w, any(v < w for v in dependents)))
        found.append((1, w, any(v > w for v in dependents)))
        siblings = [v for v in range(1, len(heads) + 1) if heads[v - 1] == heads[w - 1]]
        if w < heads[w - 1]:
            found.append((2, w, any(v < w for v in siblings)))
        else:
            found.append((3, w, any(v > w for v in siblings)))
    return found


@pytest.mark.parametrize("options", [{}, {"state": "source"}, {"embedding": D // 2}])
@given(trees=sentences())
def test_decisions_of_every_word(options: dict[str, Any], trees: list[list[int]]) -> None:
    joint = make(**options)
    forest = generation_forest(forest_of(trees))
    batch = generation_batch(forest)
    with torch.no_grad():
        H, vectors = joint.words.states(batch), joint.words.output
        if "embedding" in options:
            vectors = joint.words.embed.weight
        words, source = batch.ndata["word"], forest.global_parent
        expected = joint.words.log_prob(batch)
        for t, heads in enumerate(trees):
            for kind, w, added in slow_decisions(heads):
                node = int(forest.offsets[t]) + w
                at = node if options.get("state") != "source" else int(source[node])
                features = torch.cat([H[at], vectors[words[node]]])
                p = torch.sigmoid(joint.decisions.add[kind](features))[0]
                expected[t] += torch.log(p if added else 1 - p)
        assert_close(joint.log_prob(batch), expected)


def test_networks_are_those_of_section_3_4() -> None:
    decisions = AddDecisions(300)
    sizes = [m for m in decisions.add[0].modules() if isinstance(m, torch.nn.Linear)]
    assert [(m.in_features, m.out_features) for m in sizes] == [(600, 300), (300, 300), (300, 1)]
    assert len(decisions.add) == 4


def test_they_learn() -> None:
    """Where a left dependent tells all, the classifiers find out."""
    forest = generation_forest(forest_of([HEADS, [2, 0, 2], [0, 1]]))
    batch, joint = generation_batch(forest), make()
    H = joint.words.states(batch).detach()
    before = joint.decisions.log_prob(batch, H, joint.words.output.detach()).sum()
    optimizer = torch.optim.Adagrad(joint.decisions.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        loss = -joint.decisions.log_prob(batch, H, joint.words.output.detach()).sum()
        loss.backward()
        optimizer.step()
    assert -loss.detach() > before.detach() / 3
    assert all(p.grad is None for p in joint.words.parameters())


@given(trees=sentences())
def test_symbols_stand_where_an_edge_could(trees: list[list[int]]) -> None:
    plain = generation_batch(generation_forest(forest_of(trees)))
    batch = with_stops(plain, V)
    first, before = 0, 0  # of the tree, with symbols and without
    for t, heads in enumerate(trees):
        n = len(heads) + 1
        assert int(batch.sizes[t]) == n + 2 * len(heads) + 1
        words, symbols = slice(first, first + n), slice(first + n, first + int(batch.sizes[t]))
        old = slice(before, before + n)
        for name in ("word", "etype"):
            assert (batch.ndata[name][words] == plain.ndata[name][old]).all()
        assert batch.ndata["node"][words].tolist() == list(range(before, before + n))
        assert (batch.ndata["node"][symbols] == before).all()
        source = source_of_node(batch)
        assert (source[words] - first == source_of_node(plain)[old] - before).all()
        word, etype = batch.ndata["word"][symbols], batch.ndata["etype"][symbols]
        assert (word == V).sum() == len(heads)
        assert (word == V + 1).sum() == len(heads) + 1
        assert ((etype % 2 == 0) == (word == V)).all()
        absent = {(k, w) for k, w, added in slow_decisions(heads) if not added}
        assert set(zip(etype.tolist(), (source[symbols] - first).tolist())) == absent
        first, before = symbols.stop, old.stop
    assert batch.roots.tolist() == [int(batch.sizes[:t].sum()) for t in range(len(trees))]


def test_start_is_the_first_that_left_dependents_are_read_after() -> None:
    """LD reads START, then the left dependents; ROOT has none."""
    batch = with_stops(generation_batch(generation_forest(forest_of([[2, 0]]))), V)
    # ROOT, a, b; then the symbols: a has LEFT, RIGHT, NX-LEFT; b has RIGHT, NX-RIGHT
    nearest = batch.ndata["nearest_left"].tolist()
    source, etype = source_of_node(batch).tolist(), batch.ndata["etype"].tolist()
    for node, found in enumerate(nearest):
        lefts = [v for v in range(1, len(source)) if (source[v], etype[v]) == (source[node], 0)]
        wanted = lefts[0] if etype[node] == 1 and lefts else -1
        assert found == wanted
    chains = left_chains(batch)
    start = [v for v, word in enumerate(batch.ndata["word"].tolist()) if word == V]
    node = chains.ndata["node"]
    before = dict(zip(node[chains.dst].tolist(), node[chains.src].tolist()))
    assert list(before) == [1]
    assert before[1] in start


@pytest.mark.parametrize("left_dependents", [False, True])
def test_the_joint_probability_of_words_and_shape(left_dependents: bool) -> None:
    """The sum over all trees of up to two words is below 1, and what is left goes to others."""
    words = 3
    torch.manual_seed(0)
    model = TreeLM(words, D, left_dependents=left_dependents, stops=True).double()
    with torch.no_grad():
        for p in model.parameters():
            p.uniform_(-1, 1)
        total = []
        for heads in ([0], [2, 0], [0, 1], [0, 0]):
            shape = generation_forest(forest_of([heads]))
            part = 0.0
            for choice in np.ndindex(*[words] * len(heads)):
                shape.columns["word"][1:] = choice
                part += float(model.log_prob(generation_batch(shape)).exp())
            total.append(part)
        assert min(total) > 0
        assert sum(total) < 1
        # The first word, and then four symbols: START, STOP, and STOP of ROOT, from its state.
        one = generation_forest(forest_of([[0]]))
        h, _, _ = model(generation_batch(one))
        assert len(h) == 4


def test_a_joint_model_needs_no_decisions() -> None:
    with pytest.raises(ConfigError, match="got one with START and STOP .* joint already"):
        JointTreeLM(TreeLM(V, D, stops=True), AddDecisions(D))

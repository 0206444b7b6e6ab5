"""The decisions to add edges, and the symbols that can stand for them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from torch.testing import assert_close

from dgltrees import ConfigError, Forest, TreeError
from dgltrees.models import AddDecisions, JointTreeLM, TreeLM, with_stops
from dgltrees.models.stop_symbols import START, STOP
from dgltrees.trees.dependencies import generation_batch, generation_forest
from tests.trees.dependencies import HEADS, forest_of, sentences

V, D = 20, 4


def make(state: str = "own") -> JointTreeLM:
    torch.manual_seed(0)
    decisions = AddDecisions(D, hidden=(5, 6), state=state)
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


@pytest.mark.parametrize("state", ["own", "source"])
@given(trees=sentences())
def test_decisions_of_every_word(state: str, trees: list[list[int]]) -> None:
    joint = make(state)
    forest = generation_forest(forest_of(trees))
    batch = generation_batch(forest)
    with torch.no_grad():
        H, output = joint.words.states(batch), joint.words.output
        words, source = batch.ndata["word"], forest.global_parent
        expected = joint.words.log_prob(batch)
        for t, heads in enumerate(trees):
            for kind, w, added in slow_decisions(heads):
                node = int(forest.offsets[t]) + w
                at = node if state == "own" else int(source[node])
                features = torch.cat([H[at], output[words[node]]])
                p = torch.sigmoid(joint.decisions.add[kind](features))[0]
                expected[t] += torch.log(p if added else 1 - p)
        assert_close(joint.log_prob(batch), expected)


def test_networks_are_those_of_section_3_4() -> None:
    decisions = AddDecisions(300)
    sizes = [m for m in decisions.add[0].modules() if isinstance(m, torch.nn.Linear)]
    assert [(m.in_features, m.out_features) for m in sizes] == [(600, 300), (300, 300), (300, 1)]
    assert len(decisions.add) == 4
    with pytest.raises(ConfigError, match="state to be one of own, source, got 'both'"):
        AddDecisions(3, state="both")


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
    plain = generation_forest(forest_of(trees))
    forest = with_stops(plain)
    start, stop = forest.vocabs["word"].encode([START, STOP])
    for t, heads in enumerate(trees):
        nodes = slice(forest.offsets[t], forest.offsets[t + 1])
        parent, pos, word = forest.parent[nodes], forest.pos[nodes], forest.columns["word"][nodes]
        n = len(heads) + 1
        old = slice(plain.offsets[t], plain.offsets[t + 1])
        assert parent[:n].tolist() == plain.parent[old].tolist()
        assert word[:n].tolist() == plain.columns["word"][old].tolist()
        assert len(parent) == n + 2 * len(heads) + 1
        assert (word[n:] == start).sum() == len(heads)
        assert (word[n:] == stop).sum() == len(heads) + 1
        absent = {(k, w) for k, w, added in slow_decisions(heads) if not added}
        assert {(int(k), int(p)) for k, p in zip(pos[n:], parent[n:])} == absent
        assert (np.isin(pos[n:], (0, 2)) == (word[n:] == start)).all()
    Forest.build(forest.parent, pos=forest.pos, offsets=forest.offsets)  # sound


def test_the_joint_probability_of_words_and_shape() -> None:
    """With symbols the words of all trees with one word or none below it add up to at most 1."""
    shapes = generation_forest(forest_of([[0], [2, 0], [0, 1]]))
    forest = with_stops(shapes)
    size = len(forest.vocabs["word"])
    torch.manual_seed(0)
    model = TreeLM(size, D).double()
    with torch.no_grad():
        for p in model.parameters():
            p.uniform_(-1, 1)
        total = 0.0
        for t, words in ((0, 1), (1, 2), (2, 2)):
            one = forest.tree(t)
            for choice in np.ndindex(*[size - 2] * words):
                one.columns["word"][1 : 1 + words] = choice
                total += float(model.log_prob(generation_batch(one)).exp())
    assert 0 < total < 1


def test_stop_symbol_errors() -> None:
    forest = with_stops(generation_forest(forest_of([[0]])))
    with pytest.raises(TreeError, match="'word' without <start> and <stop>, got one with"):
        with_stops(forest)
    nameless = Forest(forest.parent, forest.pos, forest.offsets, forest.columns)
    with pytest.raises(TreeError, match=r"got \[\]"):
        with_stops(nameless)

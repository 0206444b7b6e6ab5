"""Trees sampled from a model, with the log-probabilities that the model gives them."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from dgltrees import ConfigError, Vocabulary
from dgltrees.papers.top_down.graphs import dependency_forest, generation_batch, generation_forest
from dgltrees.papers.top_down.models.add_decisions import AddDecisions, JointTreeLM
from dgltrees.papers.top_down.models.sample_trees import SampledTrees, Sampling, sample_trees
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from tests.papers.top_down.samples import decisions_of

V, D = 12, 4
VOCABS = {
    "word": Vocabulary(["<root>", *"abcdefghijk"], frozen=True),
    "deprel": Vocabulary("xyz", frozen=True),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"left_dependents": True},
    {"left_dependents": True, "layers": 2},
    {"layers": 2, "shared": True},
    {"embedding": D, "tied": True, "state": "source"},
    {"embedding": 3, "features": 3},
    {"labels": 3},
]
each = pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o) or "plain")


def make(state: str = "own", features: int | None = None, **options: Any) -> JointTreeLM:
    """A model with strong opinions, whose trees have some ten words."""
    torch.manual_seed(0)
    decisions = AddDecisions(D, hidden=(5,), state=state, embedding=features)
    model = JointTreeLM(TreeLM(V, D, **options), decisions)
    with torch.no_grad():
        for p in model.parameters():
            p.uniform_(-0.9, 0.9)
        for add in model.decisions.add:
            add.layers[-1].bias.fill_(-0.5)
    return model.double().eval()


def sample(model: JointTreeLM, trees: int = 40, seed: int = 0, **options: Any) -> SampledTrees:
    how = {"max_words": 15, "sample_decisions": True, **options}
    generator = torch.Generator().manual_seed(seed)
    return sample_trees(model, VOCABS, trees, root=0, generator=generator, **how)


@each
def test_log_probabilities_are_those_of_the_model(options: dict[str, Any]) -> None:
    model = make(**options)
    sampled = sample(model)
    batch = generation_batch(sampled.forest)
    assert {1, 2, 3} <= set((sampled.forest.depth[sampled.forest.pos > 0]).tolist())
    with torch.no_grad():
        assert_close(model.words.log_prob(batch), sampled.log_prob)
        assert_close(model.log_prob(batch), sampled.log_prob + sampled.edge_log_prob)


@each
def test_the_order_is_that_of_training(options: dict[str, Any]) -> None:
    """And the trees are those that a treebank of them would make."""
    sampled = sample(make(**options)).forest
    again = generation_forest(dependency_forest(sampled))
    order = again.columns["t"]
    for t, stop in zip(sampled.offsets, sampled.offsets[1:]):
        by_t = np.argsort(order[t:stop])
        for name in ("word", "etype"):
            one, two = again.columns[name][t:stop], sampled.columns[name][t:stop]
            assert (one[by_t] == two).all()
    assert (np.bincount(sampled.parent + 1)[:2] == len(sampled)).all()  # one dependent of ROOT


def test_the_same_seed_samples_the_same_trees() -> None:
    model = make(left_dependents=True)
    one, two, other = sample(model), sample(model), sample(model, seed=1)
    assert (one.forest.parent == two.forest.parent).all()
    assert (one.forest.columns["word"] == two.forest.columns["word"]).all()
    assert one.forest.columns["word"].tolist() != other.forest.columns["word"].tolist()


def test_cold_trees_are_the_likeliest_words_and_decisions() -> None:
    model = make(left_dependents=True)
    frozen = sample(model, sampling=Sampling(temperature=0.0), sample_decisions=False)
    cold = sample(model, sampling=Sampling(temperature=1e-6), sample_decisions=False)
    assert (frozen.forest.columns["word"] == cold.forest.columns["word"]).all()
    batch = generation_batch(frozen.forest)
    with torch.no_grad():
        h, words, _ = model.words(batch)
        y = h @ model.words.output.t()
        y[:, 0] = -torch.inf  # ROOT stands above alone
        assert (y.argmax(1) == words).all()
        logits, added = decisions_of(model, batch)
    wanted = logits > 0
    assert not bool(((added == 1) & ~wanted).any())
    whole = ~frozen.truncated[batch.tree_of_node]
    first = torch.tensor([0, 0, 0, 1])  # ROOT has one dependent
    free = (batch.ndata["t"][:, None] > first) & whole[:, None] & (added >= 0)
    assert ((added == 1) == wanted)[free].all()


def test_no_tree_is_longer_than_the_limit() -> None:
    model = make()
    for add in model.decisions.add:
        torch.nn.init.constant_(add.layers[-1].bias, 9.0)
    sampled = sample(model, max_words=7)
    assert (sampled.forest.sizes == 8).all()
    assert sampled.truncated.all()
    short = sample(make(), max_words=1)
    assert (short.forest.sizes == 2).all()
    with torch.no_grad():
        batch = generation_batch(sampled.forest)
        assert_close(model.log_prob(batch), sampled.log_prob + sampled.edge_log_prob)


def test_words_are_drawn_as_often_as_they_are_likely() -> None:
    """The first word, which hangs on ROOT alone; ROOT itself and <j> are drawn nowhere."""
    model = make()
    sampled = sample(model, 4000, max_words=1, excluded=[10])
    words = torch.from_numpy(sampled.forest.columns["word"][1::2]).long()
    seen = torch.bincount(words, minlength=V) / len(words)
    with torch.no_grad():
        h = model.words(generation_batch(sampled.forest.select([0]))).h
        y = h @ model.words.output.t()
    y[:, [0, 10]] = -torch.inf
    assert_close(seen.double(), torch.softmax(y[0], 0), atol=0.03, rtol=0)


def test_decisions_are_drawn_as_often_as_they_are_likely() -> None:
    """Those of the first word, which is always the same."""
    model, how = make(), Sampling(temperature=0.0)
    first = generation_batch(sample(model, 1, max_words=1, sampling=how).forest)
    with torch.no_grad():
        logits, added = decisions_of(model, first)
    p = torch.sigmoid(logits[:, :2][added[:, :2] >= 0])
    alone = (sample(model, 3000, max_words=2, sampling=how).forest.sizes == 2).mean()
    assert_close(float(alone), float((1 - p).prod()), atol=0.03, rtol=0)


def test_labels_are_those_of_the_model() -> None:
    model = make(labels=3)
    sampled = sample(model, sampling=Sampling(temperature=0.0))
    batch = generation_batch(sampled.forest)
    with torch.no_grad():
        h, words, _ = model.words(batch)
        expected = model.words.label_scores(h, words).argmax(1)
    labels = sampled.forest.columns["deprel"]
    assert (labels[sampled.forest.roots] == -1).all()
    assert labels[sampled.forest.parent >= 0].tolist() == expected.tolist()
    assert make().words.label_scores(h, words) is None


def test_top_k_and_top_p() -> None:
    y = torch.log(torch.tensor([[0.5, 0.05, 0.3, 0.15], [0.05, 0.15, 0.3, 0.5]]))
    y = y.repeat(500, 1)
    generator = torch.Generator().manual_seed(0)

    def drawn(**how: Any) -> list[set[int]]:
        words = Sampling(**how).draw(y, generator)
        return [set(words[0::2].tolist()), set(words[1::2].tolist())]

    assert drawn() == [{0, 1, 2, 3}] * 2
    assert drawn(top_k=2) == [{0, 2}, {2, 3}]
    assert drawn(top_k=9) == [{0, 1, 2, 3}] * 2
    assert drawn(top_p=0.5) == [{0}, {3}]
    assert drawn(top_p=0.6) == [{0, 2}, {2, 3}]
    assert drawn(top_p=0.9) == [{0, 2, 3}, {1, 2, 3}]
    assert drawn(top_k=1, temperature=5.0) == [{0}, {3}]
    assert drawn(temperature=0.0) == [{0}, {3}]


def test_errors() -> None:
    with pytest.raises(ConfigError, match="and max_words of at least 1, got 0 and 15"):
        sample(make(), 0)
    with pytest.raises(ConfigError, match="with an edge classifier or with stops=True"):
        sample_trees(TreeLM(V, D), VOCABS, 1, root=0)


def joint(**options: Any) -> TreeLM:
    """A model with START and STOP, both of them likely."""
    torch.manual_seed(0)
    model = TreeLM(V, D, stops=True, **options)
    with torch.no_grad():
        for p in model.parameters():
            p.uniform_(-0.9, 0.9)
        model.output[V:] += 1.5 * model.output.mean()
    return model.double().eval()


@pytest.mark.parametrize(
    "options",
    [{}, {"left_dependents": True, "layers": 2}, {"shared": True, "labels": 3}],
    ids=lambda o: "-".join(o) or "plain",
)
def test_start_and_stop_shape_the_trees(options: dict[str, Any]) -> None:
    """The scorer says the same of them, also where the limit has cut them, and all are whole."""
    model = joint(**options)
    how = {"max_words": 9, "excluded": range(3, V), "generator": torch.Generator().manual_seed(0)}
    sampled = sample_trees(model, VOCABS, 200, root=0, **how)
    assert len(set(sampled.forest.sizes.tolist())) >= 3
    assert sampled.forest.sizes.max() == 10
    assert sampled.truncated.any()
    assert not sampled.truncated.all()
    assert not sampled.truncated[torch.from_numpy(sampled.forest.sizes) < 10].any()
    assert (sampled.forest.columns["word"] < V).all()
    assert (np.bincount(sampled.forest.parent + 1)[:2] == len(sampled.forest)).all()
    with torch.no_grad():
        batch = generation_batch(sampled.forest)
        assert_close(model.log_prob(batch), sampled.log_prob + sampled.edge_log_prob)
        h, words, _ = model(batch)
        nll = F.cross_entropy(h @ model.output.t(), words, reduction="none")
        assert_close(-float(nll[words >= V].sum()), float(sampled.edge_log_prob.sum()))
    again = generation_forest(dependency_forest(sampled.forest)).columns["t"]
    assert sorted(again.tolist()) == sorted(sampled.forest.columns["t"].tolist())


def test_symbols_are_drawn_as_often_as_they_are_likely() -> None:
    """Trees of one word are those where START stands left of it and STOP right of it."""
    model, generator = joint(left_dependents=True), torch.Generator().manual_seed(1)
    sampled = sample_trees(model, VOCABS, 6000, root=0, max_words=4, generator=generator).forest
    first = sampled.columns["word"][sampled.roots + 1]
    word = np.bincount(first).argmax()
    alone = (sampled.sizes == 2)[first == word].mean()
    single = sampled.select(np.flatnonzero((sampled.sizes == 2) & (first == word))[:1])
    with torch.no_grad():
        h, words, _ = model(generation_batch(single))
        y = h @ model.output.t()
    assert words.tolist() == [word, V, V + 1, V + 1]  # at LEFT, RIGHT, and beside it, for ROOT
    y[:, 0] = -torch.inf
    y[1, V + 1] = y[2, V] = -torch.inf  # on each side there is one symbol
    p = torch.softmax(y, 1)
    assert_close(float(alone), float(p[1, V] * p[2, V + 1]), atol=0.03, rtol=0)


@pytest.mark.parametrize("model", [make(), joint()], ids=["decisions", "stops"])
def test_root_may_have_several_dependents(model: Any) -> None:
    how = {"max_words": 6, "sample_decisions": True, "single_root": False}
    sampled = sample_trees(
        model, VOCABS, 60, root=0, generator=torch.Generator().manual_seed(0), **how
    )
    heads = dependency_forest(sampled.forest)
    assert (np.bincount(heads.tree_of_node[heads.parent == 0]) > 1).any()
    with torch.no_grad():
        batch = generation_batch(sampled.forest)
        assert_close(model.log_prob(batch), sampled.log_prob + sampled.edge_log_prob)

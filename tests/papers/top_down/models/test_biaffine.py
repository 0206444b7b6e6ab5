import torch
from torch.testing import assert_close

from dgltrees.models import WordEmbedding
from dgltrees.papers.top_down.models.biaffine import Biaffine, BiaffineParser
from tests.trees.dependencies import forest_of

SENTENCES = [[2, 0], [0], [2, 0, 4, 2, 4]]


def parser(**options: object) -> BiaffineParser:
    torch.manual_seed(0)
    sizes = {"hidden_size": 4, "layers": 2, "arc_size": 5, "label_size": 3, "dropout": 0.3}
    made = BiaffineParser([WordEmbedding("word", 6, 4)], 3, **{**sizes, **options})
    for p in made.parameters():
        torch.nn.init.normal_(p)
    return made.double().eval()


def test_a_score_is_the_sum_over_both_vectors() -> None:
    torch.manual_seed(0)
    layer = Biaffine(2, 3).double()
    torch.nn.init.normal_(layer.U)
    d, h = torch.randn(2, 4, 2).double(), torch.randn(2, 4, 2).double()
    scores = layer(d, h)
    assert scores.shape == (2, 4, 4, 3)
    for b, i, j, label in ((0, 0, 1, 2), (1, 3, 2, 0), (1, 1, 1, 1)):
        dependent, head = (torch.cat([v, v.new_ones(1)]) for v in (d[b, i], h[b, j]))
        assert_close(scores[b, i, j, label], dependent @ layer.U[:, label] @ head)
    heads = torch.tensor([[[3, 0, 1, 1], [0, 0, 2, 2]], [[1, 2, 3, 0], [3, 3, 3, 3]]])
    b, i = torch.arange(2)[:, None, None], torch.arange(4)
    assert_close(layer.pairs(d, h[b, heads]), scores[b, i, heads])


def test_heads_are_of_the_sentence_and_no_word_is_its_own() -> None:
    scores = parser()(forest_of(SENTENCES).batch())
    assert scores.sizes.tolist() == [2, 1, 5]
    assert scores.arcs.shape == (3, 6, 6)
    assert scores.labels(torch.zeros(3, 2, 6, dtype=torch.int64)).shape == (3, 2, 6, 3)
    p = scores.arcs.exp()
    for b, size in enumerate([2, 1, 5]):
        assert (p[b, :, size + 1 :] == 0).all()
        assert (p[b].diagonal() == 0).all()
        total = p[b, 1 : size + 1].sum(1)
        assert_close(total, torch.ones(size).double(), rtol=1e-13, atol=1e-13)


def test_a_batch_equals_its_sentences_one_by_one() -> None:
    model, forest = parser(), forest_of(SENTENCES)
    whole = model(forest.batch())
    for b in range(3):
        alone = model(forest.batch([b]))
        m = alone.arcs.shape[1]
        assert_close(whole.arcs[b, :m, :m], alone.arcs[0])
        heads = torch.randint(m, (1, 2, m))
        places = torch.zeros(3, 2, whole.arcs.shape[1], dtype=torch.int64)
        places[b, :, :m] = heads
        assert_close(whole.labels(places)[b, :, :m], alone.labels(heads)[0])


def test_the_k_best_of_a_batch() -> None:
    scores = parser()(forest_of(SENTENCES).batch())
    heads, totals = scores.kbest(3)
    assert heads.shape == (3, 3, 6)
    assert (~torch.isinf(totals)).sum(1).tolist() == [2, 1, 3]
    for b, size in enumerate([2, 1, 5]):
        for tree, total in zip(heads[b], totals[b]):
            if total > -torch.inf:
                words = torch.arange(1, size + 1)
                found = scores.arcs[b, words, tree[1 : size + 1]].sum()
                assert_close(found, total, check_dtype=False)
                assert (tree[size + 1 :] == -1).all()


def test_gradients() -> None:
    model, batch = parser(dropout=0.0), forest_of(SENTENCES).batch()
    scores = model(batch)
    arcs = torch.where(torch.isinf(scores.arcs), 0.0, scores.arcs)
    labels = scores.labels(torch.ones(3, 1, 6, dtype=torch.int64))
    (arcs.sum() + labels.square().sum()).backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())

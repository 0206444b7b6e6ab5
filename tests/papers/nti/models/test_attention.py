import re
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from dgltrees.cells.initial import uniform
from dgltrees.errors import ConfigError
from dgltrees.papers.nti.models import attention
from dgltrees.papers.nti.models.attention import GlobalAttention
from dgltrees.papers.nti.models.encoder import NTIEncoding
from dgltrees.papers.nti.models.tree_attention import TreeAttention
from tests.backends import by_backend
from tests.papers.nti.models.attend_edges import attend_along_edges
from tests.papers.nti.models.reference import attend
from tests.papers.nti.models.worlds import nti, sentences

SIZE, QUERIES = 4, 3

SHAPES: dict[str, dict[str, Any]] = {
    "binary": {},
    "ternary": {"branching": 3},
    "one width": {"width": 8, "padding": "right"},
    "left-branching": {"trees": "left"},
}

WAYS = {
    "global": (GlobalAttention, {}),
    "tree": (TreeAttention, {}),
    "tree, code": (TreeAttention, {"variant": "code"}),
}

every_shape = pytest.mark.parametrize("shape", SHAPES)
every_way = pytest.mark.parametrize("way", WAYS)
every_score = pytest.mark.parametrize("score", ["mlp", "dot", "map"])
pads = pytest.mark.parametrize("mask_pads", [False, True])


def world(shape: str) -> tuple[NTIEncoding, Tensor]:
    torch.manual_seed(0)
    encoder = nti(SIZE, leaves="identity", **SHAPES[shape])
    encoding = encoder.encode(sentences([1, 5, 3], SIZE))
    return encoding, torch.randn(3, QUERIES, SIZE, requires_grad=True)


def make(way: str, **options: Any) -> torch.nn.Module:
    cls, more = WAYS[way]
    made = cls(SIZE, **more, **options)
    uniform(made, 0.8)
    return made


@every_shape
@every_way
@every_score
@pads
def test_equals_the_equations(shape: str, way: str, score: str, mask_pads: bool) -> None:
    encoding, queries = world(shape)
    look = make(way, score=score, mask_pads=mask_pads)
    found, (h, weights) = look(queries, encoding), attend(look, queries, encoding)
    assert_close(found.h, h)
    for t, rows in enumerate(weights):
        own = found.weights[t, :, : len(rows[0])]
        assert_close(own, torch.stack(rows))
        assert found.weights[t].sum().item() == pytest.approx(QUERIES)


def test_weights_of_tree_attention_are_one_where_subtrees_overlap() -> None:
    torch.manual_seed(0)
    encoder = nti(SIZE, leaves="identity", branching=3, stride=2)
    found = make("tree")(torch.randn(3, QUERIES, SIZE), encoder.encode(sentences([5, 7, 1], SIZE)))
    assert_close(found.weights.sum(2), torch.ones(3, QUERIES))


def gradients(h: Tensor, look: torch.nn.Module, queries: Tensor) -> tuple[Tensor, ...]:
    inputs = [queries, *look.parameters()]
    return torch.autograd.grad(
        h.pow(2).sum(), inputs, retain_graph=True, allow_unused=True, materialize_grads=True
    )


@every_shape
@every_way
@every_score
@pads
def test_equals_messages(shape: str, way: str, score: str, mask_pads: bool) -> None:
    encoding, queries = world(shape)
    look = make(way, score=score, mask_pads=mask_pads)
    fast = look(queries, encoding)
    for backend in ("dgl", "levels"):
        if way == "global":
            slow = attend_along_edges(look, queries, encoding, backend=backend)
        else:
            with by_backend(backend):
                by = look.by_messages(queries, encoding)
            slow = by.h
            assert_close(by.weights, fast.weights)
        assert_close(fast.h, slow)
        assert_close(gradients(fast.h, look, queries), gradients(slow, look, queries))


@every_way
@every_score
def test_chunks_change_nothing(way: str, score: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoding, queries = world("binary")
    look = make(way, score=score)
    whole = look(queries, encoding)
    monkeypatch.setattr(attention, "CHUNK", 1)
    parts = look(queries, encoding)
    assert_close(parts, whole)
    assert_close(gradients(parts.h, look, queries), gradients(whole.h, look, queries))


@every_way
@every_score
def test_gradcheck(way: str, score: str) -> None:
    encoding, queries = world("binary")
    look, h = make(way, score=score), encoding.states.detach().requires_grad_()

    def attended(queries: Tensor, h: Tensor, *values: Tensor) -> Tensor:
        names = [name for name, _ in look.named_parameters()]
        inputs = (queries, NTIEncoding(encoding.batch, h))
        named = dict(zip(names, values))
        return torch.func.functional_call(look, named, inputs).h

    values = [p.detach().clone().requires_grad_() for p in look.parameters()]
    assert torch.autograd.gradcheck(attended, (queries, h, *values), fast_mode=True)


@every_way
def test_masked_pads_get_no_attention(way: str) -> None:
    encoding, queries = world("one width")
    pads = encoding.table.pad.unsqueeze(1)
    masked = (make(way, mask_pads=True)(queries, encoding).weights * pads).sum(2)
    assert_close(masked, torch.zeros(3, QUERIES))
    plain = (make(way)(queries, encoding).weights * pads).sum(2)
    assert (plain[0] > 0.1).all()  # one token, seven pads
    assert (plain <= 1).all()


@pytest.mark.parametrize("way", ["global", "tree"])
def test_autocast_keeps_close(way: str) -> None:
    encoding, queries = world("binary")
    look, queries = make(way).float(), queries.float()
    encoding = NTIEncoding(encoding.batch, encoding.states.float())
    with torch.autocast("cpu", torch.bfloat16):
        low = look(queries, encoding).h
    assert_close(low.float(), look(queries, encoding).h, atol=0.1, rtol=0.1)


def test_a_single_leaf_is_what_tree_attention_finds() -> None:
    encoding, queries = world("binary")
    found = make("tree")(queries, encoding)
    assert_close(found.h[0], encoding.states[:1].expand(QUERIES, -1))


def test_refused_settings() -> None:
    with pytest.raises(ConfigError, match=re.escape("one of mlp, dot, map, got 'add'")):
        GlobalAttention(3, score="add")
    assert "c=3, mask_pads=True" in repr(GlobalAttention(3, mask_pads=True))

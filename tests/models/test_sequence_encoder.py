"""Encoders that do not read the tree."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_sequence
from torch.testing import assert_close

from dgltrees import ConfigError, Forest
from dgltrees.models import Encoder, SequenceEncoder, TransformerEncoder, WordEmbedding
from dgltrees.models.sequence_encoder import packed, sinusoids
from dgltrees.trees.builders import chains


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_batch_equals_its_sentences(layers: int, bidirectional: bool) -> None:
    torch.manual_seed(0)
    forest = chains([3, 1, 5], {"word": torch.randint(7, (9,)).numpy()})
    encoder = SequenceEncoder(
        WordEmbedding("word", 7, 4), 5, layers=layers, bidirectional=bidirectional
    )
    encoding = encoder(forest.batch())
    found = encoding.roots
    assert found.shape == (3, encoder.size)
    for i in range(3):
        one = forest.batch([i])
        states, _ = encoder.lstm(encoder.input(one))
        ends = [states[-1, :5], states[0, 5:]] if bidirectional else [states[-1]]
        assert_close(found[i], torch.cat(ends))
        assert_close(encoding.states[forest.offsets[i] : forest.offsets[i + 1]], states)


@pytest.mark.parametrize("sizes", [[3, 1, 5], [2, 2, 2], [1], [4, 4, 1, 7, 4]])
def test_sequences_are_packed_as_by_torch(sizes: list[int]) -> None:
    x = torch.randn(sum(sizes), 3)
    found, row = packed(x, torch.tensor(sizes))
    assert_close(tuple(found), tuple(pack_sequence(x.split(sizes), False)), rtol=0, atol=0)
    assert torch.equal(found.data[row], x)


LENGTHS = [3, 1, 6]


@pytest.fixture
def forest() -> Forest:
    torch.manual_seed(0)
    return chains(LENGTHS, {"word": torch.randint(7, (sum(LENGTHS),)).numpy()})


def encoder(hidden_size: int = 8, **options: Any) -> TransformerEncoder:
    made = TransformerEncoder(WordEmbedding("word", 7, 4), hidden_size, **options)
    return made.double()


@pytest.mark.parametrize("size", [6, 7])
def test_positions_are_sinusoids(size: int) -> None:
    found = sinusoids(5, size)
    for p in range(5):
        for k in range(size):
            angle = p / 10000 ** (2 * (k // 2) / size)
            wanted = math.cos(angle) if k % 2 else math.sin(angle)
            assert found[p, k] == pytest.approx(wanted, abs=1e-6)


def attended(layer: Any, h: Tensor, heads: int) -> Tensor:
    """A layer over one sentence ``(n, c)``, as the equations say it."""
    own = layer.self_attn
    q, k, v = (layer.norm1(h) @ own.in_proj_weight.T + own.in_proj_bias).chunk(3, 1)
    parts = []
    for a, b, c in zip(q.chunk(heads, 1), k.chunk(heads, 1), v.chunk(heads, 1)):
        parts.append(torch.softmax(a @ b.T / math.sqrt(a.shape[1]), 1) @ c)
    h = h + own.out_proj(torch.cat(parts, 1))
    return h + layer.linear2(torch.relu(layer.linear1(layer.norm2(h))))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("layers", "heads"), [(1, 4), (3, 2)])
def test_encodings_are_those_of_the_equations(
    forest: Forest, layers: int, heads: int, training: bool
) -> None:
    made = encoder(layers=layers, heads=heads).train(training)
    with torch.no_grad():
        found = made(forest.batch()).roots
        assert found.shape == (3, made.size)
        for i, length in enumerate(LENGTHS):
            h = made.widen(made.input(forest.batch([i]))) + sinusoids(length, 8)
            for layer in made.layers.layers:
                h = attended(layer, h, heads)
            assert_close(found[i], made.layers.norm(h).mean(0))


@pytest.mark.parametrize("training", [True, False])
def test_padding_changes_no_encoding_and_no_gradient(forest: Forest, training: bool) -> None:
    made = encoder(layers=2).train(training)
    together = made(forest.batch()).roots
    alone = torch.cat([made(forest.batch([i])).roots for i in range(3)])
    assert_close(together, alone)
    (both, each) = (
        torch.autograd.grad((z**2).sum(), list(made.parameters())) for z in (together, alone)
    )
    assert_close(both, each)


def test_the_order_of_words_matters() -> None:
    made = encoder()
    there, back = (chains([3], {"word": torch.tensor(w).numpy()}) for w in ([1, 2, 3], [3, 2, 1]))
    assert (made(there.batch()).roots - made(back.batch()).roots).abs().max() > 1e-3


@pytest.mark.parametrize("kind", [SequenceEncoder, TransformerEncoder])
def test_dropout_is_for_training_alone(forest: Forest, kind: type[Encoder]) -> None:
    made = kind(WordEmbedding("word", 7, 4), 8, dropout=0.5).double()
    assert not torch.equal(made(forest.batch()).roots, made(forest.batch()).roots)
    made.eval()
    assert_close(made(forest.batch()).roots, made(forest.batch()).roots)


def test_heads_divide_the_size() -> None:
    with pytest.raises(ConfigError, match=r"multiple of model\.heads=3, got 8"):
        encoder(heads=3)

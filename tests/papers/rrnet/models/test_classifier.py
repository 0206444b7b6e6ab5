"""Numbers, digit by digit."""

import pytest
import torch
from torch.testing import assert_close

from dgltrees.cells.initial import uniform
from dgltrees.papers.rrnet.models.classifier import NumberDecoder
from tests.models.test_precision import EXACT, assert_promoted


def drawn(digits: int = 2, *, memory: bool = False) -> NumberDecoder:
    torch.manual_seed(0)
    made = NumberDecoder(2 if memory else 4, digits, memory=memory).double()
    uniform(made, 1.0)
    return made


memories = pytest.mark.parametrize("memory", [False, True])


@memories
def test_the_probabilities_of_all_numbers_add_up_to_one(memory: bool) -> None:
    decoder, z = drawn(memory=memory), torch.randn(3, 4, dtype=torch.float64)
    every = torch.arange(100)
    nll = torch.stack([decoder.nll(row.expand(100, 4), every) for row in z])
    assert_close(nll.neg().exp().sum(1), torch.ones(3, dtype=torch.float64))


@memories
def test_the_answer_is_the_likeliest_digit_then_the_likeliest_after_it(memory: bool) -> None:
    decoder, z = drawn(memory=memory), torch.randn(5, 4, dtype=torch.float64)
    number, probability = decoder.predict(z)
    every = torch.arange(100)
    for row, found, sure in zip(z, number.tolist(), probability):
        p = decoder.nll(row.expand(100, 4), every).neg().exp().view(10, 10)
        tens = int(p.sum(1).argmax())
        assert found == 10 * tens + int(p[tens].argmax())
        assert_close(sure, p[tens].max())


@memories
def test_it_is_an_lstm_that_begins_with_the_encoding(memory: bool) -> None:
    decoder, z = drawn(digits=1, memory=memory), torch.randn(2, 4, dtype=torch.float64)
    begin = decoder.read.weight[10]
    h, c = (z[:, :2], z[:, 2:]) if memory else (z, 0.0)
    i, f, o, u = (begin + decoder.U(h)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(u)
    logits = decoder.output(torch.sigmoid(o) * torch.tanh(c))
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([7, 0]), reduction="none")
    assert_close(decoder.nll(z, torch.tensor([7, 0])), expected)


def test_every_parameter_learns() -> None:
    decoder = drawn()
    decoder.nll(torch.randn(20, 4, dtype=torch.float64), torch.arange(10, 30)).sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in decoder.parameters())


def test_numbers_of_a_float64_model_are_exact() -> None:
    decoder, z = NumberDecoder(4).double(), torch.randn(2, 4).double()
    _, p = decoder.predict(z)
    number, _ = decoder.predict(z)
    assert_close(decoder.nll(z, number).neg().exp(), p, **EXACT)
    assert p.dtype == torch.float64


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_floats_are_promoted(dtype: torch.dtype) -> None:
    assert_promoted(NumberDecoder(4), dtype)

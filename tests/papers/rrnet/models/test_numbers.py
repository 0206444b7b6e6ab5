from __future__ import annotations

import torch
from torch.testing import assert_close

from dgltrees.papers.rrnet.models import NumberDecoder


def drawn(size: int = 4, digits: int = 2) -> NumberDecoder:
    torch.manual_seed(0)
    made = NumberDecoder(size, digits).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.uniform_(-1, 1)
    return made


def test_the_probabilities_of_all_numbers_add_up_to_one() -> None:
    decoder, z = drawn(), torch.randn(3, 4, dtype=torch.float64)
    every = torch.arange(100)
    nll = torch.stack([decoder.nll(row.expand(100, 4), every) for row in z])
    assert_close(nll.neg().exp().sum(1), torch.ones(3, dtype=torch.float64))


def test_the_answer_is_the_likeliest_digit_then_the_likeliest_after_it() -> None:
    decoder, z = drawn(), torch.randn(5, 4, dtype=torch.float64)
    number, probability = decoder.predict(z)
    every = torch.arange(100)
    for row, found, sure in zip(z, number.tolist(), probability):
        p = decoder.nll(row.expand(100, 4), every).neg().exp().view(10, 10)
        tens = int(p.sum(1).argmax())
        assert found == 10 * tens + int(p[tens].argmax())
        assert_close(sure, p[tens].max())


def test_it_is_an_lstm_that_begins_with_the_encoding() -> None:
    decoder, z = drawn(digits=1), torch.randn(2, 4, dtype=torch.float64)
    begin = decoder.read.weight[10]
    i, f, o, u = (begin + decoder.U(z)).chunk(4, 1)
    c = torch.sigmoid(i) * torch.tanh(u)
    logits = decoder.output(torch.sigmoid(o) * torch.tanh(c))
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([7, 0]), reduction="none")
    assert_close(decoder.nll(z, torch.tensor([7, 0])), expected)


def test_every_parameter_learns() -> None:
    decoder = drawn()
    decoder.nll(torch.randn(20, 4, dtype=torch.float64), torch.arange(10, 30)).sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in decoder.parameters())

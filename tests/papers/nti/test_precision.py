"""Losses in the precision of the model."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from tests.models.test_precision import EXACT, assert_loss_is_exact
from tests.papers.nti.models.worlds import make, texts


@pytest.mark.parametrize("name", ["classifier", "pairs", "matching"])
def test_the_loss_of_a_float64_model_is_exact(name: str) -> None:
    assert_loss_is_exact(make(name).double(), texts([3, 4, 1, 5]))


def test_one_logit_is_the_probability_of_class_1() -> None:
    model, batch = make("answers").double(), texts([3, 4, 1, 5])
    o, targets = model(batch)[:, 0], torch.tensor([1, 0])
    p = 1 / (1 + (-o).exp())
    assert_close(model(batch, targets), -torch.where(targets > 0, p, 1 - p).log(), **EXACT)
    _, prediction, probability = model.outputs(batch, targets)
    assert_close(probability, p, **EXACT)
    assert prediction.tolist() == (p > 0.5).long().tolist()


def test_shared_words_of_a_float64_model_are_counted_in_float64() -> None:
    model, batch = make("answers").double(), texts([3, 4, 1, 5])
    shared = torch.stack([part.sum() for part in batch.ndata["shared"].split([3, 4, 1, 5])])
    z = model.vectors(batch)
    assert_close(z[:, -1], (1 + shared.double()).log(), **EXACT)

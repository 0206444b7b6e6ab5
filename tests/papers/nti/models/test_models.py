"""All models: they learn, batch as they should, and read only the words."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from dgltrees.errors import TreeError
from tests.papers.nti.models.worlds import MODELS, make, texts

every_model = pytest.mark.parametrize("name", MODELS)

LENGTHS = [3, 5, 1, 4, 2, 1, 8, 3]


@every_model
def test_a_batch_equals_its_pairs(name: str) -> None:
    model = make(**MODELS[name]).eval()
    batch = texts(LENGTHS)
    arity = len(LENGTHS) // len(model(batch))
    words, shared = (batch.ndata[column].split(LENGTHS) for column in ("word", "shared"))
    alone = []
    for at in range(0, len(LENGTHS), arity):
        one = texts(LENGTHS[at : at + arity])
        one.ndata["word"] = torch.cat(words[at : at + arity])
        one.ndata["shared"] = torch.cat(shared[at : at + arity])
        alone.append(model(one))
    assert_close(torch.cat(alone), model(batch))


@every_model
def test_every_parameter_learns(name: str) -> None:
    model = make(**MODELS[name])
    model(texts(LENGTHS)).pow(2).sum().backward()
    for parameter, p in model.named_parameters():
        assert p.grad is not None, parameter
        assert p.grad.abs().max() > 0, parameter


@every_model
def test_a_tiny_set_is_learned(name: str) -> None:
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float32)
    model = make(size=12, **MODELS[name])
    batch = texts([4, 6, 1, 5, 7, 3, 2, 4, 5, 5, 3, 8])
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    target = torch.arange(len(model(batch))) % 3
    for _ in range(150):
        logits = model(batch)
        if logits.shape[1] == 1:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                logits[:, 0], (target > 0).float()
            )
        else:
            loss = torch.nn.functional.cross_entropy(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss < 0.05:
            break
    assert loss.item() < 0.05


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("classifier")])
def test_pairs_are_wanted(name: str) -> None:
    with pytest.raises(TreeError, match="expected pairs of sentences, got a batch of 3"):
        make(**MODELS[name])(texts([1, 2, 3]))

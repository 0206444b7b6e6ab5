from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from dgltrees.models.nti import GlobalAttention, SequenceDecoder, TreeAttention
from tests.models.nti.worlds import SIZE, nti, sentences

ATTENTIONS = {"global": GlobalAttention, "tree": TreeAttention}

SYMBOLS, END = 5, 0


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_symbol_depends_on_those_before_it(attention: str) -> None:
    decoder = SequenceDecoder(ATTENTIONS[attention](SIZE), SYMBOLS)
    encoding = nti().encode(sentences([3, 5]))
    targets = torch.tensor([[1, 2, 3, 0], [4, 4, 0, 0]])
    logits = decoder(encoding, targets)
    assert logits.shape == (2, 4, SYMBOLS)
    changed = targets.clone()
    changed[:, 2] = 1
    after = decoder(encoding, changed)
    assert_close(after[:, :3], logits[:, :3])
    assert (after[:, 3] - logits[:, 3]).abs().min() > 0


@pytest.mark.parametrize("node", ["s_lstm", "anf"])
def test_sentences_are_copied_backwards(node: str) -> None:
    """Three sequences learned by heart: what is generated is what was shown, up to its end."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    encoder = nti(SIZE, 16, node=node)
    decoder = SequenceDecoder(GlobalAttention(16), SYMBOLS, end=END)
    some = sentences([3, 2, 4])
    targets = torch.tensor([[3, 2, 1, 0], [4, 4, 0, 0], [1, 0, 0, 0]])
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, 0.02)
    for _ in range(60):
        logits = decoder(encoder.encode(some), targets)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    encoding = encoder.encode(some)
    assert decoder.generate(encoding, 10) == [[3, 2, 1], [4, 4], [1]]
    assert decoder.generate(encoding, 2) == [[3, 2], [4, 4], [1]]
    assert decoder.generate(encoding, 0) == [[], [], []]

from __future__ import annotations

import pytest
import torch

from dgltrees.cells import RRNetCell
from dgltrees.models import WordEmbedding
from dgltrees.models.rrnet import Policy, RRNetEncoder
from dgltrees.trees import TreeBatch

WORDS, SIZE, STATE = 6, 4, 5
EMPTY = torch.empty(0, dtype=torch.long)


def sentences(lengths, operations=None, seed=0):
    """Random tokens of some sentences."""
    sizes = torch.tensor(lengths)
    words = torch.randint(WORDS, (int(sizes.sum()),), generator=torch.Generator().manual_seed(seed))
    ndata = {"word": words}
    if operations is not None:
        ndata["op"] = torch.tensor(operations)
    return TreeBatch(EMPTY, EMPTY, sizes, ndata=ndata)


def network(*, cell=None, policy=True, **options):
    """A network in float64, all parameters drawn so that each matters."""
    torch.manual_seed(0)
    made = RRNetEncoder(
        WordEmbedding("word", WORDS, SIZE),
        RRNetCell(SIZE, STATE, **(cell or {})),
        policy=Policy(STATE, SIZE) if policy else None,
        **options,
    ).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.uniform_(-0.8, 0.8)
    return made


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)

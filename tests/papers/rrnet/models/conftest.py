from typing import Any

import pytest
import torch
from torch.testing import assert_close

from dgltrees.cells import RRNetCell
from dgltrees.cells.initial import uniform
from dgltrees.models import WordEmbedding
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder
from dgltrees.papers.rrnet.models.policy import Policy
from dgltrees.trees import TreeBatch

WORDS, SIZE, STATE = 6, 4, 5
EMPTY = torch.empty(0, dtype=torch.long)


def sentences(lengths: list[int], operations: list[int] | None = None, seed: int = 0) -> TreeBatch:
    """Random tokens of some sentences."""
    sizes = torch.tensor(lengths)
    words = torch.randint(WORDS, (int(sizes.sum()),), generator=torch.Generator().manual_seed(seed))
    ndata = {"word": words}
    if operations is not None:
        ndata["op"] = torch.tensor(operations)
    return TreeBatch(EMPTY, EMPTY, sizes, ndata=ndata)


def network(
    *, cell: dict[str, Any] | None = None, policy: bool = True, **options: Any
) -> RRNetEncoder:
    """A network in float64, whose parameters are all drawn, so that each matters."""
    torch.manual_seed(0)
    encoder = RRNetEncoder(
        WordEmbedding("word", WORDS, SIZE),
        RRNetCell(SIZE, STATE, **(cell or {})),
        policy=Policy(STATE, SIZE) if policy else None,
        **options,
    ).double()
    uniform(encoder, 0.8)
    return encoder


def assert_equals_its_sentences(encoder: RRNetEncoder, batch: TreeBatch) -> None:
    """The vectors of a batch are those of its sentences one by one, which have only words."""
    vectors = encoder(batch).roots
    for i, words in enumerate(batch.ndata["word"].split(batch.sizes.tolist())):
        alone = TreeBatch(EMPTY, EMPTY, batch.sizes[i : i + 1], ndata={"word": words})
        assert_close(encoder(alone).roots[0], vectors[i])


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(1)

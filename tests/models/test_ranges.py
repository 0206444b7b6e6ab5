"""Constructors refuse values that their annotations exclude."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dgltrees.cells import RRNetCell, make_cell
from dgltrees.errors import ConfigError
from dgltrees.models import (
    MLP,
    OneHot,
    PairHead,
    SequenceEncoder,
    TransformerEncoder,
    TreeEncoder,
    WordEmbedding,
)
from dgltrees.papers.nti.models import GlobalAttention, LSTMLeaves, TreeAttention
from dgltrees.papers.rrnet.models import (
    LSTMStream,
    NumberDecoder,
    Policy,
    QLearning,
    Reinforce,
    Replay,
    RRNetEncoder,
)
from dgltrees.papers.top_down.models import (
    NCE,
    AddDecisions,
    BiaffineParser,
    Sampling,
    SequenceLM,
    TreeLM,
)
from tests.papers.nti.models.worlds import nti

WORDS = WordEmbedding("word", 5, 4)


def trees(**options: Any) -> TreeEncoder:
    cell = make_cell("child_sum", input_size=2, hidden_size=3)
    return TreeEncoder(OneHot("value", 2), cell, **options)


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (lambda **o: MLP(4, 3, **o), {"dropout": 1.0}, "a number of at least 0 and below 1"),
    (lambda **o: MLP(4, 3, **o), {"init": "zeros"}, "one of kaiming, xavier, uniform"),
    (lambda **o: PairHead(4, 3, **o), {"hidden": 0}, "a whole number of at least 1"),
    (lambda **o: NumberDecoder(4, **o), {"digits": 2.5}, "a whole number of at least 1"),
    (lambda **o: WordEmbedding("word", size=4, **o), {"rows": 0}, "a whole number of at least 1"),
    (trees, {"fused": "no"}, "true or false"),
    (lambda **o: SequenceEncoder(WORDS, 4, **o), {"layers": 0}, "a whole number of at least 1"),
    (lambda **o: TransformerEncoder(WORDS, 4, **o), {"heads": 0}, "a whole number of at least 1"),
    (nti, {"trees": "right"}, "one of full, left"),
    (nti, {"pad": "none"}, "one of fixed, learned, zero"),
    (nti, {"padding": "both"}, "one of left, right"),
    (lambda **o: LSTMLeaves(4, 4, **o), {"init": "ones"}, "one of kaiming, xavier, uniform"),
    (lambda **o: GlobalAttention(4, **o), {"mask_pads": 1}, "true or false"),
    (lambda **o: TreeAttention(4, **o), {"variant": "tree"}, "one of paper, code"),
    (lambda **o: TreeLM(5, 4, **o), {"dropout": -0.1}, "a number of at least 0 and below 1"),
    (lambda **o: TreeLM(5, 4, **o), {"labels": -1}, "a whole number of at least 0"),
    (lambda **o: SequenceLM(5, 4, **o), {"layers": 0}, "a whole number of at least 1"),
    (lambda **o: AddDecisions(4, **o), {"state": "both"}, "one of own, source"),
    (lambda **o: NCE(WORDS.weight[:, 0].detach(), **o), {"noise": 0}, "a whole number of at lea"),
    (Sampling, {"temperature": -1.0}, "a number of at least 0"),
    (Sampling, {"top_k": 0}, "null, or .*|a whole number of at least 1, or null"),
    (Sampling, {"top_p": 0.0}, "a number above 0 and at most 1"),
    (Reinforce, {"discount": 1.5}, "a number of at least 0 and at most 1"),
    (QLearning, {"epsilon": -1}, "a number of at least 0 and at most 1"),
    (Replay, {"capacity": 0}, "a whole number of at least 1"),
    (lambda **o: Policy(3, 4, **o), {"detach": "no"}, "true or false"),
    (lambda **o: RRNetEncoder(WORDS, RRNetCell(4, 3), **o), {"max_open": 0}, "a whole number of "),
    (lambda **o: LSTMStream(WORDS, 3, **o), {"dropout": 1.0}, "a number of at least 0 and below"),
    (lambda **o: BiaffineParser([WORDS], 3, **o), {"arc_size": 0}, "a whole number of at least 1"),
]


@pytest.mark.parametrize(
    ("build", "options", "words"),
    REFUSED,
    ids=[f"{i}-{next(iter(r[1]))}" for i, r in enumerate(REFUSED)],
)
def test_values_out_of_range_are_refused(
    build: Callable[..., Any], options: dict[str, Any], words: str
) -> None:
    ((name, value),) = options.items()
    with pytest.raises(ConfigError, match=f"expected {name} to be ({words})") as caught:
        build(**options)
    assert str(caught.value).endswith(f"got {value!r}")


def test_numbers_of_numpy_are_numbers() -> None:
    assert MLP(4, np.int64(3), dropout=np.float32(0.5)).layers[1].out_features == 3


def test_arguments_are_those_of_the_constructor() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'classes'"):
        MLP(4)
    with pytest.raises(TypeError, match="unexpected keyword argument 'width'"):
        MLP(4, 3, width=2)

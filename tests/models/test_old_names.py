"""Parameters under the names that they had in version 0.1.0."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from dgltrees.cells import RRNetCell, make_cell
from dgltrees.models import (
    MLP,
    Classifier,
    ComparisonHead,
    NumberDecoder,
    OneHot,
    PairHead,
    Root,
    SequenceEncoder,
    TreeEncoder,
    WordEmbedding,
)
from dgltrees.models.rrnet import LSTMStream, Policy, PolicyClassifier, RRNetEncoder, StreamLM
from tests.models.nti.worlds import make


def words() -> WordEmbedding:
    return WordEmbedding("word", 5, 4)


def rrnet() -> RRNetEncoder:
    return RRNetEncoder(words(), RRNetCell(4, 3), policy=Policy(3, 4))


def compared_trees() -> nn.Module:
    cell = make_cell("lstm", input_size=2, hidden_size=3, max_children=2)
    head = ComparisonHead(3, 7, comparison=5)
    return Classifier(TreeEncoder(OneHot("value", 2), cell), Root(), head)


MODELS = {
    "logic": (compared_trees, [(r"head\.compare", "compare"), (r"head\.output", "head")]),
    "mee": (
        lambda: PolicyClassifier(rrnet(), Root(), NumberDecoder(3)),
        [(r"head\.", "answer.")],
    ),
    "sst-phrases, RRNet": (
        lambda: PolicyClassifier(rrnet(), Root(), MLP(3, 5, [4])),
        [(r"head\.", "answer.head.")],
    ),
    "snli, LSTM": (lambda: Classifier(SequenceEncoder(words(), 3), Root(), PairHead(3, 3)), []),
    "logic-sequence, LSTM": (
        lambda: Classifier(SequenceEncoder(words(), 3), Root(), PairHead(3, 3)),
        [(r"head\.", "answer.head.")],
    ),
    "sst-phrases": (
        lambda: make("classifier", encoder={"pad": "learned"}),
        [(r"encoder\.input", "input"), (r"encoder\.pad\.vector", "encoder.pad")],
    ),
    "snli": (
        lambda: make("pairs"),
        [
            (r"encoder\.encoder\.input", "input"),
            (r"encoder\.encoder", "encoder"),
            (r"pad\.vector", "pad"),
        ],
    ),
    "snli, node by node": (
        lambda: make("node_by_node"),
        [
            (r"encoder\.encoder\.input", "input"),
            (r"encoder\.(attention|encoder)", r"\1"),
            (r"pad\.vector", "pad"),
        ],
    ),
    "snli, matching": (
        lambda: make("matching", last_step=True),
        [
            (r"encoder\.encoder\.input", "input"),
            (r"encoder\.encoder", "encoder"),
            (r"pad\.vector", "pad"),
            (r"head\.output", "head"),
            (r"head\.(attention|lstm|last)", r"\1"),
        ],
    ),
    "wikiqa": (
        lambda: make("answers"),
        [(r"encoder\.(input|question|answer)", r"\1"), (r"pad\.vector", "pad")],
    ),
    "ptb": (lambda: StreamLM(rrnet()), [(r"encoder\.", "reader.")]),
    "ptb, LSTM": (lambda: StreamLM(LSTMStream(words(), 3)), [(r"encoder\.", "reader.")]),
}
"""A model of each kind whose parameters had other names, and how these come from those of now."""


@pytest.mark.parametrize("name", MODELS)
def test_old_weights_load(name: str) -> None:
    build, substitutions = MODELS[name]
    one, other = build(), build()
    old = {}
    for key, tensor in one.state_dict().items():
        for pattern, by in substitutions:
            key = re.sub(f"^{pattern}" if pattern[0] != "p" else pattern, by, key)
        old[key] = tensor
    assert (set(old) == set(one.state_dict())) == (not substitutions)
    other.load_state_dict(old)
    for key, tensor in other.state_dict().items():
        assert torch.equal(tensor, one.state_dict()[key]), key
    assert [tuple(p.shape) for p in one.parameters()] == [
        tuple(p.shape) for p in other.parameters()
    ]
    with pytest.raises(RuntimeError, match="Unexpected key"):
        other.load_state_dict({**old, "another.weight": torch.zeros(1)})

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from dgltrees.cells import NTILSTM, NaryTreeLSTM, make_cell
from dgltrees.errors import ConfigError
from dgltrees.formats import read
from dgltrees.models import TreeEncoder, WordEmbedding
from dgltrees.papers.nti.models.encoder import NTIEncoder, NTIEncoding, Sentences
from dgltrees.papers.nti.models.leaves import BidirectionalLSTMLeaves, IdentityLeaves, LSTMLeaves
from dgltrees.traversal import run_cell
from tests.backends import by_backend
from tests.papers.nti.models.worlds import nti, sentences

SIZE = 4

LENGTHS = [1, 5, 3, 8]

ENCODERS: dict[str, dict[str, Any]] = {
    "NTI-SLSTM": {"leaves": "identity"},
    "NTI-SLSTM-LSTM": {},
    "linear, ternary": {"leaves": "linear", "branching": 3},
    "two directions": {"leaves": "bilstm", "padding": "right"},
    "chainer": {"node": "chainer_nti_lstm", "pad": "zero"},
    "attentive": {"node": "nti_attention"},
    "overlapping": {"branching": 3, "stride": 2},
    "left-branching": {"trees": "left"},
    "fixed width": {"width": 16, "pad": "learned"},
}


def both(encoder: NTIEncoder, some: Sentences, **changes: Any) -> list[Any]:
    """States and all gradients of an encoder with other settings."""
    for name, value in changes.items():
        setattr(encoder, name, value)
    made = encoder.encode(some)
    weight = torch.linspace(-1, 1, made.states.numel()).view_as(made.states)
    inputs = [some.vectors, *encoder.parameters()]
    grads = torch.autograd.grad((made.states * weight).sum(), inputs, allow_unused=True)
    return [made.states, *[g for g in grads if g is not None]]


@pytest.mark.parametrize("name", ENCODERS)
def test_backends_agree(name: str) -> None:
    encoder, some = nti(SIZE, **ENCODERS[name]), sentences(LENGTHS, SIZE)
    some.vectors.requires_grad_()
    with by_backend("dgl"):
        slow = both(encoder, some)
    assert_close(both(encoder, some), slow)
    assert_close(both(encoder, some, compile=False), slow)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_batch_equals_its_sentences(name: str) -> None:
    encoder, some = nti(SIZE, **ENCODERS[name]), sentences(LENGTHS, SIZE)
    roots = [
        encoder.encode(Sentences(x, torch.tensor([len(x)]))).roots
        for x in some.vectors.split(LENGTHS)
    ]
    assert_close(torch.cat(roots), encoder.encode(some).roots)


def test_nti_slstm_lstm_by_hand() -> None:
    """Three tokens and a pad at the left: an LSTM over four leaves, whose memories go up."""
    encoder, some = nti(SIZE), sentences([3], SIZE)
    lstm, cell = encoder.leaves, encoder.cell
    h, c = torch.zeros(SIZE), torch.zeros(SIZE)
    states = []
    for x in [encoder.pad.vector, *some.vectors]:
        i, f, o, u = (x @ lstm.W + h @ lstm.U + lstm.b).view(4, SIZE)
        c = f.sigmoid() * c + i.sigmoid() * u.tanh()
        h = o.sigmoid() * c.tanh()
        states.append((h, c))

    def node(left: Any, right: Any) -> Any:
        (h_l, c_l), (h_r, c_r) = left, right
        U, P = cell.U.view(2, SIZE, 5, SIZE), cell.P.view(2, SIZE, 3, SIZE)
        a = cell.b.view(5, SIZE) + torch.tensordot(h_l, U[0], 1) + torch.tensordot(h_r, U[1], 1)
        peep = torch.tensordot(c_l, P[0], 1) + torch.tensordot(c_r, P[1], 1)
        i, f_l, f_r = torch.sigmoid(a[:3] + peep)
        c_p = f_l * c_l + f_r * c_r + i * a[4].tanh()
        return torch.sigmoid(a[3] + c_p @ cell.V) * c_p.tanh(), c_p

    one, two = node(*states[:2]), node(*states[2:])
    made, root = encoder.encode(some), node(one, two)
    assert_close(made.states, torch.stack([h for h, _ in [*states, one, two, root]]))
    assert_close(made.memory[made.batch.roots], root[1][None])
    assert_close(made.final, (h[None], c[None]))


@pytest.mark.parametrize("leaves", [LSTMLeaves, BidirectionalLSTMLeaves])
def test_leaves_begin_where_others_ended(leaves: Any) -> None:
    """A sentence in two parts, the second with the state after the first, from left to right."""
    made = leaves(SIZE, SIZE)
    x, widths = torch.randn(7, SIZE), torch.tensor([4, 3])
    half = SIZE // 2 if leaves is BidirectionalLSTMLeaves else SIZE
    whole = made(x[:4], torch.tensor([4]))
    first = made(x[:2], torch.tensor([2]))
    second = made(x[2:4], torch.tensor([2]), first.last)
    assert_close(second.h[:, :half], whole.h[2:, :half])
    both = made(x, widths)
    assert_close(both.h[:4], whole.h)
    assert_close(both.last[1][:1], whole.last[1])
    other = made(x[4:], torch.tensor([3]))
    assert_close(both.c[4:], other.c)


def test_two_directions_read_from_both_sides() -> None:
    made = BidirectionalLSTMLeaves(SIZE, SIZE)
    x = torch.randn(3, SIZE)
    turned = made(x.flip(0), torch.tensor([3]))
    made.right, made.left = made.left, made.right
    made.right.backwards, made.left.backwards = False, True
    assert_close(made(x, torch.tensor([3])).h.roll(SIZE // 2, 1), turned.h.flip(0))
    with pytest.raises(ConfigError, match="expected an even size for two directions, got 3"):
        BidirectionalLSTMLeaves(SIZE, 3)


def test_without_leaf_lstm_there_is_nothing_to_begin_with() -> None:
    zero = torch.zeros(1, SIZE)
    with pytest.raises(ConfigError, match="expected no start for leaves without an LSTM"):
        nti(SIZE, leaves="identity").encode(sentences([2], SIZE), start=(zero, zero))


def test_pads_pass_through_the_leaf_function() -> None:
    encoder = nti(SIZE, leaves="linear", width=4)
    made = encoder.encode(sentences([2], SIZE))
    assert_close(made.states[0], encoder.cell.leaf(encoder.pad.vector))
    assert made.pad.tolist() == [True, True, False, False, True, False, False]


def test_the_pad_vector_is_part_of_the_state() -> None:
    one, other = (nti(SIZE, width=4) for _ in range(2))
    some = sentences([2], SIZE)
    other.load_state_dict(one.state_dict())
    assert_close(one.encode(some).roots, other.encode(some).roots)
    assert "pad.vector" in one.state_dict()
    assert "pad.vector" not in dict(one.named_parameters())
    assert "pad.vector" in dict(nti(SIZE, pad="learned").named_parameters())


def test_dropout_acts_on_leaves_and_children() -> None:
    some = sentences([4], SIZE)
    plain = nti(SIZE, leaves="identity")
    for options in ({"dropout": 0.5}, {"node_options": {"dropout": 0.5}}):
        encoder = nti(SIZE, leaves="identity", **options)
        encoder.load_state_dict(plain.state_dict())
        assert_close(encoder.eval().encode(some).states, plain.encode(some).states)
        encoder.train()
        changed = (encoder.encode(some).states - plain.encode(some).states).abs().amax(1)
        assert (changed[:4].max() > 0) == ("dropout" in options)
        assert changed[-1] > 0


def test_a_table_of_unlike_trees() -> None:
    made: NTIEncoding = nti(SIZE).encode(sentences([1, 3], SIZE))
    table = made.table
    assert table.mask.tolist() == [[True] + [False] * 6, [True] * 7]
    assert table.pad.tolist()[1] == [True] + [False] * 6
    assert_close(table.states[0, 1:], torch.zeros(6, SIZE))
    assert_close(table.states[1], made.states[1:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"leaves": "gru"}, "leaves to be one of identity, linear, lstm, bilstm, got 'gru'"),
        ({"width": 3}, "got 3; the next is 4"),
        ({"branching": 1}, "expected a branching factor of at least 2, got 1"),
    ],
)
def test_refused_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        nti(SIZE, **options)


def test_sizes_must_fit() -> None:
    with pytest.raises(ConfigError, match="a cell with input_size=4, the size of the leaf"):
        NTIEncoder(None, IdentityLeaves(4), NTILSTM(3, 3, 2))


def test_a_tree_lstm_on_an_nti_tree() -> None:
    encoder = NTIEncoder(None, IdentityLeaves(SIZE), NaryTreeLSTM(SIZE, 3, 2))
    some = sentences(LENGTHS, SIZE)
    fast = encoder.encode(some).states
    with by_backend("dgl"):
        assert_close(encoder.encode(some).states, fast)
    made = encoder.make_trees([2])
    x = torch.cat([some.vectors[:2], torch.zeros(1, SIZE)])  # nodes above have no input
    alone = Sentences(some.vectors[:2], torch.tensor([2]))
    assert_close(encoder.encode(alone).states, run_cell(encoder.cell, made, {"x": x})["h"])


@pytest.mark.parametrize("node", ["nti_lstm", "chainer_nti_lstm", "nti_attention"])
def test_an_nti_cell_on_a_parsed_sentence(node: str, tmp_path: Path) -> None:
    """Trees in the form of the Stanford Sentiment Treebank."""
    text = "(3 (2 It) (4 (2 is) (3 (2 a) (4 treat))))\n(1 (2 No) (2 (2 way) (2 out)))\n(2 Hm)\n"
    (tmp_path / "trees.txt").write_text(text)
    forest = read(tmp_path / "trees.txt", "sst").forest
    words = len(forest.vocabs["word"])
    cell = make_cell(node, input_size=5, hidden_size=SIZE, max_children=2)
    encoder = TreeEncoder(WordEmbedding("word", words, 5), cell)
    batch = forest.batch([0, 1, 2])
    fast = encoder(batch).states
    with by_backend("dgl"):
        assert_close(encoder(batch).states, fast)
    fast.sum().backward()
    assert all(p.grad is not None for p in cell.parameters())

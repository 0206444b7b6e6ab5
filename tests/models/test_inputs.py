"""Inputs: which vector each id has."""

import pickle
import re

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from dgltrees import ConfigError, Forest, TreeBatch, TreeError
from dgltrees.models import Concat, OneHot, Thermometer, WordEmbedding
from dgltrees.trees.builders import from_brackets


def batch(ids: list[int], dtype: type = np.int32) -> TreeBatch:
    parent = [-1] + [0] * (len(ids) - 1)
    return Forest.build(parent, columns={"value": np.array(ids, dtype)}).batch()


def two_trees(ids: list[int]) -> TreeBatch:
    """A tree of one node with the id 0, then one with these ids."""
    columns = {"value": np.array([0, *ids], np.int32)}
    parent = [-1, -1] + [0] * (len(ids) - 1)
    return Forest.build(parent, offsets=[0, 1, 1 + len(ids)], columns=columns).batch()


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_one_hot(dtype: type) -> None:
    expected = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 0, 1]])
    assert_close(OneHot("value", 3)(batch([-1, 0, 2], dtype)), expected)


def test_thermometer_as_the_paper_has_it() -> None:
    """Section V.C: k = 2 is [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]."""
    made = Thermometer("value", 10)(batch([-1, 2, 0, 9]))
    assert made.tolist() == [[0] * 10, [1] * 3 + [0] * 7, [1] + [0] * 9, [1] * 10]


def test_word_embedding() -> None:
    vectors = torch.randn(4, 2)
    embedding = WordEmbedding("value", 4, 2, vectors=vectors)
    made = embedding(batch([-1, 3, 0, 3]))
    assert_close(made, torch.stack([torch.zeros(2), vectors[3], vectors[0], vectors[3]]))
    made.sum().backward()
    assert embedding.weight.grad is not None
    assert_close(embedding.weight.grad, torch.tensor([[1.0, 1], [0, 0], [0, 0], [2, 2]]))


def test_a_word_embedding_does_not_read_what_it_does_not_show() -> None:
    vectors = torch.full((3, 2), torch.nan)
    vectors[1] = 5.0
    embedding = WordEmbedding("value", 3, 2, vectors=vectors)
    made = embedding(batch([-1, 1]))
    assert made.tolist() == [[0, 0], [5, 5]]
    made.sum().backward()
    assert_close(embedding.weight.grad, torch.tensor([[0.0, 0], [1, 1], [0, 0]]))


def test_ids_that_were_moved_are_checked_where_they_were() -> None:
    """A tensor on the meta device has no values that could be looked at."""
    embedding = WordEmbedding("value", 3, 2).to("meta")
    assert embedding(batch([-1, 2]).to("meta")).shape == (2, 2)
    with pytest.raises(TreeError, match="tree 0, node 1: expected ids of column 'value'"):
        embedding(batch([-1, 3]).to("meta"))


def test_frozen_vectors_do_not_learn() -> None:
    embedding = WordEmbedding("value", 4, 2, frozen=True)
    assert not embedding(batch([0, 1])).requires_grad
    assert list(embedding.state_dict()) == ["weight"]


def test_an_embedding_of_a_vocabulary_refuses_another_one() -> None:
    train = from_brackets("(a b c)")
    words = WordEmbedding("label", train.vocabs["label"], 2)
    assert words(train.batch()).shape == (3, 2)
    same = from_brackets("(c b)", vocabs=train.vocabs)
    for batch in (
        same.batch(),
        same[:1].batch().reversed(),
        pickle.loads(pickle.dumps(same.batch())),
    ):
        assert_close(words(batch), words.weight[[2, 1]])
    other = from_brackets("(c b)").batch()
    for batch in (other, other.with_data(other.ndata), other.reversed()):
        with pytest.raises(
            TreeError, match=r"'label' with the vocabulary of .* of 3 names, got an"
        ):
            words(batch)
    assert words(TreeBatch(other.src, other.dst, other.sizes, ndata=other.ndata)).shape == (2, 2)
    train.vocabs["label"].freeze("<unk>")
    with pytest.raises(TreeError, match="ids of column 'label' to be -1 to 2, got 3; give the inp"):
        words(from_brackets("(new)", vocabs=train.vocabs).batch())


def test_concat() -> None:
    both = Concat([OneHot("value", 3), Thermometer("value", 4)])
    assert both.size == 7
    assert both(batch([1, -1])).tolist() == [[0, 1, 0, 1, 1, 0, 0], [0] * 7]


def test_bad_input_is_refused() -> None:
    with pytest.raises(TreeError, match=re.escape("expected a node column 'word', got only ['va")):
        OneHot("word", 3)(batch([0]))
    for ids, wrong in (([0, 1, 3], 3), ([0, 2, -2], -2)):
        message = f"tree 1, node 2: expected ids of column 'value' to be -1 to 2, got {wrong}"
        for value in (OneHot("value", 3), WordEmbedding("value", 3, 2)):
            with pytest.raises(TreeError, match=message):
                value(two_trees(ids))
    with pytest.raises(ConfigError, match=re.escape("vectors of shape (3, 2), got (2, 3)")):
        WordEmbedding("value", 3, 2, vectors=torch.zeros(2, 3))

"""The parser task, from files to attachment scores."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from dgltrees import TreeError, read
from dgltrees.papers.top_down.tasks.parser import PARSER, attachment, best_labels
from dgltrees.papers.top_down.tasks.reading import punctuation
from dgltrees.settings.layers import Settings
from dgltrees.training.run import prepare, train
from tests.training.samples import SENTENCES
from tests.trees.nested import write


def settings(**parts: Any) -> Settings:
    data = {"train": str(SENTENCES), "valid": str(SENTENCES), **parts.get("data", {})}
    loop = {"optimizer": "adam", "lr": 0.02, "epochs": 30, "batch_size": 2, "patience": None}
    loop = {**loop, "monitor": "las", "accelerator": "cpu", **parts.get("training", {})}
    model = {"hidden_size": 16, "embedding": 8, "arc_size": 16, "label_size": 8, "layers": 1}
    model = {**model, **parts.get("model", {})}
    return Settings({"task": "parser", "data": data, "training": loop, "model": model})


def test_sentences_are_read_as_chains_with_heads_beside() -> None:
    gold = read(SENTENCES, "conllu").forest
    chains = PARSER.read(SENTENCES, PARSER.data(lower=True), None).forest
    assert (chains.columns["head"] == gold.parent).all()
    assert chains.parent[:4].tolist() == [-1, 0, 1, 2]
    names = chains.vocabs["word"].decode(chains.columns["word"][:4])
    assert names == ["<root>", "the", "gardener", "did"]
    assert chains.vocabs["shape"].decode(chains.columns["shape"][1:3]) == ["Xx", "x"]
    relations = chains.vocabs["deprel"].decode(chains.columns["deprel"][1:4])
    assert relations == ["det", "nsubj", "aux"]
    assert (chains.columns["punct"] == 1).sum() == 5


def test_sentences_to_be_evaluated_are_never_left_out() -> None:
    with pytest.warns(UserWarning, match="left out"):
        train = PARSER.read(SENTENCES, PARSER.data(max_words=8), None)
    vocabs = {name: vocab.freeze() for name, vocab in train.forest.vocabs.items()}
    assert len(PARSER.read(SENTENCES, PARSER.data(max_words=8), vocabs)) == 5


def test_the_loss_is_of_heads_and_labels() -> None:
    ready = prepare(settings(data={"min_freq": 3}))
    model, data = ready.model.double().eval(), ready.splits.train
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.5)
    batch, heads = PARSER.batch(data, np.arange(len(data)))
    losses = PARSER.losses(model, batch, heads)
    scores = model(batch)
    m = scores.arcs.shape[1]
    labels = scores.labels(torch.arange(m)[None, :, None].expand(len(data), m, m))  # by head first
    for node in range(batch.num_nodes):
        tree = int(data.forest.tree_of_node[node])
        d, h = node - int(data.forest.offsets[tree]), int(heads[node])
        label = int(batch.ndata["deprel"][node])
        expected = torch.zeros(())
        if h >= 0:
            expected = -scores.arcs[tree, d, h]
        if label > 0:  # 0 is a relation too rare to have a name
            expected = expected - torch.log_softmax(labels[tree, h, d], 0)[label]
        assert_close(losses[node], expected, check_dtype=False)


def test_an_unknown_relation_is_never_named_and_never_right() -> None:
    ready = prepare(settings(data={"min_freq": 3}))
    model, data = ready.model.eval(), ready.splits.train
    batch, heads = PARSER.batch(data, np.arange(len(data)))
    assert (data.forest.columns["deprel"] == 0).any()
    scores = model(batch)
    assert (best_labels(scores, scores.kbest()[0].clamp(min=0)) > 0).all()
    columns = data.forest.columns
    words = columns["head"] >= 0
    perfect = {"head": columns["head"], "label": columns["deprel"], "loss": np.zeros(len(words))}
    report = PARSER.report(data, perfect, {})
    assert report["uas"] == 1.0
    assert_close(report["las"], float((columns["deprel"][words] > 0).mean()))


def test_a_parser_that_reads_tags_refuses_words_without_one(tmp_path: Path) -> None:
    untagged = SENTENCES.read_text(encoding="utf-8").replace("\tDET\t", "\t_\t")
    data = {"valid": str(write(tmp_path, untagged))}
    tagged = settings(data=data, model={"tags": True}, training={"epochs": 1})
    with pytest.raises(TreeError, match=r"a part of speech \(UPOS\) at each word"):
        train(tagged, tmp_path / "run", bar=False)


GOLD = np.array([-1, 2, 0, 2, 2])  # ROOT and four words, the last one a full stop
LABELS = np.array([-1, 4, 5, 6, 7])
PUNCT = np.array([-1, 0, 0, 0, 1])


def test_words_count_and_punctuation_does_not() -> None:
    heads = np.array([-1, 2, 0, 1, 2])
    labels = np.array([-1, 4, 9, 6, 7])
    found = attachment(heads, labels, GOLD, LABELS, PUNCT)
    assert_close(found, {"uas": 3 / 4, "las": 2 / 4, "uas_no_punct": 2 / 3, "las_no_punct": 1 / 3})


def test_what_the_data_do_not_say_is_not_reported() -> None:
    none = np.full(5, -1)
    assert attachment(GOLD, LABELS, GOLD, LABELS, none) == {"uas": 1.0, "las": 1.0}
    assert attachment(GOLD, none, GOLD, none, PUNCT) == {"uas": 1.0, "uas_no_punct": 1.0}
    some = np.array([-1, 4, -1, 6, 7])  # a word without a label has no right one
    assert attachment(GOLD, some, GOLD, some, none)["las"] == 0.75
    with pytest.raises(TreeError, match="expected words with heads to compare with, got none"):
        attachment(none, none, none, none, none)


@pytest.mark.parametrize(
    ("word", "upos", "xpos", "expected"),
    [
        ("-", "PUNCT", "HYPH", 1),
        ("%", "SYM", "NN", 0),
        (",", ",", ",", 1),  # Penn Treebank, in CoNLL-X
        ("''", "_", "''", 1),
        ("%", "NN", "NN", 0),
        ("'", "POS", "POS", 0),
        ("-LRB-", "-LRB-", "-LRB-", 0),
        ("...", "$.", "_", 1),  # tags of other treebanks, and none
        ("\u2013", "_", "_", 1),
        (".", "X", "XP", 1),  # Danish Dependency Treebank
        ("$", "_", "_", 0),
        ("U.S.", "_", "_", 0),
        ("_", "_", "_", -1),
        ("_", "PUNCT", "_", 1),
    ],
)
def test_punctuation_by_tag_or_by_characters(
    tmp_path: Path, word: str, upos: str, xpos: str, expected: int
) -> None:
    line = f"1\t{word}\t_\t{upos}\t{xpos}\t_\t0\troot\t_\t_\n\n"
    forest = read(write(tmp_path, line), "conllu").forest
    assert punctuation(forest).tolist() == [0, expected]

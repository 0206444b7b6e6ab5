"""Words of a text in windows: batches, reports, and what goes together; runs."""

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dgltrees.errors import TreeError
from dgltrees.papers.rrnet.data.windows import WindowSampler
from dgltrees.papers.rrnet.tasks import ptb
from dgltrees.papers.rrnet.tasks.ptb import PTB
from dgltrees.settings.layers import Settings
from dgltrees.tasks.splits import load_examples, load_splits
from dgltrees.training.run import train
from dgltrees.trees import LabeledTrees
from tests.tasks.build import build, run
from tests.training.samples import assert_same_runs, quick, with_model

LINES = ["the cat sat", "a dog ran away", "the cat ran", "it sat", "no dog sat there"] * 6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "text.txt"
    file.write_text("".join(f" {line} \n" for line in LINES), encoding="utf-8")
    return file


def _read(path: Path) -> LabeledTrees:
    return load_examples(PTB, PTB.data(), [path])


def _model(data: LabeledTrees, **model: Any) -> nn.Module:
    return build(PTB, data, **{"hidden_size": 6, "embedding": 6, "tied": True, **model})


def test_batches_consume_the_word_before_and_predict_the_next(path: Path) -> None:
    data = _read(path)
    words = data.forest.vocabs["word"].decode(data.forest.columns["word"])
    assert len(words) == len(" ".join(LINES).split()) + len(LINES)
    seen: list[list[str]] = [[] for _ in range(4)]
    wanted: list[list[str]] = [[] for _ in range(4)]
    place = 0
    for ids in WindowSampler(len(words), streams=4, window=7).batches():
        batch, targets = PTB.batch(data, ids)
        assert targets.tolist() == PTB.targets(data)[PTB.rows(data, ids)].tolist()
        sizes = batch.sizes.tolist()
        parts = zip(batch.ndata["word"].split(sizes), targets.split(sizes))
        for stream, (word, target) in enumerate(parts):
            seen[stream] += data.forest.vocabs["word"].decode(word.tolist())
            wanted[stream] += data.forest.vocabs["word"].decode(target.tolist())
        places = batch.ndata["place"].split(sizes)
        assert all(own.tolist() == list(range(place, place + len(own))) for own in places)
        place += 7
    assert sum(wanted, []) == words  # noqa: RUF017
    assert [stream[1:] for stream in seen] == [stream[:-1] for stream in wanted]
    assert seen[0][0] == "<eos>"
    assert [stream[0] for stream in seen[1:]] == [stream[-1] for stream in wanted[:-1]]


def test_texts_and_trees_are_predicted_in_parts(path: Path, tmp_path: Path) -> None:
    data = _read(path)
    data.schema["word"].freeze()
    model = _model(data)
    trees = tmp_path / "trees.mrg"
    trees.write_text("".join(f"( (S (NP (DT {w})) (VP (VB is))) )\n" for w in "abcde"))
    text = tmp_path / "trees.txt"
    text.write_bytes(trees.read_bytes())
    for file, lines in ((path, len(data)), (trees, 5), (text, 5)):
        options = {"file_format": PTB.format_of(file), "labeled": False, "trees": 2}
        parts = list(PTB.stream(file, PTB.data(), data.schema, **options))
        assert [len(part) for part in parts] == [2] * (lines // 2) + [1] * (lines % 2)
        predicted = [line for d in parts for line in PTB.predictions(d, run(model, PTB, d))]
        assert len(predicted) == lines
        whole = PTB.read(file, PTB.data(), data.schema)
        assert [line["words"] + 1 for line in predicted] == whole.forest.sizes.tolist()
    assert whole.forest.sizes.tolist() == [3] * 5  # brackets are no words, whatever the suffix
    text.write_text("( applause ) thank you\n")
    assert PTB.read(text, PTB.data(), data.schema).forest.sizes.tolist() == [6]


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    for name in ("a.conllu", "a.jsonl.gz"):
        with pytest.raises(TreeError, match="or trees in brackets, got (conllu|jsonl)"):
            PTB.read(tmp_path / name, PTB.data())


@pytest.mark.parametrize(("least", "streams"), [(ptb.LEAST, 1), (2, 10)])
def test_the_lstm_s_loss_is_that_of_torch_on_each_stream(
    path: Path, monkeypatch: pytest.MonkeyPatch, least: int, streams: int
) -> None:
    """A short text is one stream: every word is predicted after all words before it."""
    monkeypatch.setattr(ptb, "LEAST", least)
    data = _read(path)
    model = _model(data, encoder="lstm")
    outputs = run(model, PTB, data, max_nodes=30)
    words = torch.from_numpy(PTB.targets(data))
    starts = WindowSampler(len(words), streams=streams, window=1).offsets
    for begin, end in itertools.pairwise(starts):
        x = model.output[torch.roll(words, 1)[begin:end]]
        states, _ = model.encoder.lstm(x[:, None])
        nll = F.cross_entropy(states[:, 0] @ model.output.t(), words[begin:end], reduction="none")
        np.testing.assert_allclose(outputs["loss"][begin:end], nll.detach().numpy(), rtol=1e-5)
    assert "splits" not in PTB.report(data, outputs, {})


def test_the_limit_takes_the_first_lines_and_validation_the_first_of_them(path: Path) -> None:
    train, valid = load_splits(
        PTB, PTB.data(train=str(path), max_train_examples=20, valid_fraction=0.25)
    ).all
    lines = [
        " ".join(part.forest.vocabs["word"].decode(part.forest.tree(i).columns["word"])[:-1])
        for part in (valid, train)
        for i in range(len(part))
    ]
    assert lines == LINES[:20]


def test_rare_words_become_unknown(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "only once\n", encoding="utf-8")
    for part in load_splits(PTB, PTB.data(train=str(path), valid=str(path), min_freq=2)).all:
        names = part.forest.vocabs["word"].decode(part.forest.columns["word"][-3:])
        assert names == ["<unk>", "<unk>", "<eos>"]


def test_parameters_are_those_of_the_reader_and_of_all(path: Path) -> None:
    data = _read(path)
    words = len(data.forest.vocabs["word"])
    tied = PTB.parameters(_model(data, encoder="lstm"))
    assert tied == {"aggregator": None, "cell": 8 * 36 + 48, "model": 8 * 36 + 48 + 6 * words}
    untied = PTB.parameters(_model(data, encoder="lstm", tied=False))
    assert untied == {"aggregator": None, "cell": 8 * 36 + 48, "model": 8 * 36 + 48 + 12 * words}


def test_a_network_that_recurs_alone_never_splits(path: Path) -> None:
    data = _read(path)
    report = PTB.report(data, run(_model(data, policy={"operations": "recur"}), PTB, data), {})
    assert report["splits"] == report["merges"] == 0


@pytest.mark.parametrize("operations", ["gold", "policy"])
def test_a_text_of_trees(tmp_path: Path, path: Path, operations: str) -> None:
    tree = "(S (NP (DT the) (NN cat)) (VP (VBD sat) (RB there)))\n"
    (tmp_path / "text.mrg").write_text(8 * tree, encoding="utf-8")
    data = _read(tmp_path / "text.mrg")
    policy = {"operations": operations, "consume": "recur"}
    outputs = run(_model(data, policy=policy), PTB, data)
    report = PTB.report(data, outputs, {})
    assert report["words"] == 8 * 5
    losses = outputs["loss"].reshape(8, 5)  # of: the cat sat there <eos>
    for name, words in {
        "length": {"0": [0, 1, 2, 3, 4]},
        "depth": {"0": [4], "2": [0, 1, 2, 3]},
        "merges": {"0": [0, 1, 3], "1": [2], "2": [4]},
    }.items():
        expected = {value: math.exp(losses[:, each].mean()) for value, each in words.items()}
        assert report[f"perplexity_by_{name}"] == pytest.approx(expected)
    assert report.get("gold_operations", False) == (operations == "gold")
    if operations == "gold":  # ten streams begin anywhere: what began before them is not merged
        assert report["splits"] == 3 / 5
        assert 0 < report["merges"] < 3 / 5
        with pytest.raises(TreeError, match="missing node columns"):
            run(_model(data, policy=policy), PTB, replace(_read(path), targets=data.targets))


def settings(preset: str = "ptb-small", **training: Any) -> Settings:
    loop = {"epochs": 3, "batch_size": 6, "patience": None, **training}
    small = {"hidden_size": 8, "embedding": 8}
    return with_model(quick(preset, {"max_train_examples": 80, "window": 8}, **loop), **small)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core
def test_workers_change_nothing(tmp_path: Path) -> None:
    train(settings(epochs=1), tmp_path / "here")
    train(settings(epochs=1, num_workers=1), tmp_path / "there")
    assert_same_runs(tmp_path / "here", tmp_path / "there")


def test_texts_that_are_too_short_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="at least 1000 tokens, 2 per stream, got 591; use"):
        train(settings(batch_size=500), tmp_path / "run")

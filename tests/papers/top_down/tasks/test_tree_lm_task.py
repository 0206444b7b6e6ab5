"""The language-model task, from files to perplexities."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from dgltrees import ConfigError, TreeError
from dgltrees.cli import main
from dgltrees.formats import read
from dgltrees.papers.top_down.graphs import generation_forest
from dgltrees.papers.top_down.models import BidirectionalLM, SequenceLM
from dgltrees.papers.top_down.tasks.tree_lm import TREE_LM, Objective
from dgltrees.training.loaded import load
from dgltrees.training.run import prepare, train
from dgltrees.training.settings import Settings
from dgltrees.trees import Forest
from dgltrees.trees.builders import from_nested
from tests.tasks.build import columns
from tests.training.samples import SENTENCES


def settings(model: dict[str, Any] | None = None, **parts: Any) -> Settings:
    data = {
        "train": str(SENTENCES),
        "valid": str(SENTENCES),
        "lower": True,
        **parts.get("data", {}),
    }
    loop = {"optimizer": "sgd", "lr": 1.0, "clip": 5.0, "epochs": 3, "batch_size": 4}
    loop = {**loop, "monitor": "loss", "patience": None, "schedule": "halve", "bucket_by": "size"}
    loop = {**loop, "accelerator": "cpu", **parts.get("training", {})}
    values = {"task": "tree-lm", "data": data, "training": loop}
    return Settings({**values, "model": {"hidden_size": 8, "embedding": 4, **(model or {})}})


def test_words_are_read_as_the_settings_say() -> None:
    plain = TREE_LM.read(SENTENCES, TREE_LM.data(), None)
    lower = TREE_LM.read(SENTENCES, TREE_LM.data(lower=True), None)
    assert plain.forest.num_nodes == lower.forest.num_nodes
    names = lower.forest.vocabs["word"].names
    assert names == [name.lower() for name in names]
    assert len(names) < len(plain.forest.vocabs["word"])
    assert (plain.forest.columns["etype"] == plain.forest.pos).all()
    with pytest.warns(UserWarning, match="left out 3 of 5 sentences"):
        assert len(TREE_LM.read(SENTENCES, TREE_LM.data(max_words=8), None)) < len(plain)


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"left_dependents": True, "layers": 2, "output_dropout": 0.2},
        {"objective": "nce", "noise": 3},
        {"language_model": "sequence", "tied": True, "embedding": 8},
        {"language_model": "sequence", "end": True},
        {"language_model": "bidirectional"},
        {"labels": True},
        {"labels": True, "objective": "nce", "noise": 3},
        {"stops": True, "left_dependents": True, "labels": True},
        {"stops": True, "objective": "nce", "noise": 3, "tied": True, "embedding": 8},
    ],
)
def test_a_run_learns_evaluates_and_predicts(tmp_path: Path, model: dict[str, Any]) -> None:
    loop = {"lr": 0.2} if "stops" in model else {}  # more losses a sentence
    result = train(settings(model, training=loop), tmp_path / "run", bar=False)
    valid = result["valid"]
    assert_close(valid["perplexity"], math.exp(valid["loss"]))
    run = load(tmp_path / "run")
    assert_close(run.evaluate(test=[str(SENTENCES)])["loss"], valid["loss"])
    lines = list(run.predict([SENTENCES]))
    assert len(lines) == valid["examples"]
    assert sum(line["words"] for line in lines) == valid["words"]
    assert_close(-sum(line["log_prob"] for line in lines) / valid["words"], valid["loss"])
    assert all(("joint_log_prob" in line) == ("joint_loss" in valid) for line in lines)
    history = run.directory.metrics()
    assert min(line["valid_loss"] for line in history) == valid["loss"]
    learned = "valid_joint_loss" if "joint_loss" in valid else "valid_loss"
    assert min(line[learned] for line in history) < history[0][learned]


def test_perplexity_is_of_the_words_alone() -> None:
    """Not of ROOT, and by the full softmax."""
    ready = prepare(settings({"objective": "nce"}))
    model, data = ready.model.eval(), ready.splits.train
    batch, targets = TREE_LM.batch(data, np.arange(len(data)))
    loss = TREE_LM.outputs(model, batch, targets)["loss"]
    assert (loss[torch.from_numpy(data.forest.roots)] == 0).all()
    with torch.no_grad():
        assert_close(loss.sum(), -model.model.log_prob(batch).double().sum())


def test_the_end_of_a_sentence_counts_beside_its_words() -> None:
    ready = prepare(settings({"language_model": "sequence", "end": True}))
    model, data = ready.model.eval(), ready.splits.train
    batch, targets = TREE_LM.batch(data, np.arange(len(data)))
    report = TREE_LM.report(data, columns(TREE_LM.outputs(model, batch, targets)), {})
    with torch.no_grad():
        whole = -float(model.model.log_prob(batch).double().sum())
        assert_close(float(TREE_LM.losses(model, batch, targets).sum()), whole)
        model.model.end = False
        alone = -float(model.model.log_prob(batch).double().sum())
    words = report["words"]
    assert_close((report["loss"], report["joint_loss"]), (alone / words, whole / words))
    assert alone < whole


def test_start_and_stop_count_beside_the_words(tmp_path: Path) -> None:
    """Their loss joins that of the words in joint_loss and joint_log_prob."""
    result = train(settings({"stops": True}), tmp_path / "run", bar=False)["valid"]
    ready = prepare(settings({"stops": True}))
    model, data = ready.model.eval(), ready.splits.train
    batch, targets = TREE_LM.batch(data, np.arange(len(data)))
    report = TREE_LM.report(data, columns(TREE_LM.outputs(model, batch, targets)), {})
    with torch.no_grad():
        h, words, node = model.model(batch)
        loss = F.cross_entropy(h @ model.model.output.t(), words, reduction="none")
        assert_close(TREE_LM.losses(model, batch, targets).sum(), loss.sum())
    is_word = words < len(data.forest.vocabs["word"])
    assert (is_word == (targets[node] >= 0)).all()
    per_word = loss[is_word].mean(), loss.sum() / report["words"]
    assert_close(torch.tensor([report["loss"], report["joint_loss"]]), torch.stack(per_word))
    assert report["words"] == int(is_word.sum())
    lines = load(tmp_path / "run").predict([SENTENCES])
    joint = -sum(line["joint_log_prob"] for line in lines) / result["words"]
    assert_close(joint, result["joint_loss"])
    assert joint > result["loss"]


def test_the_joint_loss_may_decide(tmp_path: Path) -> None:
    """Which epoch is the best, and when the learning rate is halved."""
    how = {"monitor": "joint_loss", "epochs": 5}
    result = train(settings({"stops": True}, training=how), tmp_path / "run", bar=False)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["valid_joint_loss"] for line in lines]
    assert result["valid"]["joint_loss"] == min(losses)
    assert result["best_epoch"] == 1 + losses.index(min(losses))
    with pytest.raises(ConfigError, match="perplexity or loss, which this model .*'joint_loss'"):
        train(settings(training=how), tmp_path / "plain", bar=False)


def _noise(model: nn.Module) -> torch.Tensor:
    """How often each word is expected among the noise of one word."""
    assert isinstance(model, Objective)
    assert model.nce is not None
    return model.nce.log_noise.exp()


def test_noise_counts_start_and_stop() -> None:
    ready = prepare(settings({"objective": "nce", "stops": True}))
    words = ready.splits.train.forest
    n, trees = words.num_nodes - len(words), len(words)
    noise = _noise(ready.model)
    root = float(noise[words.columns["word"][0]])
    expected = torch.tensor([n / trees, (n + trees) / trees]) ** 0.75
    assert_close(noise[-2:].float() / root, expected)


def test_labels_are_learned_beside_the_words(tmp_path: Path) -> None:
    """They stand beside the words, whose perplexity is theirs alone."""
    result = train(settings({"labels": True}), tmp_path / "run", bar=False)["valid"]
    assert 0 <= result["label_accuracy"] <= 1
    ready = prepare(settings({"labels": True}))
    model, data = ready.model, ready.splits.train
    batch, targets = TREE_LM.batch(data, np.arange(len(data)))
    with torch.no_grad():
        both = TREE_LM.losses(model, batch, targets).sum()
        outputs = TREE_LM.outputs(model, batch, targets)
        loss, label, p = (outputs[name] for name in ("loss", "label", "label_probability"))
        assert_close(loss.sum(), -model.model.log_prob(batch).double().sum())
        assert_close(both.double(), loss.sum() - p[p >= 0].log().sum())
        h, words, _ = model.model(batch)
        scores = torch.log_softmax(model.model.label_scores(h, words), 1)
    real = targets >= 0
    truth = batch.ndata["deprel"][real]
    assert (label[real] == scores.argmax(1)).all()
    assert_close(p[real], scores.exp().gather(1, truth[:, None])[:, 0].double())
    lines = list(load(tmp_path / "run").predict([SENTENCES]))
    assert [len(line["labels"]) for line in lines] == [line["words"] for line in lines]
    names = data.schema["deprel"].names
    assert {name for line in lines for name in line["labels"]} <= set(names)


def test_words_without_labels_count_for_the_words_alone(tmp_path: Path) -> None:
    path = tmp_path / "bare.conllu"
    path.write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n\n")
    data = {"train": str(path), "valid": str(path)}
    result = train(settings({"labels": True}, data=data), tmp_path / "run", bar=False)["valid"]
    assert result["words"] == 2
    assert result["label_accuracy"] in (0.0, 1.0)
    path.write_text("1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n\n")
    with pytest.raises(ConfigError, match="needs dependency labels .*, the data have none"):
        prepare(settings({"labels": True}, data=data))


def test_constituents_and_taxonomies_are_trees_too(tmp_path: Path) -> None:
    """Their nodes are words, all of them right dependents."""
    (tmp_path / "a.mrg").write_text("(S (NP (NN Dogs)) (VP (VB bark)))\n(S (NP (NN Cats)))\n")
    read = TREE_LM.read(tmp_path / "a.mrg", TREE_LM.data(lower=True), None).forest
    names = read.vocabs["word"].decode(read.columns["word"][: read.sizes[0]])
    assert names == ["<root>", "(S", "(NP", "(NN", "dogs", "(VP", "(VB", "bark"]
    assert set(read.pos[read.parent >= 0]) == {1, 3}
    with pytest.warns(UserWarning, match="left out 1 of 2 sentences"):
        short = TREE_LM.read(tmp_path / "a.mrg", TREE_LM.data(max_words=4), None)
    assert len(short) == 1
    with (
        pytest.warns(UserWarning, match="left out 2 of 2 sentences, which have more than 3 nodes"),
        pytest.raises(TreeError, match="at most 3 nodes, got none"),
    ):
        TREE_LM.read(tmp_path / "a.mrg", TREE_LM.data(max_words=3), None)
    forest = from_nested(("animal", ("bird", "owl", "wren"), "worm"), form="head")
    forest.save(tmp_path / "taxonomy")
    for name in ("a.mrg", "taxonomy"):
        data = {"train": str(tmp_path / name), "valid": str(tmp_path / name)}
        result = train(settings(data=data), tmp_path / f"run-{name}", bar=False)
        assert result["valid"]["words"] == (11 if name == "a.mrg" else 5)


def test_trees_are_read_some_at_a_time(tmp_path: Path) -> None:
    brackets = tmp_path / "a.mrg"
    brackets.write_text("(S (NP (NN Dogs)))\n(S (NN No))\n(S (NP (NN Cats) (NN run)))\n")
    for path, sizes in ((SENTENCES, [2, 2, 1]), (brackets, [2, 1])):
        settings = TREE_LM.data(max_words=20)
        whole = TREE_LM.read(path, settings, None).forest
        parts = [data.forest for data in TREE_LM.stream(path, settings, whole.vocabs, trees=2)]
        assert [len(part) for part in parts] == sizes
        both = Forest.concat(parts)
        assert (both.parent == whole.parent).all()
        assert (both.columns["word"] == whole.columns["word"]).all()


def test_a_saved_forest_of_dependencies_is_read_as_such(tmp_path: Path) -> None:
    """As the file it is from, also with vocabularies and settings of its own."""
    read(SENTENCES, "conllu").forest.save(tmp_path / "saved")
    how = TREE_LM.data(lower=True, max_words=20)
    one, two = (TREE_LM.read(path, how, None).forest for path in (SENTENCES, tmp_path / "saved"))
    assert (one.parent == two.parent).all()
    assert (one.pos == two.pos).all()
    for name in ("word", "deprel"):
        names = [f.vocabs[name].decode(f.columns[name][f.parent >= 0]) for f in (one, two)]
        assert names[0] == names[1]
    data = {"train": [str(SENTENCES), str(tmp_path / "saved")], "valid": str(tmp_path / "saved")}
    result = train(settings({"labels": True}, data=data), tmp_path / "run", bar=False)
    assert result["valid"]["words"] == one.num_nodes - len(one)
    generation_forest(read(SENTENCES, "conllu").forest).save(tmp_path / "generation")
    with pytest.raises(TreeError, match="generation: expected a saved forest of dependencies"):
        TREE_LM.read(tmp_path / "generation", how, None)


def test_three_columns_are_dependencies_too(tmp_path: Path) -> None:
    path = tmp_path / "a.dp"
    path.write_text("Ada\tNNP\t2\ncounts\tVBZ\t0\nstars\tNNS\t2\n\n", encoding="utf-8")
    read = TREE_LM.read(path, TREE_LM.data(), None).forest
    assert read.vocabs["etype"].decode(read.pos[1:]) == ["LEFT", "RIGHT", "RIGHT"]
    data = {"train": [str(SENTENCES), str(path)], "valid": str(path)}
    assert train(settings(data=data), tmp_path / "run", bar=False)["valid"]["words"] == 3


def test_several_roots_where_they_are_asked_for(tmp_path: Path) -> None:
    """They stand right of ROOT: RIGHT, then NX-RIGHT. A run keeps to it in all it does."""
    path = tmp_path / "a.conll"
    path.write_text(
        "".join(f"{i}\t{w}\t_\t_\t_\t_\t0\tx\t_\t_\n" for i, w in ((1, "a"), (2, "b"))) + "\n"
    )
    with pytest.raises(TreeError, match=r"a\.conll:2: .* models --data\.single_root false"):
        TREE_LM.read(path, TREE_LM.data(), None)
    read = TREE_LM.read(path, TREE_LM.data(single_root=False), None).forest
    assert read.vocabs["etype"].decode(read.pos[1:]) == ["RIGHT", "NX-RIGHT"]
    assert read.parent.tolist() == [-1, 0, 1]
    data = {"train": str(path), "valid": str(path), "single_root": False}
    for model in ({}, {"stops": True, "left_dependents": True}):
        run = tmp_path / ("stops" if model else "plain")
        assert train(settings(model, data=data), run, bar=False)["valid"]["words"] == 2
        assert load(run).evaluate(test=[str(path)])["words"] == 2
        flags = ["rerank", str(run), "--out", str(tmp_path / "out"), "--input"]
        (tmp_path / "kbest").write_text("# analysis = 1\n" + path.read_text())
        assert main([*flags, str(tmp_path / "kbest"), "--tune", str(path)]) == 0


def test_a_step_is_divided_by_its_sentences() -> None:
    assert TREE_LM.loss_denominator(64, 1500) == 64


def test_noise_is_by_the_words_of_the_training_examples() -> None:
    ready = prepare(settings({"objective": "nce"}))
    words = ready.splits.train.forest.columns["word"]
    names = ready.splits.train.schema["word"]
    p = np.bincount(words, minlength=len(names)) ** 0.75
    assert_close(_noise(ready.model) / 20, torch.from_numpy(p / p.sum()))


def test_word_vectors_are_where_the_words_begin(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2 3 4\nnever-seen 5 6 7 8\n", encoding="utf-8")
    ready = prepare(settings(data={"vectors": str(path)}))
    row = int(ready.splits.train.schema["word"].encode(["the"])[0])
    assert ready.model.model.embed.weight[row].tolist() == [1, 2, 3, 4]


def test_parameters_are_counted_as_in_table_1() -> None:
    model = Objective(SequenceLM(50, 8, embedding=8, tied=True))
    assert TREE_LM.parameters(model) == {"table": None, "cell": 576, "model": 576 + 400}
    model = Objective(BidirectionalLM(50, 8))
    cell = 2 * 4 * 8 * (4 + 8 + 2)
    assert TREE_LM.parameters(model) == {"table": None, "cell": cell, "model": cell + 50 * 20}


def test_halving_goes_on_after_a_resume(tmp_path: Path) -> None:
    """Eight epochs with so large a rate that some are undone; the same in two goes."""
    whole = train(settings(training={"epochs": 8, "lr": 30.0}), tmp_path / "one", bar=False)
    for epochs in (3, 8):
        part = settings(training={"epochs": epochs, "lr": 30.0})
        parts = train(part, tmp_path / "two", bar=False)
    assert parts == whole
    one, two = (tmp_path / name / "resume.json" for name in ("one", "two"))
    states = [json.loads(path.read_text()) for path in (one, two)]
    assert states[0]["progress"]["schedule"] == states[1]["progress"]["schedule"]
    assert states[0]["progress"]["schedule"]["halving"]
    assert states[0]["optimizer"]["groups"][0]["lr"] < 30.0


def test_halving_needs_validation_examples(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="halve needs validation examples, got none"):
        train(settings(data={"valid": None, "valid_fraction": 0.0}), tmp_path / "run", bar=False)

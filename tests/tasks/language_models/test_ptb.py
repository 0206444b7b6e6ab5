"""Words of a text in windows: batches, reports, and what goes together."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dgltrees.errors import ConfigError, TreeError
from dgltrees.tasks.language_models.ptb import PTB
from dgltrees.tasks.rrnet.policy_settings import PolicySettings
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.tasks.splits import load_examples, load_splits, vocabularies
from dgltrees.training.evaluation import run_model
from dgltrees.training.processes import make_fabric
from dgltrees.training.settings import TrainingSettings
from dgltrees.trees.windows import WindowSampler

LINES = ["the cat sat", "a dog ran away", "the cat ran", "it sat", "no dog sat there"] * 6
POLICY = {"operations": "policy", "agent": "reinforce", "reward": "log_likelihood"}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("".join(f" {line} \n" for line in LINES), encoding="utf-8")
    return file


def build(data, policy=POLICY, **model):
    settings = {"encoder": "rrnet", "hidden_size": 6, "embedding": 6, "tied": True, **model}
    torch.manual_seed(0)
    made = ModelSettings(**settings, policy=PolicySettings(**policy))
    return PTB.build(made, vocabularies(data))


def test_batches_consume_the_word_before_and_predict_the_next(path):
    data = load_examples(PTB, DataSettings(), [path])
    words = data.forest.vocabs["word"].decode(data.forest.columns["word"])
    assert len(words) == len(" ".join(LINES).split()) + len(LINES)
    seen, wanted = [[] for _ in range(4)], [[] for _ in range(4)]
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


def test_every_word_is_predicted_once_in_evaluation_whatever_the_windows(path):
    data = load_examples(PTB, DataSettings(), [path])
    model, fabric = build(data), make_fabric(TrainingSettings(accelerator="cpu"))
    outputs = run_model(model, PTB, data, fabric)
    smaller = run_model(model, PTB, data, fabric, max_nodes=40)
    np.testing.assert_allclose(smaller.loss, outputs.loss, rtol=1e-5)
    assert (smaller.prediction == outputs.prediction).all()
    report = PTB.report(data, outputs, {})
    assert report["words"] == len(outputs.loss) == data.forest.num_nodes
    assert report["perplexity"] == pytest.approx(math.exp(outputs.loss.mean()))
    assert 0 <= report["merges"] <= report["splits"] + 0.1 <= 1.1
    lines = list(PTB.predictions(data, outputs))
    assert sum(line["words"] for line in lines) == report["words"]
    total = sum(line["log_prob"] for line in lines)
    assert total == pytest.approx(-outputs.loss.sum(), rel=1e-6)


def test_the_lstm_s_loss_is_that_of_torch_on_each_stream(path):
    data = load_examples(PTB, DataSettings(), [path])
    model = build(data, {}, encoder="lstm")
    fabric = make_fabric(TrainingSettings(accelerator="cpu"))
    outputs = run_model(model.cpu(), PTB, data, fabric, max_nodes=30)
    words = torch.from_numpy(PTB.targets(data))
    starts = WindowSampler(len(words), streams=10, window=1).starts
    for begin, end in zip(starts[:-1], starts[1:]):
        x = model.output[torch.roll(words, 1)[begin:end]]
        states, _ = model.encoder.lstm(x[:, None])
        nll = F.cross_entropy(states[:, 0] @ model.output.t(), words[begin:end], reduction="none")
        np.testing.assert_allclose(outputs.loss[begin:end], nll.detach().numpy(), rtol=1e-5)
    assert "splits" not in PTB.report(data, outputs, {})


def test_the_limit_takes_the_first_lines_and_validation_the_first_of_them(path):
    settings = DataSettings(train=str(path), limit=20, keep_back=0.25)
    splits = load_splits(PTB, settings)
    found = [
        " ".join(part.forest.vocabs["word"].decode(part.forest.tree(i).columns["word"])[:-1])
        for part in (splits.valid, splits.train)
        for i in range(len(part))
    ]
    assert found == LINES[:20]


def test_rare_words_become_unknown(path):
    path.write_text(path.read_text(encoding="utf-8") + "only once\n", encoding="utf-8")
    splits = load_splits(PTB, DataSettings(train=str(path), valid=str(path), min_count=2))
    for part in (splits.train, splits.valid):
        names = part.forest.vocabs["word"].decode(part.forest.columns["word"][-3:])
        assert names == ["<unk>", "<unk>", "<eos>"]


def test_parameters_are_those_of_the_reader_and_of_all(path):
    data = load_examples(PTB, DataSettings(), [path])
    words = len(data.forest.vocabs["word"])
    found = PTB.parameters(build(data, {}, encoder="lstm"))
    assert found == {"table": None, "cell": 8 * 36 + 48, "model": 8 * 36 + 48 + 6 * words}
    untied = PTB.parameters(build(data, {}, encoder="lstm", tied=False))
    assert untied == {"table": None, "cell": 8 * 36 + 48, "model": 8 * 36 + 48 + 12 * words}


def test_nothing_but_recurs(path):
    data = load_examples(PTB, DataSettings(), [path])
    model = build(data, {"operations": "recur"})
    fabric = make_fabric(TrainingSettings(accelerator="cpu"))
    report = PTB.report(data, run_model(model, PTB, data, fabric), {})
    assert report["splits"] == report["merges"] == 0


@pytest.mark.parametrize(
    ("policy", "model", "message"),
    [
        ({}, {}, "text says no operations, got given with agent none"),
        ({"operations": "policy"}, {}, "text says no operations, got policy with agent none"),
        ({**POLICY, "told": 0.5}, {}, "text says no operations, .* and told 0.5"),
        ({**POLICY, "reward": "accuracy"}, {}, "one of likely, log_likelihood .*'accuracy'"),
        ({}, {"encoder": "lstm", "layer_norm": True}, "expected no model.layer_norm with .* lstm"),
        (
            {**POLICY, "agent": "dqn"},
            {},
            "model.policy.replay 0 with .* ptb, .* got 10000",
        ),
        ({}, {"encoder": "nti"}, "expected model.encoder rrnet or lstm for ptb, got nti"),
    ],
)
def test_settings_that_do_not_go_together(path, policy, model, message):
    data = load_examples(PTB, DataSettings(), [path])
    with pytest.raises(ConfigError, match=message):
        build(data, policy, **model)


def test_a_text_of_one_word_cannot_be_cut(tmp_path):
    (tmp_path / "one.txt").write_text("word\n", encoding="utf-8")
    data = load_examples(PTB, DataSettings(), [tmp_path / "one.txt"])
    with pytest.raises(TreeError, match="at least 4 tokens, 2 per stream, got 2"):
        WindowSampler(data.forest.num_nodes, streams=2, window=3)

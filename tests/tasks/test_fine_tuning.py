"""Pretrained encoders that are trained with the model that reads them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from dgltrees import ConfigError, Forest, TreeClassifier, load
from dgltrees.settings.layers import Settings, layered
from dgltrees.training.optimizers import parameter_groups
from dgltrees.training.run import prepare, train
from tests.models.test_fine_tuned import folder  # noqa: F401  (a fixture)
from tests.tasks.test_pretrained import documents, text_settings
from tests.training.test_device import TOLERANCE, losses_of_one_and_two

TUNED = {"data": {"fine_tune": True}, "training": {"pretrained_lr": 0.01, "optimizer": "adam"}}


@pytest.fixture
def encoder(folder: Path, tmp_path: Path) -> Path:  # noqa: F811
    """A copy of the encoder's folder, which a test may change."""
    return Path(shutil.copytree(folder, tmp_path / "encoder"))


def texts(path: Path, encoder: Path, **changes: Any) -> Settings:
    settings = text_settings(documents(path), encoder)
    return Settings(
        layered(layered(settings.to_dict(), TUNED), {"training": {"epochs": 2}, **changes})
    )


def answers(run: Any, source: Path) -> list[Any]:
    explained = run.explain([source])
    return [
        [*run.predict([source])],
        run.encode([source]).tolist(),
        run.evaluate(str(source)),
        explained.prediction,
        explained.nodes.tolist(),
    ]


def test_a_run_holds_what_it_needs_and_goes_on_where_it_ended(
    encoder: Path, tmp_path: Path
) -> None:
    source = tmp_path / "documents.jsonl"
    assert_holds_what_it_needs(texts(source, encoder), source, encoder, tmp_path)


def assert_holds_what_it_needs(
    settings: Settings, source: Path, encoder: Path, tmp_path: Path
) -> None:
    more = {"epochs": 2, "save_every_n_steps": 1, "batch_size": 5, "schedule": "constant"}
    settings = settings.replace("training", **more)
    train(settings, tmp_path / "run")
    train(settings.replace("training", epochs=1), tmp_path / "halves")
    shutil.copytree(encoder, tmp_path / "elsewhere")
    shutil.rmtree(encoder)
    moved = settings.replace("data", pretrained=str(tmp_path / "elsewhere"))
    train(moved, tmp_path / "halves")  # the folder may move
    weights = [load_file(tmp_path / run / "weights.safetensors") for run in ("run", "halves")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    before = load_file(tmp_path / "elsewhere" / "model.safetensors")
    after = {name.rpartition("transformer.")[2]: each for name, each in weights[0].items()}
    assert not torch.equal(
        after["encoder.layer.0.output.dense.weight"], before["encoder.layer.0.output.dense.weight"]
    )
    copies = {path.name for path in (tmp_path / "run" / "pretrained").iterdir()}
    assert {"config.json", "tokenizer.json"} <= copies
    assert "model.safetensors" not in copies

    shutil.rmtree(tmp_path / "elsewhere")
    kept = answers(load(tmp_path / "run"), source)
    shutil.move(tmp_path / "run", tmp_path / "away")
    assert answers(load(tmp_path / "away"), source) == kept
    (tmp_path / "away" / "pretrained" / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="pretrained.config.json is damaged: it has changed"):
        load(tmp_path / "away")


def test_vectors_begin_as_those_that_are_computed_once(encoder: Path, tmp_path: Path) -> None:
    assert_begins_as_computed_once(texts(tmp_path / "documents.jsonl", encoder))


def assert_begins_as_computed_once(tuned: Settings) -> None:
    vectors = []
    for settings in (
        tuned,
        tuned.replace("training", pretrained_lr=None).replace("data", fine_tune=False),
    ):
        ready = prepare(settings)
        model: Any = ready.model.eval()
        vectors.append(model.encoder.input(ready.splits.train.forest.batch()))
    torch.testing.assert_close(*vectors)


def test_an_encoder_has_a_learning_rate_of_its_own(encoder: Path, tmp_path: Path) -> None:
    ready = prepare(texts(tmp_path / "documents.jsonl", encoder, data={"frozen_layers": 1}))
    parts: Any = parameter_groups(ready.settings.training, ready.model)
    assert [part.get("lr") for part in parts] == [None, 0.01]
    assert sum(len(part["params"]) for part in parts) == len(list(ready.model.parameters()))
    assert {p.requires_grad for p in parts[1]["params"]} == {True, False}
    counts = ready.settings.task.parameters(ready.model)
    assert counts["model"] == sum(p.numel() for p in ready.model.parameters())


def test_two_processes_fine_tune_as_one(encoder: Path, tmp_path: Path) -> None:
    config = json.loads((encoder / "config.json").read_text())
    config.update(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    (encoder / "config.json").write_text(json.dumps(config))
    settings = texts(tmp_path / "documents.jsonl", encoder).replace(
        "training", epochs=2, batch_size=3
    )
    one, two = losses_of_one_and_two(tmp_path, settings)
    for left, right in zip(one, two):
        assert right["train_loss"] == pytest.approx(left["train_loss"], rel=TOLERANCE)
        assert right["valid_loss"] == pytest.approx(left["valid_loss"], rel=TOLERANCE)


@pytest.mark.parametrize("precision", ["64-true", "bf16-mixed", "bf16-true"])
def test_precisions(encoder: Path, tmp_path: Path, precision: str) -> None:
    path = tmp_path / "documents.jsonl"
    train(texts(path, encoder).replace("training", precision=precision), tmp_path / "run")
    assert len([*load(tmp_path / "run").predict([path])]) == 12


def test_estimators(encoder: Path, tmp_path: Path) -> None:
    trees = Forest.from_objects(
        [{"text": f"{word} a", "children": [{"text": "b"}]} for word in "de" * 6], columns=["text"]
    )
    named = {
        "data.pretrained": str(encoder),
        "data.fine_tune": True,
        "training.pretrained_lr": 0.01,
    }
    model = TreeClassifier(features={"text": "text"}, epochs=2, settings=named)
    model.fit(trees, ["d", "e"] * 6).save(tmp_path / "saved")
    shutil.rmtree(encoder)
    again = TreeClassifier.load(tmp_path / "saved")
    assert again.predict_proba(trees).tolist() == model.predict_proba(trees).tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"data": {"pretrained": None, "fine_tune": True}},
            "data.fine_tune has no effect without data.pretrained",
        ),
        (
            {"data": {"fine_tune": False}},
            "training.pretrained_lr has no effect without data.fine_tune",
        ),
        ({"data": {"frozen_layers": 2}}, "data.frozen_layers to be below 2"),
    ],
)
def test_settings_that_do_not_fit(
    encoder: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        prepare(texts(tmp_path / "documents.jsonl", encoder, **changes))


def test_a_frozen_encoder_is_kept_with_the_run(encoder: Path, tmp_path: Path) -> None:
    path = documents(tmp_path / "documents.jsonl")
    assert_kept_with_the_run(text_settings(path, encoder), path, encoder, tmp_path)


def assert_kept_with_the_run(
    settings: Settings, source: Path, encoder: Path, tmp_path: Path
) -> None:
    train(settings, tmp_path / "run")
    kept = [*load(tmp_path / "run").predict([source])]
    shutil.rmtree(encoder / ".." / "encoder")
    assert [*load(tmp_path / "run").predict([source])] == kept
    with pytest.raises(ConfigError, match="expected data.pretrained to name a file"):
        train(settings, tmp_path / "run")
    shutil.copytree(tmp_path / "run" / "pretrained", encoder)
    train(settings, tmp_path / "run")
    other = load_file(encoder / "model.safetensors")
    save_file({name: each + 1 for name, each in other.items()}, encoder / "model.safetensors")
    with pytest.raises(ConfigError, match=r"data.pretrained\) has changed since the run"):
        train(settings, tmp_path / "run")

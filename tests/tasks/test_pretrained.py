"""Vectors of a pretrained encoder under tasks on custom trees."""

# ruff: noqa: F811  (fixtures)

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from dgltrees import ConfigError, Forest, TreeClassifier, load
from dgltrees.models.pretrained import PretrainedEncoder
from dgltrees.settings.layers import Settings
from dgltrees.training.run import train
from dgltrees.trees.columns import Column
from tests.models.test_pretrained import folder  # noqa: F401  (a fixture)
from tests.training.samples import quick


def documents(path: Path, count: int = 12) -> Path:
    """Trees of paragraphs, whose class is whether one of them says d."""
    with open(path, "w") as file:
        for i in range(count):
            texts = [{"text": "d d a" if i % 2 else "e e"}, {"text": "a"}, {"size": 3}]
            json.dump({"tree": {"text": "ab ab", "children": texts}, "target": i % 2}, file)
            file.write("\n")
    return path


def text_settings(path: Path, folder: Path, **data: Any) -> Settings:
    kinds = {"features": {"text": "text"}, "tree_path": "tree", "pretrained": str(folder)}
    files = {"train": str(path), "valid": str(path), "min_freq": 1, **kinds, **data}
    return quick("classify", files, epochs=10, lr=0.01)


def test_texts_have_vectors_that_a_model_learns_from(
    folder: Path,
    tmp_path: Path,
) -> None:
    path = documents(tmp_path / "documents.jsonl")
    result = train(text_settings(path, folder), tmp_path / "run")
    assert result["valid"]["accuracy"] == 1.0
    assert result["baselines"]["linear"]["valid"]["accuracy"] == 1.0  # from the texts too
    run = load(tmp_path / "run")
    assert run.vocabularies.inputs[0] == Column("text", "text", 8)
    assert "text" not in run.vocabularies
    data = run.read([path])
    expected = PretrainedEncoder(folder).texts(["ab ab", "e e", "a"])
    read = data.forest.columns["text"][:4]
    np.testing.assert_allclose(read, [*expected, np.zeros(8)], rtol=1e-4, atol=1e-6)
    new = Forest.from_objects([{"text": "a d"}] * 3, columns=["text"])
    assert len(list(run.predict(new[:1]))) == 1  # one tree of 13 may lack the column by chance
    with pytest.warns(UserWarning, match="the trees have no value of size"):
        assert len(list(run.predict(new))) == 3
    explained = run.explain([path])
    added = explained.columns[:, explained.column_names.index("text")]
    assert np.isfinite(added).all()
    assert added[1] != 0.0
    np.testing.assert_allclose(
        explained.columns.sum(), explained.prediction - explained.baseline, atol=1e-3
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"features": {"text": "category"}}, "kind text with data.pretrained, got text: category"),
        ({"pretrained": "none"}, "expected data.pretrained to name a file"),
    ],
)
def test_texts_that_do_not_fit(
    folder: Path,
    tmp_path: Path,
    data: dict[str, Any],
    message: str,
) -> None:
    path = documents(tmp_path / "documents.jsonl")
    with pytest.raises(ConfigError, match=message):
        train(text_settings(path, folder, **data), tmp_path / "run")


@pytest.fixture
def encoder(folder: Path, tmp_path: Path) -> Path:
    """A copy of the encoder's folder, which a test may change."""
    return Path(shutil.copytree(folder, tmp_path / "encoder"))


def test_an_encoder_is_kept_with_the_run(encoder: Path, tmp_path: Path) -> None:
    path = documents(tmp_path / "documents.jsonl")
    assert_kept_with_the_run(text_settings(path, encoder), path, encoder, tmp_path)


def assert_kept_with_the_run(
    settings: Settings, source: Path, encoder: Path, tmp_path: Path
) -> None:
    train(settings, tmp_path / "run")
    kept = [*load(tmp_path / "run").predict([source])]
    shutil.rmtree(encoder)
    assert [*load(tmp_path / "run").predict([source])] == kept
    with pytest.raises(ConfigError, match="expected data.pretrained to name a file"):
        train(settings, tmp_path / "run")
    shutil.copytree(tmp_path / "run" / "pretrained", encoder)
    train(settings, tmp_path / "run")
    other = load_file(encoder / "model.safetensors")
    save_file({name: each + 1 for name, each in other.items()}, encoder / "model.safetensors")
    with pytest.raises(ConfigError, match=r"data.pretrained\) has changed since the run"):
        train(settings, tmp_path / "run")
    (tmp_path / "run" / "pretrained" / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="pretrained.config.json is damaged: it has changed"):
        load(tmp_path / "run")


def test_an_encoder_is_kept_with_an_estimator(encoder: Path, tmp_path: Path) -> None:
    trees = Forest.from_objects(
        [{"text": f"{word} a", "children": [{"text": "b"}]} for word in "de" * 6], columns=["text"]
    )
    named = {"data.pretrained": str(encoder)}
    model = TreeClassifier(features={"text": "text"}, epochs=2, settings=named)
    model.fit(trees, ["d", "e"] * 6).save(tmp_path / "saved")
    shutil.rmtree(encoder)
    again = TreeClassifier.load(tmp_path / "saved")
    assert again.predict_proba(trees).tolist() == model.predict_proba(trees).tolist()

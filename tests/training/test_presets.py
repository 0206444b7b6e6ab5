from __future__ import annotations

import json
import math

import pytest

from dgltrees.training.catalog import load_preset, preset_names
from dgltrees.training.run import train
from tests.training.samples import quick, with_model

NAMES = preset_names()
LANGUAGE_MODELS = [name for name in NAMES if name.startswith("tree-lm")]
STREAMS = [name for name in NAMES if load_preset(name).task == "ptb"]
PLAIN = [name for name in NAMES if load_preset(name).task in ("snli", "wikiqa", "sst-phrases")]
SENTENCES = {"train": "ud/sample.conllu", "valid": "ud/sample.conllu", "vectors": None}


@pytest.mark.parametrize(
    "name",
    [n for n in NAMES if n not in (*LANGUAGE_MODELS, *STREAMS, *PLAIN, "parser", "tree-shape")],
)
def test_every_preset_trains_on_a_sample(tmp_path, name):
    result = train(quick(name, batch_size=20), tmp_path / "run")
    line = json.loads((tmp_path / "run" / "metrics.jsonl").read_text())
    assert math.isfinite(line["train_loss"])
    assert 0 <= result["valid"]["accuracy"] <= 1
    assert 0 <= result["valid"]["majority"] <= 1


def test_the_parser_trains_on_a_sample(tmp_path):
    result = train(quick("parser", SENTENCES), tmp_path / "run")
    assert 0 <= result["valid"]["las"] <= result["valid"]["uas"] <= 1


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_every_language_model_trains_on_a_sample(tmp_path, name):
    result = train(quick(name, SENTENCES), tmp_path / "run")
    assert 1 < result["valid"]["perplexity"] < 1000


@pytest.mark.parametrize("name", STREAMS)
def test_every_model_of_running_text_trains_on_a_sample(tmp_path, name):
    result = train(quick(name, batch_size=10, window=7), tmp_path / "run")
    assert 1 < result["valid"]["perplexity"] < 1000


@pytest.mark.filterwarnings("ignore:.*no vectors for")
@pytest.mark.parametrize("name", PLAIN)
def test_every_model_of_plain_sentences_trains_on_a_sample(tmp_path, name):
    """With small layers, and with vectors of a few words where the preset reads some."""
    words = "".join(f"{word} {i} 1 1 1\n" for i, word in enumerate(("the", "A", "is", "good")))
    (tmp_path / "vectors.txt").write_text(words, encoding="utf-8")
    path = load_preset(name).data.vectors and str(tmp_path / "vectors.txt")
    settings = quick(name, {"vectors": path}, batch_size=20)
    small = with_model(settings, hidden_size=4, embedding=4, head=[8])
    result = train(small, tmp_path / "run")
    line = json.loads((tmp_path / "run" / "metrics.jsonl").read_text())
    assert math.isfinite(line["train_loss"])
    measure = "map" if small.task == "wikiqa" else "accuracy"
    assert 0 <= result["valid"][measure] <= 1

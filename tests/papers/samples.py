"""Settings that make runs of the papers' presets short."""

from pathlib import Path
from typing import Any

from dgltrees.settings.catalog import load_preset
from dgltrees.settings.layers import Settings
from tests.training.samples import quick, with_model

SENTENCES = {"train": "ud/sample.conllu", "valid": "ud/sample.conllu"}


def small(preset: str, folder: Path) -> Settings:
    """A preset on a sample; with vectors of a few words where it reads some."""
    settings = load_preset(preset)
    name = settings.task.name
    data: dict[str, Any] = SENTENCES if name in ("tree-lm", "parser") else {}
    training: dict[str, Any] = {} if data else {"batch_size": 20}
    vectors = settings.sections["data"].get("vectors")
    if vectors and name != "tree-lm":  # whose model keeps its size
        words = "".join(f"{word} {i} 1 1 1\n" for i, word in enumerate(("the", "A", "is", "good")))
        (folder / "vectors.txt").write_text(words, encoding="utf-8")
        data = {"vectors": str(folder / "vectors.txt")}
    if name == "ptb":
        data, training = {"window": 7}, {"batch_size": 10}
    small = quick(preset, data, **training)
    if name in ("nli", "wikiqa", "sst-phrases"):
        small = with_model(small, hidden_size=4, embedding=4, head_hidden_sizes=[8])
    return small

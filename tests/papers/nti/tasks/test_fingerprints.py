from __future__ import annotations

from pathlib import Path

from dgltrees.settings.layers import Settings
from dgltrees.training.rundir import fingerprints


def test_a_fingerprint_has_the_sentences_beside_the_labels(tmp_path: Path) -> None:
    for name in ("labels", "s1", "s2"):
        (tmp_path / f"{name}.dev").write_text("a\n")
    settings = Settings({"task": "snli", "data": {"train": str(tmp_path / "labels.dev")}})
    (before,) = fingerprints(settings)["train"]
    (tmp_path / "s2.dev").write_text("b\n")
    (after,) = fingerprints(settings)["train"]
    assert before["bytes"] == after["bytes"] == 6
    assert before["sha256"] != after["sha256"]
    assert before["name"] == "labels.dev"

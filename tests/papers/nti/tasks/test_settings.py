"""The examples that settings name."""

from pathlib import Path

import pytest

from dgltrees.settings.layers import Settings
from dgltrees.settings.tasks import get_task
from dgltrees.tasks.splits import load_splits
from dgltrees.training.rundir import fingerprints
from tests.tasks.test_splits import assert_groups_stay_together


@pytest.mark.parametrize("limit", [None, 7])
def test_the_sentences_of_a_question_stay_together(tmp_path: Path, limit: int | None) -> None:
    lines = [f"why {q} ?\tsentence {i}\t{int(i == 0)}" for q in range(8) for i in range(1 + q % 3)]
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")
    task = get_task("wikiqa")
    fractions = {"valid_fraction": 0.2, "test_fraction": 0.2}
    settings = task.data(train=str(tmp_path / "pairs.txt"), **fractions, max_train_examples=limit)
    assert_groups_stay_together(task, load_splits(task, settings), len(lines), limit)


def test_a_fingerprint_has_the_sentences_beside_the_labels(tmp_path: Path) -> None:
    for name in ("labels", "s1", "s2"):
        (tmp_path / f"{name}.dev").write_text("a\n")
    settings = Settings({"task": "nli", "data": {"train": str(tmp_path / "labels.dev")}})
    (before,) = fingerprints(settings)["train"]
    (tmp_path / "s2.dev").write_text("b\n")
    (after,) = fingerprints(settings)["train"]
    assert before["bytes"] == after["bytes"] == 6
    assert before["sha256"] != after["sha256"]
    assert before["name"] == "labels.dev"

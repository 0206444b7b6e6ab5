"""The examples that settings name."""

from pathlib import Path

import pytest

from dgltrees.settings.tasks import get_task
from dgltrees.tasks.splits import load_splits
from tests.tasks.test_splits import assert_groups_stay_together


@pytest.mark.parametrize("limit", [None, 7])
def test_the_sentences_of_a_question_stay_together(tmp_path: Path, limit: int | None) -> None:
    lines = [f"why {q} ?\tsentence {i}\t{int(i == 0)}" for q in range(8) for i in range(1 + q % 3)]
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")
    task = get_task("wikiqa")
    fractions = {"valid_fraction": 0.2, "test_fraction": 0.2}
    settings = task.data(train=str(tmp_path / "pairs.txt"), **fractions, max_train_examples=limit)
    assert_groups_stay_together(task, load_splits(task, settings), len(lines), limit)

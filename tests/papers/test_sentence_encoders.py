"""Sentences of the paper nti under the encoder of the paper rrnet."""

from pathlib import Path

import pytest

from dgltrees.errors import ConfigError, TreeError
from dgltrees.training.run import train

pytest.importorskip("dgltrees.papers.nti", reason="needs the paper nti")
pytest.importorskip("dgltrees.papers.rrnet", reason="needs the paper rrnet")

from tests.papers.rrnet.tasks.test_symbols import built, settings
from tests.papers.rrnet.test_analyses import assert_compared


def test_gold_operations_must_be_in_the_data(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="operations of every token; this model needs sente"):
        train(settings("nli"), tmp_path / "run", bar=False)


def test_fixed_operations_are_of_words_in_a_table() -> None:
    with pytest.raises(ConfigError, match="model.words table with random operations"):
        built(settings("nli", {"operations": "random"}, model={"words": "pretrained"}))


def test_trees_over_the_words_of_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_compared(tmp_path, capsys, "sick-rrnet-supervised", "sick/SICK_trial_parsed.txt", True)

"""Pretrained encoders of words that are trained with the model that reads them."""

# ruff: noqa: F811  (fixtures)

from pathlib import Path
from typing import Any

import pytest

from dgltrees import ConfigError, load
from dgltrees.settings.layers import Settings, layered
from dgltrees.tasks.splits import load_splits
from dgltrees.training.run import prepare, train
from tests.models.test_fine_tuned import folder  # noqa: F401  (a fixture)
from tests.papers.nti.tasks.test_pretrained import TREES, tree_settings
from tests.tasks.test_fine_tuning import (
    TUNED,
    assert_begins_as_computed_once,
    assert_holds_what_it_needs,
    assert_kept_with_the_run,
    encoder,  # noqa: F401  (a fixture)
)
from tests.training.samples import quick


@pytest.fixture
def sst(tmp_path: Path) -> Path:
    path = tmp_path / "trees.txt"
    path.write_text(TREES * 3)
    return path


def words(sst: Path, encoder: Path, **changes: Any) -> Settings:
    return Settings(layered(tree_settings(sst, encoder, **TUNED).to_dict(), changes))


def test_a_run_holds_what_it_needs_and_goes_on_where_it_ended(
    sst: Path, encoder: Path, tmp_path: Path
) -> None:
    assert_holds_what_it_needs(words(sst, encoder), sst, encoder, tmp_path)


def test_vectors_begin_as_those_that_are_computed_once(sst: Path, encoder: Path) -> None:
    assert_begins_as_computed_once(words(sst, encoder))


def test_a_frozen_encoder_is_kept_with_the_run(sst: Path, encoder: Path, tmp_path: Path) -> None:
    assert_kept_with_the_run(tree_settings(sst, encoder), sst, encoder, tmp_path)


def test_files_whose_words_have_other_numbers_of_sub_words(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("(3 (2 a) (4 (2 a) (2 d)))\n")
    (tmp_path / "two.txt").write_text("(1 (1 abcbc) (2 d))\n")
    settings = words(tmp_path / "one.txt", encoder)
    both = [str(tmp_path / name) for name in ("one.txt", "two.txt")]
    data = load_splits(settings.task, settings.replace("data", train=both, valid=both).data).train
    assert data.forest.columns["subword"].tolist()[-2:] == [[4, 5, 6, 5, 6], [7, -1, -1, -1, -1]]


def pairs(folder: Path, encoder: Path) -> tuple[Path, Settings]:
    """A file of pairs of sentences, and settings that learn from it."""
    path = folder / "pairs.txt"
    path.write_text("entailment\t( a ( Abc d ) )\t( a d )\nneutral\t( e d )\t( ( a b ) e )\n" * 2)
    files = {
        "train": str(path),
        "valid": str(path),
        "pretrained": str(encoder),
        "min_freq": 1,
        "vectors": None,
    }
    sizes = {"words": "pretrained", "embedding": 8, "hidden_size": 8, "head_hidden_sizes": [5]}
    layer = {"data": {"fine_tune": True}, "model": sizes}
    settings = Settings(layered(quick("snli", files).to_dict(), layer))
    return path, settings


def test_sentences(encoder: Path, tmp_path: Path) -> None:
    path, settings = pairs(tmp_path, encoder)
    train(settings, tmp_path / "run")
    assert len([*load(tmp_path / "run").predict([path])]) == 4


def test_settings_that_do_not_fit(sst: Path, encoder: Path) -> None:
    with pytest.raises(ConfigError, match="expected model.embedding 8.*got 7"):
        prepare(words(sst, encoder, model={"embedding": 7}))

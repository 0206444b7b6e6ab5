"""Sentences of the paper nti as operations of the paper rrnet."""

from pathlib import Path

import pytest

from dgltrees.errors import TreeError
from dgltrees.formats import read

pytest.importorskip("dgltrees.papers.nti", reason="needs the paper nti")
pytest.importorskip("dgltrees.papers.rrnet", reason="needs the paper rrnet")

from dgltrees.papers.nti.tasks.sst import SST_PHRASES
from tests.papers.rrnet.test_word_operations import written


def test_the_parses_of_pairs_are_columns(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("NEUTRAL\t( ( a b ) ( ( c ) d ) )\t( a )\nNEUTRAL\ta b\t( b ( a a ) )\n")
    forest = read(path, "entailment").forest
    counts = forest.columns["merges"], forest.columns["splits"]
    assert written(counts, forest.sizes.tolist()) == ["((ww)(ww))", "w", "ww", "(w(ww))"]
    path.write_text("NEUTRAL\ta\tb\nNEUTRAL\ta\t) b (\n")
    with pytest.raises(TreeError, match=r"pairs\.txt:2: expected a '\(' before every '\)'"):
        read(path, "entailment")


def test_phrases_have_the_operations_of_their_own_tree(tmp_path: Path) -> None:
    path = tmp_path / "sst.txt"
    path.write_text("(2 (2 (2 (2 a) (2 b)) (2 c)) (2 (2 d) (2 e)))\n(3 f)\n")
    forest = SST_PHRASES.read(path, SST_PHRASES.data()).forest
    found = written((forest.columns["merges"], forest.columns["splits"]), forest.sizes.tolist())
    assert found == ["(((ww)w)(ww))", "((ww)w)", "(ww)", "w", "w", "w", "(ww)", "w", "w", "w"]

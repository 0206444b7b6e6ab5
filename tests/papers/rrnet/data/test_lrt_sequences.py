import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from dgltrees import LabeledTrees, TreeError, read
from dgltrees.formats.lines import gather
from dgltrees.formats.lrt import LRT_OPERATORS
from dgltrees.papers.rrnet.data.lrt_sequences import LRT_TOKENS, stream_lrt_sequences
from dgltrees.papers.rrnet.graphs import match_splits
from tests.formats.lrt_pairs import BAD_LINES, PAIRS, Pair, lines, text_of
from tests.formats.table import SAMPLES
from tests.trees.nested import assert_same, write


@pytest.mark.parametrize("trees", [1, 2, 50])
def test_chunks_of_sequences_equal_the_whole(tmp_path: Path, trees: int) -> None:
    path = write(tmp_path, SAMPLES["lrt"].text)
    chunks = list(stream_lrt_sequences(path, trees=trees))
    assert_same(LabeledTrees.concat(chunks), gather(stream_lrt_sequences(path)))


def sequences(examples: LabeledTrees) -> Iterator[tuple[str, str]]:
    """The tokens of each sentence, and the first letters of their operations."""
    forest = examples.forest
    for start, stop in zip(forest.offsets, forest.offsets[1:]):
        tokens = forest.vocabs["word"].decode(forest.columns["word"][start:stop])
        names = forest.vocabs["op"].decode(forest.columns["op"][start:stop])
        yield " ".join(tokens), "".join(name[0] for name in names)


@given(pairs=PAIRS)
def test_sequences_are_the_tokens_of_the_lines(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]
) -> None:
    path = write(tmp_path_factory.mktemp("d"), lines(pairs))
    examples, trees = gather(stream_lrt_sequences(path)), read(path, "lrt")
    texts = [text_of(tree) for _, left, right in pairs for tree in (left, right)]
    for text, (tokens, operations) in zip(texts, sequences(examples)):
        assert tokens == text
        assert operations == "".join({"(": "S", ")": "M"}.get(t, "R") for t in text.split())
    assert len(texts) == len(examples.forest)
    match_splits(examples.forest.columns["op"], examples.forest.sizes, complete=True)
    for column in ("target", "operators"):
        np.testing.assert_array_equal(examples.columns[column], trees.columns[column])
    assert (examples.arity, examples.targets) == (2, trees.targets)


def test_the_spaces_of_a_line_do_not_matter(tmp_path: Path) -> None:
    path = write(tmp_path, "\n <\t(not(a(and b)))  c\r\n\n=\tb\tb\n")
    examples = gather(stream_lrt_sequences(path))
    assert list(sequences(examples)) == [
        ("( not ( a ( and b ) ) )", "SRSRSRRMMM"),
        ("c", "R"),
        ("b", "R"),
        ("b", "R"),
    ]
    assert set(LRT_TOKENS) == set("abcdef()") | set(LRT_OPERATORS)


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, f"=\ta\ta\n{line}\n")
    with pytest.raises(TreeError, match=re.escape(message)) as caught:
        gather(stream_lrt_sequences(path))
    assert str(caught.value).startswith(f"{path}:2: ")

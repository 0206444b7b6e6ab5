"""What holds of every format in the table."""

import gzip
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dgltrees import ConfigError, Forest, LabeledTrees, TreeError, Vocabulary
from dgltrees.formats import FORMATS, RecordLayout, guess_format, read
from dgltrees.formats.lines import gather
from dgltrees.formats.records import numbered
from dgltrees.trees.builders import from_brackets, from_heads, from_xml
from tests.formats.table import CHAINS, GO, MANY, SAMPLES, STARS
from tests.trees.nested import assert_same, names_of, write

DOCUMENTS = ("json", "xml", "python")  # one tree per file


NO_TEXT = ("arrow", "forest", "folder", "python-functions")


def test_the_samples_are_of_all_formats_of_text() -> None:
    """Those that are missing want a row in tests/formats/table.py."""
    assert {*FORMATS} - {*SAMPLES, *NO_TEXT} == set()
    assert {*SAMPLES, *CHAINS, *STARS} - {*FORMATS} == set()


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_describes_itself_in_a_sentence(name: str) -> None:
    assert FORMATS[name].description.endswith(".")
    assert FORMATS[name].description.isprintable()


@pytest.mark.parametrize("name", SAMPLES)
def test_chunks_equal_the_whole(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, SAMPLES[name].text)
    whole = FORMATS[name].read(path)
    assert len(whole) == SAMPLES[name].examples
    for trees in (1, 2, 100):
        chunks = list(FORMATS[name].chunks(path, trees))
        assert max(map(len, chunks)) <= max(trees, 2)  # a question of WikiQA has two answers
        assert_same(numbered(gather(chunks)) if FORMATS[name].numbers else gather(chunks), whole)
    assert len(FORMATS[name].read([path, path])) == 2 * len(whole)


@pytest.mark.parametrize("name", [name for name in SAMPLES if FORMATS[name].write])
def test_a_written_file_is_read_back(tmp_path: Path, name: str) -> None:
    form = FORMATS[name]
    examples = form.read(write(tmp_path, SAMPLES[name].text))
    assert form.write is not None
    form.write(examples, tmp_path / "again")
    assert_same(form.read(tmp_path / "again"), examples)


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in DOCUMENTS])
@pytest.mark.parametrize("text", ["", "\n \n\r\n"])
def test_an_empty_file_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(TreeError) as caught:
        FORMATS[name].read(path)
    assert re.match(rf"{re.escape(str(path))}:[12]: ", str(caught.value))
    assert ", got an empty " in str(caught.value)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_ends_in_an_error_with_its_line(tmp_path: Path, name: str) -> None:
    sample = SAMPLES[name]
    path = write(tmp_path, sample.text.encode() + sample.damage)
    with pytest.raises(TreeError) as caught:
        FORMATS[name].read(path)
    assert str(caught.value).startswith(f"{path}:{sample.text.count(chr(10)) + 1}: ")
    assert sample.error in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", SAMPLES)
def test_bytes_that_are_no_text_are_an_error(tmp_path: Path, name: str) -> None:
    text = SAMPLES[name].text
    path = write(tmp_path, text.encode() + b"caf\xe9\n")
    with pytest.raises(TreeError) as caught:
        FORMATS[name].read(path)
    assert str(caught.value).startswith(f"{path}:{text.count(chr(10)) + 1}: ")
    assert re.search("(?i)utf-8|well-formed XML", str(caught.value))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        FORMATS[name].read(tmp_path / "none")


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in DOCUMENTS])
def test_chunks_of_no_trees(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, SAMPLES[name].text)
    with pytest.raises(ConfigError, match="expected chunks of at least one tree, got trees=0"):
        FORMATS[name].read(path, trees=0)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_format_is_guessed(tmp_path: Path, name: str) -> None:
    form, text = FORMATS[name], "\n" + SAMPLES[name].text
    for suffix in form.suffixes:
        (tmp_path / f"file{suffix}").write_text(SAMPLES[name].text)
        assert guess_format(tmp_path / f"file{suffix}") == name
    if form.first_line is not None:
        assert guess_format(write(tmp_path, text)) == name


@pytest.mark.parametrize(
    "text",
    [
        *(
            "#",
            "# a",
            "1",
            "1\t",
            "(",
            "((a ",
            "[",
            "[ ",
            "{",
            "[{ ",
            "{}",
            "0\t",
            "10\t",
            "1:1(",
            "-",
        ),
        *(" ", "a = ", "QUERY PLAN", "<a ", "(0 (", "v\ta", ">\t", "| ", "* a", "-[ a ", "-[ 1"),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "x", '"', "=", " = "])
def test_a_long_line_is_guessed_like_a_short_one(tmp_path: Path, text: str, end: str) -> None:
    """What takes more than linear time does not end here."""

    def guess(line: str) -> str:
        try:
            return guess_format(write(tmp_path, line))
        except TreeError as error:
            return str(error)[:80]

    for unit in (text, text[-1]):
        assert guess(text + unit * 200_000 + end) == guess(text + unit * 50 + end)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".json", "[ +\n" + " " * 200_000 + "x"),
        (".json", "-[ RECORD 1 ]-\n-[ a" + " 1 " * 100_000 + "x"),
        (".json", "QUERY PLAN\n" + "a." * 100_000 + "x\n" + "| " * 100_000 + "x"),
        (".json", "QUERY PLAN" + "\n" * 200_000 + "x"),
        (".json", '["' + '\\"' * 200_000),
        (".json", '["' + '\\"' * 200_000 + '", NaN, "' + '\\"' * 100_000 + '"]'),
        (".jsonl", '{"a": "' + '\\"' * 200_000),
        (".xml", "<a " + "b " * 100_000),
        (".conllu", "# a" + "b" * 200_000),
        (".csv", "tree,node,parent\n" + "0" * 200_000),
    ],
)
def test_a_long_line_that_is_refused(tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text(text)
    with pytest.raises(TreeError) as caught:
        read(path)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize("name", [name for name in SAMPLES if FORMATS[name].first_line])
def test_standard_input_is_guessed_and_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, packed: Callable[[bytes], bytes]
) -> None:
    text = SAMPLES[name].text

    def receive(data: bytes) -> None:
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(packed(data))))  # type: ignore[arg-type]
        monkeypatch.setattr(sys, "stdin", stream)

    receive(text.encode())
    assert guess_format("-") == name
    assert_same(FORMATS[name].read("-"), FORMATS[name].read(write(tmp_path, text)))
    receive(b"")
    with pytest.raises(TreeError, match="-:1: expected at least one tree, got an empty file"):
        guess_format("-")


def test_read_guesses_the_format_and_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    path = write(tmp_path, SAMPLES["mrg"].text)
    assert_same(read(path), FORMATS["mrg"].read(path))
    with pytest.raises(ConfigError, match="got 'csv'; leave it out, since the format of .csv"):
        read(path, "csv")
    with pytest.raises(ConfigError, match="expected format to be one of jsonl, .*, got 'penn'"):
        read(path, "penn")
    with pytest.raises(ConfigError, match=r"got 'conlu'; did you mean conllu\?"):
        read(path, "conlu")
    with pytest.raises(ConfigError, match=r"expected options of this format \(vocabs\), got lower"):
        read(path, lower=True)
    with pytest.raises(ConfigError, match="a layout with fields of this format .*, got tree"):
        read(path, layout=RecordLayout(tree_path="a"))
    with pytest.raises(ConfigError, match="expected the path of a file, .*, got None; write"):
        read(None)  # type: ignore[arg-type]
    for missing, cure in (("none.mrg", "none.mrg$"), ("*.none", "; read takes no patterns")):
        with pytest.raises(ConfigError, match=f"to name a file, found none at .*{cure}"):
            read(tmp_path / missing)


SECOND = {  # files with other names than the samples have
    "jsonl": '{"size": 1, "op": "new", "more": 2, "children": [{"op": "y"}]}\n',
    "mrg": "(S (JJ new) (NN rain))\n",
    "conllu": f"{GO}\n1\tnew\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n",
    "xml": "<a><new>text</new></a>",
    "nodes": "tree,id,parent,op\na,1,,add\na,2,1,new\n",
    "json": '{"new": 1}',
}


@pytest.mark.parametrize("name", SECOND)
def test_a_second_file_has_the_vocabularies_of_the_first(tmp_path: Path, name: str) -> None:
    (tmp_path / "b").mkdir()
    train = read(write(tmp_path, SAMPLES[name].text), name)
    known = {column: list(vocab.names) for column, vocab in train.forest.vocabs.items()}
    dev = read(write(tmp_path / "b", SECOND[name]), name, like=train)
    assert list(dev.forest.columns) == list(train.forest.columns)
    for column, names in known.items():
        assert dev.forest.vocabs[column] is train.forest.vocabs[column]
        assert train.forest.vocabs[column].names[: len(names)] == names
        assert train.forest.vocabs[column].frozen
    used = [each for column in known for each in names_of(dev.forest, column)]
    assert "<unk>" in used
    assert "new" not in used
    assert len(LabeledTrees.concat([train, dev])) == len(train) + len(dev)
    again = read(write(tmp_path / "b", SECOND[name]), name, like=train.forest)
    for column, ids in again.forest.columns.items():
        np.testing.assert_array_equal(ids, dev.forest.columns[column])


def test_a_second_file_is_read_as_the_first(tmp_path: Path) -> None:
    """With its key of the children, its kinds of columns, its classes and its options."""
    (tmp_path / "a.jsonl").write_text(
        '{"plan": {"op": "07", "rows": 1, "kids": [{"op": "x"}]}, "ms": 1, "id": "a"}\n'
    )
    (tmp_path / "b.jsonl").write_text('{"plan": {"op": "07", "inputs": [{}, {}], "kids": []}}\n')
    train = read(tmp_path / "a.jsonl", children_key="kids", tree_path="plan")
    dev = read(tmp_path / "b.jsonl", like=train)
    assert (dev.forest.sizes.tolist(), names_of(dev.forest, "op")) == ([1], ["07"])
    assert {*dev.columns} == {*train.columns}
    assert np.isnan(dev.columns["ms"]).all()
    (tmp_path / "a.conllu").write_text(GO)
    lower = read(tmp_path / "a.conllu", lower=True)
    assert names_of(read(tmp_path / "a.conllu", like=lower).forest, "word") == ["<root>", "go"]
    assert names_of(read(tmp_path / "a.conllu", like=lower, lower=False).forest, "word")[1] == (
        "<unk>"
    )
    (tmp_path / "c.jsonl").write_text('{"plan": {"rows": "many", "op": 7, "kids": []}}\n')
    with pytest.raises(TreeError, match="'rows' to hold numbers, as in like, got names in .*c.js"):
        read(tmp_path / "c.jsonl", like=train)
    vocabs = {"word": lower.forest.vocabs["word"]}
    with pytest.raises(ConfigError, match="expected vocabs or like, got both; leave one"):
        read(tmp_path / "a.conllu", like=lower, vocabs=vocabs)
    with pytest.raises(ConfigError, match="expected min_freq to be 1 where a vocabulary"):
        read(tmp_path / "a.conllu", like=lower, min_freq=2)


def test_vocabularies_of_finished_trees_do_not_grow(tmp_path: Path) -> None:
    first = read(write(tmp_path, SAMPLES["mrg"].text), "mrg").forest
    path = write(tmp_path, SECOND["mrg"])
    with pytest.raises(TreeError, match=r"'new'|'JJ'.*, as read\(path, like=data\) does"):
        read(path, "mrg", vocabs=first.vocabs)
    other = read(path, "mrg").forest
    with pytest.raises(TreeError, match="with another vocabulary of label, word; read them with"):
        Forest.concat([first, other])
    growing = Vocabulary()  # that of a user grows
    for text in (SAMPLES["mrg"].text, SECOND["mrg"]):
        read(write(tmp_path, text), "mrg", vocabs={"word": growing})
    assert "new" in growing
    assert not growing.frozen
    for make in (
        lambda vocabs: from_brackets("(a b)" if vocabs is None else "(a new)", vocabs=vocabs),
        lambda vocabs: from_xml("<a/>" if vocabs is None else "<new/>", vocabs=vocabs),
        lambda vocabs: from_heads(["a" if vocabs is None else "new"], [0], vocabs=vocabs),
        lambda vocabs: Forest.from_objects(
            [{"op": "a" if vocabs is None else "new"}], columns=["op"], vocabs=vocabs
        ),
    ):
        with pytest.raises(TreeError, match="known names .*, got 'new'"):
            make(make(None).vocabs)


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_a_chain(tmp_path: Path, name: str) -> None:
    form = FORMATS[name]
    examples = form.read(write(tmp_path, CHAINS[name]))
    forest = examples.forest
    assert forest.sizes[-1] == MANY + 1
    np.testing.assert_array_equal(forest.parent[-MANY - 1 :], np.arange(-1, MANY))
    assert forest.pos.max() == 0
    if form.write is not None:
        form.write(examples, tmp_path / "again")
        assert (tmp_path / "again").read_text() == CHAINS[name]


@pytest.mark.parametrize("name", sorted(STARS))
def test_a_star(tmp_path: Path, name: str) -> None:
    forest = FORMATS[name].read(write(tmp_path, STARS[name])).forest
    assert forest.num_nodes == MANY + 1
    np.testing.assert_array_equal(forest.parent[1:], 0)
    np.testing.assert_array_equal(forest.pos[1:], np.arange(MANY))

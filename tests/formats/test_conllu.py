from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import ConfigError, Forest, TreeError, Vocabulary
from dgltrees.formats import FORMATS, read, write_conllu
from dgltrees.formats.conllu import conllu_sentences
from dgltrees.trees.words import frequent_words, recode
from tests.trees.dependencies import random_heads
from tests.trees.nested import assert_same, names_of, write

SLEEP = """\
# sent_id = one
# text = Du Chat dort
1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_
1\tDe\tde\tADP\tIN\t_\t3\tcase\t3:case\t_
2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_
3\tChat\tchat\tNOUN\tNN\tGender=Masc\t4\tnsubj:pass\t_\tSpaceAfter=No
3.1\tqui\tqui\tPRON\t_\t_\t_\t_\t4:nsubj\t_
4\tdort\tdormir\tVERB\tVB\t_\t0\troot\t_\t_

1\tChat\t_\tNOUN\tNN\t_\t0\troot\t_\t_
2\t!\t!\tPUNCT\t.\t_\t1\tpunct\t_\t_
"""


def line(number: object, word: str, head: object, label: str = "dep") -> str:
    return f"{number}\t{word}\t_\t_\t_\t_\t{head}\t{label}\t_\t_\n"


def test_a_file_by_hand(tmp_path: Path) -> None:
    examples = read(write(tmp_path, SLEEP), "conllu")
    forest = examples.forest
    assert not examples.columns
    assert forest.sizes.tolist() == [5, 3]
    assert forest.parent.tolist() == [-1, 3, 3, 4, 0, -1, 0, 1]
    assert forest.pos.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    root = "<root>"
    assert names_of(forest, "word") == [root, "De", "le", "Chat", "dort", root, "Chat", "!"]
    assert names_of(forest, "upos") == [None, "ADP", "DET", "NOUN", "VERB", None, "NOUN", "PUNCT"]
    assert names_of(forest, "xpos") == [None, "IN", None, "NN", "VB", None, "NN", "."]
    assert names_of(forest, "deprel")[:5] == [None, "case", "det", "nsubj:pass", "root"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_ends_of_lines_a_byte_order_mark_and_blank_lines(tmp_path: Path, end: str) -> None:
    text = f"\ufeff\n{SLEEP}\n\n\n".replace("\n", end)
    (tmp_path / "a").mkdir()
    assert_same(read(write(tmp_path / "a", text), "conllu"), read(write(tmp_path, SLEEP), "conllu"))


@pytest.mark.parametrize("trees", [1, 2, 50])
def test_chunks_never_hold_sentences_of_two_files(tmp_path: Path, trees: int) -> None:
    path = write(tmp_path, SLEEP)
    chunks = list(FORMATS["conllu"].chunks([path, path], trees=trees))
    assert len(chunks) == 2 * -(-2 // trees)
    assert_same(type(chunks[0]).concat(chunks), read([path, path], "conllu"))


def test_a_stream_reads_a_chunk_at_a_time(tmp_path: Path) -> None:
    chunks = FORMATS["conllu"].chunks(write(tmp_path, f"{SLEEP}\nbad"), trees=1)
    assert [len(next(chunks)), len(next(chunks))] == [1, 1]
    with pytest.raises(TreeError, match=r":13: "):
        next(chunks)


def test_words_in_lower_case(tmp_path: Path) -> None:
    forest = read(write(tmp_path, SLEEP), "conllu", lower=True).forest
    assert names_of(forest, "word")[1:5] == ["de", "le", "chat", "dort"]
    assert names_of(forest, "upos")[1] == "ADP"


def test_rare_words_become_unknown(tmp_path: Path) -> None:
    path = write(tmp_path, SLEEP)
    train = read(path, "conllu", min_freq=2).forest
    assert train.vocabs["word"].names == ["<root>", "Chat", "<unk>"]
    unk = "<unk>"
    assert names_of(train, "word") == ["<root>", unk, unk, "Chat", unk, "<root>", "Chat", unk]
    dev = read(path, "conllu", vocabs=train.vocabs).forest
    np.testing.assert_array_equal(dev.columns["word"], train.columns["word"])
    for wrong, vocabs in ((2, train.vocabs), (0, None)):
        with pytest.raises(ConfigError, match=f"expected min_freq to be 1 where .* got {wrong}"):
            read(path, "conllu", vocabs=vocabs, min_freq=wrong)


def test_root_stays_a_word_however_rare(tmp_path: Path) -> None:
    words = read(write(tmp_path, SLEEP), "conllu", min_freq=9).forest.vocabs["word"]
    assert words.names == ["<root>", "<unk>"]


def test_words_are_counted_over_a_stream(tmp_path: Path) -> None:
    path = write(tmp_path, SLEEP)
    stream = (chunk.forest for chunk in FORMATS["conllu"].chunks(path, trees=1))
    assert frequent_words(stream, 2) == read(path, "conllu", min_freq=2).forest.vocabs["word"]
    forest = read(path, "conllu").forest
    with pytest.raises(TreeError, match="expected forests that share a vocabulary 'word'"):
        frequent_words([forest.tree(1), read(path, "conllu", lower=True).forest], 2)
    with pytest.raises(TreeError, match="expected at least one forest, got none"):
        frequent_words([], 2)
    with pytest.raises(TreeError, match="expected a vocabulary 'lemma', got "):
        recode(forest, {"lemma": Vocabulary()})
    with pytest.raises(TreeError, match="expected one of the 1 known names"):
        recode(forest, {"word": Vocabulary(["<root>"], frozen=True)})


def test_long_sentences_are_left_out_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, SLEEP)
    message = "data.txt: left out 1 of 2 sentences, which have more than 3 words"
    with pytest.warns(UserWarning, match=message):
        forest = read(path, "conllu", max_words=3).forest
    assert names_of(forest, "word") == ["<root>", "Chat", "!"]
    assert len(forest.vocabs["word"]) == 3
    assert len(read(path, "conllu", max_words=4)) == 2  # without a warning
    with (
        pytest.warns(UserWarning, match="left out 2 of 2"),
        pytest.raises(TreeError, match="expected a sentence of at most 1 words, got none"),
    ):
        read(path, "conllu", max_words=1)


def test_several_roots_where_they_are_allowed(tmp_path: Path) -> None:
    path = write(tmp_path, line(1, "a", 0) + line(2, "b", 1) + line(3, "c", 0))
    assert read(path, "conllu", single_root=False).forest.parent.tolist() == [-1, 0, 1, 0]


def test_conll_x(tmp_path: Path) -> None:
    text = (
        "1\tUm\tum\tart\tindef\t<arti>|M\t2\t>N\t_\t_\n2\tsonho\tsonho\tn\tn\tM|S\t0\tSTA\t0\tX\n"
    )
    forest = read(write(tmp_path, text), "conllu").forest
    assert names_of(forest, "upos") == [None, "art", "n"]
    assert names_of(forest, "xpos") == [None, "indef", "n"]


WIDE = "".join(
    f"{i}\t{word}\t_\t{upos}\t{upos[0]}\t_\t{head}\t{label}\t_\t_\t*\n"
    for i, word, upos, head, label in [(1, "Go", "VERB", 0, "root"), (2, "on", "ADP", 1, "prt")]
)


@pytest.mark.parametrize(
    "text",
    [
        f"# global.columns = ID FORM A UPOS XPOS B HEAD DEPREL DEPS MISC PARSEME:MWE\n{WIDE}",
        f"{WIDE}\n{WIDE}",  # without the names of the columns
        "# global.columns = ID FORM UPOS XPOS HEAD DEPREL NER\n# sent_id = 1\n"
        "1\tGo\tVERB\tV\t0\troot\t_\n1.1\t_\t_\t_\t_\t_\t_\n2\ton\tADP\tA\t1\tprt\tO\n",
        "# global.columns = HEAD DEPREL ID FORM XPOS UPOS\n0\troot\t1\tGo\tV\tVERB\n"
        "1\tprt\t2\ton\tA\tADP\n",
    ],
)
@pytest.mark.parametrize("suffix", [".cupt", ".conllup"])
def test_columns_of_conllu_plus(tmp_path: Path, text: str, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text(text)
    forest = read(path).forest[0]
    assert forest.parent.tolist() == [-1, 0, 1]
    for name, names in [
        ("word", ["<root>", "Go", "on"]),
        ("upos", [None, "VERB", "ADP"]),
        ("xpos", [None, "V", "A"]),
        ("deprel", [None, "root", "prt"]),
    ]:
        assert names_of(forest, name) == names
    (sentence, *_) = conllu_sentences(path)
    assert "global.columns" not in sentence.comments


def test_columns_that_are_not_those_of_the_comment(tmp_path: Path) -> None:
    for text, message in [
        (
            "# global.columns = ID FORM UPOS\n1\ta\tX\n",
            ":1: expected the columns ID, FORM and HEAD",
        ),
        (f"# global.columns = ID FORM HEAD\n{line(1, 'a', 0)}", ":2: expected 3 columns with tabs"),
        (WIDE + line(3, "a", 1), ":3: expected 11 columns with tabs between them, got 10"),
        (
            line(1, "a", 0) + WIDE[WIDE.index("2") :],
            ":2: expected ten columns with tabs .*, got 11",
        ),
    ]:
        with pytest.raises(TreeError, match=message):
            read(write(tmp_path, text), "conllu")
    path = write(tmp_path, "# global.columns = ID FORM UPOS\n1\ta\tX\n")
    assert [s.columns["xpos"] for s in conllu_sentences(path, heads=False)] == [[None]]


BAD: list[tuple[str | bytes, int, str]] = [
    ("Once upon a time\n", 1, "expected ten columns with tabs between them, got 1; is this a CoN"),
    (
        line(1, "a", 0) + "2\tb\t_\t1\tdep\n",
        2,
        "expected ten columns with tabs between them, got 5",
    ),
    (line(1, "a", 0) + line(2, "b", 3), 2, "expected a head from 0 to 2, the words of the sen"),
    (line(1, "a", 0) + line(2, "b", "_"), 2, "expected the number of a word, or 0 for the root"),
    (line(1, "a", -1), 1, "as a head, got '-1'"),
    (line(1, "a", "9" * 5000), 1, "as a head, got '999"),
    (line(1, "a", 0) + line(2, "b", 3) + line(3, "c", 2), 2, "got a cycle from this word"),
    (line(1, "a", 0) + line(2, "b", 2), 2, "got a cycle from this word"),
    (line(1, "a", 0) + line(2, "b", 1) + line(3, "c", 0), 3, "got a second of 2 roots; allow"),
    (line(1, "a", 2) + line(2, "b", 1), 1, "expected a word with the head 0 in the sentence, got"),
    ("# sent_id = 1\n\n" + line(1, "a", 0), 1, "expected a word in every sentence, got an empty"),
    (line("1-2", "ab", "_"), 1, "expected a word in every sentence, got an empty sentence"),
    (line(1, "a", "_"), 1, "as a head, got '_'; give the heads, as `dgltrees parse` does"),
    (line("x", "a", 0), 1, "expected the integer id 1, or one such as 3-4 or 8.1, got 'x'"),
    (line(1, "a", 0) + line(3, "b", 1), 2, "expected the integer id 2, or one such as 3-4 or 8.1"),
    (line(1, "a", 0) + line(1, "b", 0), 2, "got '1'; is a blank line missing above?"),
    (line(1, "a", 0).encode() + b"2\t\xe9\n", 2, "expected UTF-8 text, got the byte 0xe9"),
]


def test_only_columns_ids_and_heads_are_checked(tmp_path: Path) -> None:
    tokens = line("3-4", "x", "_") + line(1, "a  b", 0) + line("9.1", "y", "_") + line(2, "", 1)
    text = f"# text = z\n# text = c\n{tokens}# sent_id = s\n"
    path = write(tmp_path, text)
    (sentence,) = conllu_sentences(path)
    assert (sentence.words, sentence.heads, sentence.lines) == (["a  b", ""], [0, 1], [4, 6])
    assert sentence.comments == {"text": "c", "sent_id": "s"}
    forest = read(path, "conllu").forest
    write_conllu(forest, tmp_path / "again.conllu")
    assert_same(read(tmp_path / "again.conllu", "conllu"), read(path, "conllu"))


@pytest.mark.parametrize(("text", "number", "message"), BAD)
@pytest.mark.parametrize("trees", [1, 100])
def test_bad_lines(
    tmp_path: Path, text: str | bytes, number: int, message: str, trees: int
) -> None:
    good = SLEEP.encode() + b"\n"
    bad = text if isinstance(text, bytes) else text.encode()
    path = write(tmp_path, good + bad + b"\n" + good)
    with pytest.raises(TreeError) as caught:
        list(FORMATS["conllu"].chunks(path, trees=trees, single_root=True))
    assert str(caught.value).startswith(f"{path}:{number + good.count(10)}: ")
    assert message in str(caught.value)


def test_a_tag_that_a_frozen_vocabulary_lacks(tmp_path: Path) -> None:
    vocabs = {"upos": Vocabulary(["ADP", "DET", "NOUN"], frozen=True)}
    with pytest.raises(TreeError, match=r":8: expected one of the 3 known names .*, got 'VERB'"):
        read(write(tmp_path, SLEEP), "conllu", vocabs=vocabs)


WORDS = st.text(st.characters(codec="utf-8", categories=["L", "P", "S", "N"]), min_size=1)
TAGS = st.sampled_from(["NOUN", "nsubj:pass", "_", "."])


@given(
    seed=st.integers(0, 2**32 - 1),
    words=st.lists(st.tuples(WORDS, TAGS, TAGS, TAGS), min_size=1, max_size=12),
    trees=st.integers(1, 3),
)
def test_a_written_file_has_the_bytes_that_were_read(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    words: list[tuple[str, str, str, str]],
    trees: int,
) -> None:
    folder = tmp_path_factory.mktemp("d")
    rng = np.random.default_rng(seed)
    text = ""
    for _ in range(trees):
        heads = random_heads(rng, len(words), projective=False)
        for i, (head, (word, upos, xpos, label)) in enumerate(zip(heads, words), start=1):
            text += f"{i}\t{word}\t_\t{upos}\t{xpos}\t_\t{head}\t{label}\t_\t_\n"
        text += "\n"
    path = write(folder, text)
    examples = read(path, "conllu")
    write_conllu(examples.forest, folder / "again.conllu")
    assert (folder / "again.conllu").read_bytes() == path.read_bytes()


def test_comments_are_written(tmp_path: Path) -> None:
    forest = read(write(tmp_path, SLEEP), "conllu").forest.tree(1)
    write_conllu(forest, tmp_path / "a", comments=[{"sent_id": "x", "score": 0.0}])
    text = (tmp_path / "a").read_text(encoding="utf-8")
    assert text.startswith("# sent_id = x\n# score = 0.0\n1\tChat\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n")


def test_forests_that_cannot_be_written(tmp_path: Path) -> None:
    forest = read(write(tmp_path, SLEEP), "conllu").forest
    path = tmp_path / "a"
    bad = Vocabulary(["<root>", "a\x15b"])
    ids = np.array([0, 1])
    for wrong, message in [
        (Forest.build([1, -1], columns={"word": ids}), "tree 0: expected a dependency tree"),
        (Forest.build([-1, 0]), "expected a column 'word', got the columns"),
        (Forest.build([-1, 0], columns={"word": ids}), "expected a vocabulary 'word'"),
        (Forest.build([-1], columns={"word": [0]}), "tree 0: expected a word at each node"),
        (Forest.build([-1, 0], columns={"word": [0, -1]}), "tree 0: expected a word at each node"),
        (
            Forest.build([-1, 0], columns={"word": ids}, vocabs={"word": bad}),
            r"control characters in column 'word', got 'a\\x15b'",
        ),
    ]:
        with pytest.raises(TreeError, match=message):
            write_conllu(wrong, path)
    with pytest.raises(TreeError, match="expected comments for each of 2 trees, got 1"):
        write_conllu(forest, path, comments=[{}])
    with pytest.raises(TreeError, match="tree 1: expected comments of one line"):
        write_conllu(forest, path, comments=[{}, {"text": "a\n1\tb"}])
    assert not path.exists()

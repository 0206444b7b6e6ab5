"""From sentences to k-best lists."""

import re
from pathlib import Path

import numpy as np
import pytest

from dgltrees import ConfigError, TrainedModel, TreeError, read
from dgltrees.papers.top_down.analyses.parse import parse, parse_files, read_sentences
from dgltrees.papers.top_down.data.kbest import read_kbest
from dgltrees.papers.top_down.graphs import sentence_forest
from tests.papers.top_down.samples import is_projective
from tests.training.samples import SENTENCES
from tests.trees.nested import write

TEXT = "The gardener watered the ships .\nAda slept .\nstars\n"


def test_what_was_learned_by_heart(parser: TrainedModel, tmp_path: Path) -> None:
    counts = parse_files(parser, read_sentences(SENTENCES), tmp_path / "out.conllu")
    found, gold = read(tmp_path / "out.conllu", "conllu").forest, read(SENTENCES, "conllu").forest
    assert counts == {"sentences": 5, "words": 42, "trees": 5}
    words = gold.parent >= 0
    assert (found.parent == gold.parent)[words].mean() > 0.9
    for column in ("word", "upos", "xpos", "deprel"):
        names = [forest.vocabs[column].names for forest in (found, gold)]
        ids = [forest.columns[column] for forest in (found, gold)]
        same = [names[0][a] == names[1][b] for a, b in zip(*ids) if min(a, b) >= 0]
        assert np.mean(same) > 0.9


def test_lists(parser: TrainedModel, tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)
    stream, out = read_sentences(path), tmp_path / "out.conllu"
    parse_files(parser, stream, out, k=7, chunk=2)
    lists = read_kbest(tmp_path / "out.conllu")
    assert np.diff(lists.offsets).tolist() == [7, 7, 1]  # one word has one tree
    for first, stop in zip(lists.offsets[:-1], lists.offsets[1:]):
        assert (np.diff(lists.score[first:stop]) <= 1e-6).all()
        trees = lists.forest.select(np.arange(first, stop))
        assert len(np.unique(trees.parent.reshape(len(trees), -1), axis=0)) == len(trees)
    heads = (tuple(tree.parent.tolist()) for tree in lists.forest)
    assert all(map(is_projective, heads))


def test_a_sentence_is_parsed_alike_in_any_company(parser: TrainedModel) -> None:
    batch = list(read_sentences(SENTENCES))
    whole = parse(parser, sentence_forest(batch), 3)
    alone = parse(parser, sentence_forest(batch), 3, max_nodes=1)
    assert (whole.forest.parent == alone.forest.parent).all()
    assert (whole.forest.columns["deprel"] == alone.forest.columns["deprel"]).all()
    np.testing.assert_allclose(whole.score, alone.score, atol=1e-4)


def test_running_text(parser: TrainedModel, tmp_path: Path) -> None:
    path = write(tmp_path, "Ada slept\nnot. She counted the stars.\n\nSo it was.\n")
    stream = read_sentences(path, "text")
    with pytest.warns(UserWarning, match="left out 1 of 3 sentences, which have more than 4 words"):
        counts = parse_files(parser, stream, tmp_path / "out.conllu", max_words=4)
    assert counts["sentences"] == 2
    forest = read_kbest(tmp_path / "out.conllu").forest
    words = forest.vocabs["word"].decode(forest.columns["word"])
    assert " ".join(words) == "<root> Ada slept not . <root> So it was ."


def test_sentences_need_no_heads(parser: TrainedModel, tmp_path: Path) -> None:
    text = SENTENCES.read_text(encoding="utf-8")
    bare = write(tmp_path, re.sub(r"\t\d+\t[\w:]+\t_\t", "\t_\t_\t_\t", text))
    assert "nsubj" not in bare.read_text(encoding="utf-8")
    answers = list(parser.predict(SENTENCES))
    assert len(answers) == 5
    assert list(parser.predict(bare)) == answers
    lines = [" ".join(sentence.words) for sentence in read_sentences(bare, "conllu")]
    for number, answer in enumerate(answers, 1):
        answer["line"] = number
    assert parser.predict_texts(lines, file_format="lines") == answers
    (tmp_path / "a.txt").write_text("So it was.\n \nNo!\n")
    assert [(each["example"], each["line"]) for each in parser.predict(tmp_path / "a.txt")] == [
        (0, 1),
        (1, 3),
    ]
    for texts in (["So it was.", "", "No!"], ["So it\nwas."]):
        with pytest.raises(TreeError, match=f"expected {len(texts)} texts of one line .* 2 pred"):
            parser.predict_texts(texts)
    with pytest.raises(ConfigError, match="a list of texts, got the string 'No!'"):
        parser.predict_texts("No!")
    with pytest.raises(TreeError, match="as a head, got '_'"):
        parser.read(bare)


def test_errors(parser: TrainedModel, tree_lm: TrainedModel, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a parser at .* a run of the task tree-lm"):
        parse(tree_lm, sentence_forest(list(read_sentences(SENTENCES))))
    with pytest.raises(ConfigError, match="format to be conllu or lines or text, got 'pdf'"):
        read_sentences(SENTENCES, "pdf")
    with pytest.raises(ConfigError, match="--format text with --after, got the format conllu"):
        read_sentences(SENTENCES, after="*END*")
    broken = write(tmp_path, "1\ta\n")
    with pytest.raises(TreeError, match=":1: expected ten columns"):
        parse_files(parser, read_sentences(broken, "conllu"), tmp_path / "out.conllu")
    assert not (tmp_path / "out.conllu").exists()

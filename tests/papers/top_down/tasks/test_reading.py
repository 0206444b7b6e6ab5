"""The trees that language models learn from, of all formats, and the spelling of words."""

from pathlib import Path

import pytest

from dgltrees import ConfigError, Forest, TreeError, Vocabulary, load, read
from dgltrees.cli import main
from dgltrees.papers.top_down.analyses.scoring import log_probs
from dgltrees.papers.top_down.graphs import generation_forest
from dgltrees.papers.top_down.tasks.reading import with_spelling, word_ending, word_shape
from dgltrees.papers.top_down.tasks.tree_lm import TREE_LM
from dgltrees.training.run import train
from dgltrees.trees.builders import from_nested
from tests.papers.top_down.samples import tree_lm_settings
from tests.training.samples import SENTENCES


def test_words_are_read_as_the_settings_say() -> None:
    plain = TREE_LM.read(SENTENCES, TREE_LM.data(), None)
    lower = TREE_LM.read(SENTENCES, TREE_LM.data(lower=True), None)
    assert plain.forest.num_nodes == lower.forest.num_nodes
    names = lower.forest.vocabs["word"].names
    assert names == [name.lower() for name in names]
    assert len(names) < len(plain.forest.vocabs["word"])
    assert (plain.forest.columns["etype"] == plain.forest.pos).all()
    with pytest.warns(UserWarning, match="left out 3 of 5 sentences"):
        short = TREE_LM.read(SENTENCES, TREE_LM.data(max_words=8), None)
    assert len(short) == 2
    short.schema["word"].freeze()  # as in evaluation and prediction, which leave out none
    assert len(TREE_LM.read(SENTENCES, TREE_LM.data(max_words=8), short.schema)) == len(plain) == 5


def test_constituents_and_taxonomies_are_trees_too(tmp_path: Path) -> None:
    """Their nodes are words, all of them right dependents."""
    (tmp_path / "a.mrg").write_text("(S (NP (NN Dogs)) (VP (VB bark)))\n(S (NP (NN Cats)))\n")
    read = TREE_LM.read(tmp_path / "a.mrg", TREE_LM.data(lower=True), None).forest
    names = read.vocabs["word"].decode(read.columns["word"][: read.sizes[0]])
    assert names == ["<root>", "(S", "(NP", "(NN", "dogs", "(VP", "(VB", "bark"]
    assert set(read.pos[read.parent >= 0]) == {1, 3}
    with pytest.warns(UserWarning, match="left out 1 of 2 sentences"):
        short = TREE_LM.read(tmp_path / "a.mrg", TREE_LM.data(max_words=4), None)
    assert len(short) == 1
    with (
        pytest.warns(UserWarning, match="left out 2 of 2 sentences, which have more than 3 nodes"),
        pytest.raises(TreeError, match="at most 3 nodes, got none"),
    ):
        TREE_LM.read(tmp_path / "a.mrg", TREE_LM.data(max_words=3), None)
    vocabs = TREE_LM.read(SENTENCES, TREE_LM.data(), None).forest.vocabs
    with pytest.raises(TreeError, match=r"a.mrg: expected dependency trees .*, as in training"):
        TREE_LM.read(tmp_path / "a.mrg", TREE_LM.data(), vocabs)
    forest = from_nested(("animal", ("bird", "owl", "wren"), "worm"), form="head")
    forest.save(tmp_path / "taxonomy")
    for name in ("a.mrg", "taxonomy"):
        data = {"train": str(tmp_path / name), "valid": str(tmp_path / name)}
        result = train(tree_lm_settings(data=data), tmp_path / f"run-{name}", bar=False)
        assert result["valid"]["words"] == (11 if name == "a.mrg" else 5)
    run = load(tmp_path / "run-taxonomy")
    with pytest.raises(TreeError, match=r"expected other trees, as in training, got dependency"):
        run.evaluate(str(SENTENCES))
    trees = TREE_LM.read(SENTENCES, TREE_LM.data(), None).forest
    with pytest.raises(ConfigError, match="that learned from other trees .*taxonomy.*; train one"):
        log_probs(run, trees)


def test_trees_are_read_some_at_a_time(tmp_path: Path) -> None:
    brackets = tmp_path / "a.mrg"
    brackets.write_text("(S (NP (NN Dogs)))\n(S (NN No))\n(S (NP (NN Cats) (NN run)))\n")
    for path, sizes in ((SENTENCES, [2, 2, 1]), (brackets, [2, 1])):
        settings = TREE_LM.data(max_words=20)
        whole = TREE_LM.read(path, settings, None).forest
        parts = [data.forest for data in TREE_LM.stream(path, settings, whole.vocabs, trees=2)]
        assert [len(part) for part in parts] == sizes
        both = Forest.concat(parts)
        assert (both.parent == whole.parent).all()
        assert (both.columns["word"] == whole.columns["word"]).all()


def test_a_saved_forest_of_dependencies_is_read_as_such(tmp_path: Path) -> None:
    """As the file it is from, also with vocabularies and settings of its own."""
    read(SENTENCES, "conllu").forest.save(tmp_path / "saved")
    how = TREE_LM.data(lower=True, max_words=20)
    one, two = (TREE_LM.read(path, how, None).forest for path in (SENTENCES, tmp_path / "saved"))
    assert (one.parent == two.parent).all()
    assert (one.pos == two.pos).all()
    for name in ("word", "deprel"):
        names = [f.vocabs[name].decode(f.columns[name][f.parent >= 0]) for f in (one, two)]
        assert names[0] == names[1]
    data = {"train": [str(SENTENCES), str(tmp_path / "saved")], "valid": str(tmp_path / "saved")}
    result = train(tree_lm_settings({"labels": True}, data=data), tmp_path / "run", bar=False)
    assert result["valid"]["words"] == one.num_nodes - len(one)
    generation_forest(read(SENTENCES, "conllu").forest).save(tmp_path / "generation")
    with pytest.raises(TreeError, match="generation: expected a saved dependency forest"):
        TREE_LM.read(tmp_path / "generation", how, None)


def test_three_columns_are_dependencies_too(tmp_path: Path) -> None:
    path = tmp_path / "a.dp"
    path.write_text("Ada\tNNP\t2\ncounts\tVBZ\t0\nstars\tNNS\t2\n\n", encoding="utf-8")
    read = TREE_LM.read(path, TREE_LM.data(), None).forest
    assert read.vocabs["etype"].decode(read.pos[1:]) == ["LEFT", "RIGHT", "RIGHT"]
    data = {"train": [str(SENTENCES), str(path)], "valid": str(path)}
    assert train(tree_lm_settings(data=data), tmp_path / "run", bar=False)["valid"]["words"] == 3


def test_several_roots_where_they_are_asked_for(tmp_path: Path) -> None:
    """They stand right of ROOT: RIGHT, then NX-RIGHT. A run keeps to it in all it does."""
    path = tmp_path / "a.conll"
    path.write_text(
        "".join(f"{i}\t{w}\t_\t_\t_\t_\t0\tx\t_\t_\n" for i, w in ((1, "a"), (2, "b"))) + "\n"
    )
    with pytest.raises(TreeError, match=r"a\.conll:2: .* models with --data\.single_root false"):
        TREE_LM.read(path, TREE_LM.data(), None)
    read = TREE_LM.read(path, TREE_LM.data(single_root=False), None).forest
    assert read.vocabs["etype"].decode(read.pos[1:]) == ["RIGHT", "NX-RIGHT"]
    assert read.parent.tolist() == [-1, 0, 1]
    data = {"train": str(path), "valid": str(path), "single_root": False}
    for model in ({}, {"stops": True, "left_dependents": True}):
        run = tmp_path / ("stops" if model else "plain")
        assert train(tree_lm_settings(model, data=data), run, bar=False)["valid"]["words"] == 2
        assert load(run).evaluate(test=[str(path)])["words"] == 2
        flags = ["rerank", str(run), "--out", str(tmp_path / "out"), "--input"]
        (tmp_path / "kbest").write_text("# analysis = 1\n" + path.read_text())
        assert main([*flags, str(tmp_path / "kbest"), "--tune", str(path)]) == 0


@pytest.mark.parametrize(
    ("word", "end", "form"),
    [
        ("Walking", "ing", "Xx"),
        ("at", "at", "x"),
        ("U.S.", ".s.", "X.X."),
        ("1,214", "214", "d,d"),
        ("McKay's", "y's", "XxXx'x"),
        ("ÉCOLE", "ole", "X"),
        ("--", "--", "--"),
    ],
)
def test_endings_and_shapes_of_words(word: str, end: str, form: str) -> None:
    assert word_ending(word) == end
    assert word_shape(word) == form


def test_columns_follow_the_words() -> None:
    words = Vocabulary(["<root>", "Running", "sewing", "7"])
    forest = Forest.build([-1, 0, 1, 1], columns={"word": [0, 2, 1, 3]}, vocabs={"word": words})
    endings = Vocabulary(["<unk>", "ing"], unknown="<unk>", frozen=True)
    spelled = with_spelling(forest, {"ending": endings, "shape": Vocabulary()})
    assert endings.decode(spelled.columns["ending"]) == ["<unk>", "ing", "ing", "<unk>"]
    assert spelled.vocabs["shape"].decode(spelled.columns["shape"]) == ["<x>", "x", "Xx", "d"]
    assert (spelled.columns["word"] == forest.columns["word"]).all()
    with pytest.raises(TreeError, match="expected a vocabulary 'word'"):
        with_spelling(Forest.build([-1]), {})

"""K-best lists, a language model, and the trees it takes."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from dgltrees import ConfigError, TrainedModel, TreeError, load, read
from dgltrees.cli import main
from dgltrees.papers.top_down.analyses.parse import parse, parse_files, read_sentences
from dgltrees.papers.top_down.analyses.rerank import (
    choose,
    measure,
    read_gold,
    table,
    tree_scores,
    tune,
    write_chosen,
)
from dgltrees.papers.top_down.analyses.scoring import log_probs
from dgltrees.papers.top_down.data.kbest import read_kbest
from dgltrees.papers.top_down.graphs import sentence_forest
from tests.training.samples import SENTENCES
from tests.trees.nested import write


@pytest.fixture(scope="module")
def lists(parser_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("lists") / "kbest.conllu"
    parse_files(load(parser_run), read_sentences(SENTENCES), out, k=6)
    return out


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    k=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_first_of_the_best_of_the_first_k(sizes: list[int], k: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 3, sum(sizes)).astype(float)
    offsets = np.cumsum([0, *sizes])
    expected = [
        first + int(np.argmax(scores[first : min(first + k, stop)]))
        for first, stop in itertools.pairwise(offsets)
    ]
    assert choose(scores, offsets, k).tolist() == expected


def test_scores_are_what_predict_says(tree_lm: TrainedModel) -> None:
    """In the case of the model's vocabulary, though the k-best lists keep theirs."""
    forest = read(SENTENCES, "conllu").forest
    expected = [line["log_prob"] for line in tree_lm.predict([SENTENCES])]
    np.testing.assert_allclose(log_probs(tree_lm, forest), expected, rtol=1e-5)
    np.testing.assert_allclose(log_probs(tree_lm, forest, max_nodes=1), expected, rtol=1e-5)


def test_trees_matter_to_a_tree_model_alone(
    parser: TrainedModel, tree_lm: TrainedModel, sequence_lm: TrainedModel
) -> None:
    parsed = parse(parser, sentence_forest(list(read_sentences(SENTENCES))), 2)
    for run, same in ((tree_lm, False), (sequence_lm, True)):
        scores = log_probs(run, parsed.forest).reshape(-1, 2)
        assert (np.abs(scores[:, 0] - scores[:, 1]).max() < 1e-4) == same


def test_tuning_takes_the_larger_of_equals(lists: Path) -> None:
    """Scores that always choose the nearest tree, or always the first one."""
    kbest = read_kbest(lists)
    gold = read_gold(SENTENCES, kbest)
    first = np.zeros(len(kbest.forest))
    k, rows = tune(kbest, first, gold)
    assert k == 6
    assert all({**row, "k": 1, "oracle": 0} == {**rows[0], "oracle": 0} for row in rows)
    nearest = np.array(
        [
            (kbest.forest.tree(t).parent == gold.tree(g).parent).mean()
            for g in range(len(kbest))
            for t in range(kbest.offsets[g], kbest.offsets[g + 1])
        ]
    )
    _, rows = tune(kbest, nearest, gold)
    for row in rows:
        chosen = choose(nearest, kbest.offsets, row["k"])
        assert_close(row["uas"], measure(kbest, chosen, gold)["uas"])
    assert [row["oracle"] for row in rows] == sorted(row["oracle"] for row in rows)
    assert all(row["oracle"] >= row["uas_no_punct"] for row in rows)
    assert len(table(rows).splitlines()) == 7
    none = {name: np.full(gold.num_nodes, -1) for name in ("upos", "xpos")}
    untagged = replace(gold, columns={**gold.columns, **none})
    assert tune(kbest, nearest, untagged) == tune(kbest, nearest, gold)  # the words decide


def test_the_parser_s_score_joins_by_its_weight(lists: Path, tree_lm: TrainedModel) -> None:
    kbest = read_kbest(lists)
    log_p = log_probs(tree_lm, kbest.forest)
    assert (tree_scores(tree_lm, kbest) == log_p).all()
    assert_close(tree_scores(tree_lm, kbest, 2.0), log_p + 2 * kbest.score)
    trees = choose(tree_scores(tree_lm, kbest, 1e6), kbest.offsets, 6)
    assert (trees == kbest.offsets[:-1]).all()


def test_what_is_written(lists: Path, tmp_path: Path) -> None:
    kbest = read_kbest(lists)
    scores = np.arange(len(kbest.forest), dtype=float)
    chosen = choose(scores, kbest.offsets, 3)
    write_chosen(kbest, chosen, scores, tmp_path / "out.conllu")
    text = (tmp_path / "out.conllu").read_text(encoding="utf-8")
    assert text.startswith("# sent_id = garden-1\n# chosen = 3\n# score = 2.000000\n")
    forest = read(tmp_path / "out.conllu", "conllu").forest
    assert (forest.parent == kbest.forest.select(chosen).parent).all()


def test_errors(
    lists: Path,
    tree_lm_run: Path,
    sequence_lm: TrainedModel,
    parser: TrainedModel,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kbest = read_kbest(lists)
    with pytest.raises(ConfigError, match=r"over trees .* at .*, got .* tree-lm \(LSTM\)"):
        tree_scores(sequence_lm, kbest)
    with pytest.raises(ConfigError, match="expected a language model .* at .* the task parser"):
        log_probs(parser, kbest.forest)
    lines = lists.read_text(encoding="utf-8").splitlines(keepends=True)
    at = [n for n, line in enumerate(lines) if line.startswith("# score")][7]
    begin = max(n for n in range(at) if lines[n] == "\n") + 2
    bare = write(tmp_path, "".join([*lines[:at], *lines[at + 1 :]]))
    assert main(["rerank", str(tree_lm_run), "--input", str(bare), "--out", "-", "--weight", "1"])
    assert f"{bare}:{begin}: expected '# score = ...'" in capsys.readouterr().err
    assert main(["rerank", str(tree_lm_run), "--input", str(lists), "--out", "-", "--weight=nan"])
    assert "expected --weight to be a finite number, got nan" in capsys.readouterr().err
    text = SENTENCES.read_text(encoding="utf-8")
    other = write(tmp_path, text.replace("gardener", "baker", 2))
    with pytest.raises(TreeError, match=f"{other}:1: .* sentence 1 .*The gard.*The baker"):
        read_gold(other, kbest)
    second = text.index("# sent_id", 1)
    swapped = write(tmp_path, text[second:] + text[:second])
    with pytest.raises(TreeError, match=f"{swapped}:1: .* sentence 1 .*, in the order of the"):
        read_gold(swapped, kbest)
    fewer = write(tmp_path, text[: text.index("# sent_id = harbour-2")])
    with pytest.raises(TreeError, match=r":\d+: .* the 5 sentences of the k-best lists, got 2"):
        read_gold(fewer, kbest)
    more = write(tmp_path, text + text)
    line = text.count("\n") + 1
    with pytest.raises(TreeError, match=f"{more}:{line}: expected no more than the 5 sentences"):
        read_gold(more, kbest)


@pytest.mark.parametrize(
    ("words", "got"), [((".", "_"), "'_' without a tag"), ((".", "!"), "only punctuation")]
)
def test_gold_trees_without_uas_without_punctuation(
    tmp_path: Path, words: tuple[str, str], got: str
) -> None:
    rows = [f"{n}\t{word}" + 4 * "\t_" + f"\t{n - 1}\t_\t_\t_\n" for n, word in enumerate(words, 1)]
    path = write(tmp_path, "".join(["# analysis = 1\n", *rows]))
    line = 3 if "_" in words else 2
    with pytest.raises(TreeError, match=rf":{line}: UAS without punctuation needs .* got {got}"):
        read_gold(path, read_kbest(path))

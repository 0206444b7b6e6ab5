"""The commands of parsers and of language models over trees."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dgltrees import TreeError
from dgltrees.cli import main
from dgltrees.formats import read
from dgltrees.papers.top_down.analyses.parse import read_sentences
from dgltrees.papers.top_down.data.kbest import read_kbest
from dgltrees.training.trained import TrainedModel
from tests.test_cli import Capture, fails
from tests.training.samples import SENTENCES
from tests.trees.nested import write

TREES = ["--data.train", str(SENTENCES), "--data.valid", str(SENTENCES)]
QUESTIONS = "id,question,a),b),c),d),e)\n1,Ada counted the _____.,stars,late,and,to,of\n"


def test_parse_and_rerank(
    parser_run: Path, tree_lm_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lists, out = str(tmp_path / "kbest.conllu"), str(tmp_path / "out.conllu")
    assert (
        main(["parse", str(parser_run), "--input", str(SENTENCES), "--k", "4", "--out", lists]) == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert report == {"out": lists, "sentences": 5, "words": 42, "trees": 20}
    assert len(read_kbest(lists)) == 5

    argv = ["rerank", str(tree_lm_run), "--input", lists]
    assert main([*argv, "--tune", str(SENTENCES), "--out", out]) == 0
    *shown, last = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["K", "uas", "las", "uas_no_punct", "las_no_punct", "oracle"]
    assert [line.split()[0] for line in shown[1:]] == ["1", "2", "3", "4"]
    assert set(json.loads(last)) == {"parser", "best"}
    assert len(read(out, "conllu").forest) == 5

    assert main([*argv, "--k", "1", "--weight", "0.5", "--out", out]) == 0
    kbest = read_kbest(lists)
    own = kbest.forest.select(kbest.offsets[:-1])
    assert (read(out, "conllu").forest.parent == own.parent).all()


def test_sentences_are_not_read_from_files_of_other_formats(
    parser: TrainedModel, tmp_path: Path
) -> None:
    trees, text = tmp_path / "trees.jsonl", write(tmp_path, "Ada slept .\n")
    trees.write_text('{"tree": {"op": "a"}}\n')
    with pytest.raises(TreeError, match="expected sentences or CoNLL-U, got jsonl; set --format"):
        list(read_sentences(trees))
    assert (parser.task.format_of(trees), parser.task.format_of(text)) == ("conllu", "text")


def test_parsing_a_folder_of_texts_is_resumed(
    parser_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text("Ada slept. It is late.\n", encoding="utf-8")
    argv = ["parse", str(parser_run), "--format", "text", "--out", f"{tmp_path}/trees/"]
    texts = [str(tmp_path / "one.txt"), str(tmp_path / "two.txt")]
    assert main([*argv, "--input", texts[0]]) == 0
    before = (tmp_path / "trees" / "one.conllu").stat().st_mtime_ns
    assert main([*argv, "--input", *texts]) == 0
    assert (tmp_path / "trees" / "one.conllu").stat().st_mtime_ns == before
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert f"remove to parse again: {tmp_path}/trees/one.conllu" in err
    assert len(read(tmp_path / "trees" / "two.conllu", "conllu").forest) == 2
    (tmp_path / "one.text").touch()
    assert main([*argv, "--input", texts[0], str(tmp_path / "one.text")]) == 2
    assert "expected --input files with different names" in capsys.readouterr().err


def test_complete(
    parser_run: Path, tree_lm_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions, answers = tmp_path / "questions.csv", tmp_path / "answers.csv"
    questions.write_text(QUESTIONS, encoding="utf-8")
    answers.write_text("id,answer\n1,a\n", encoding="utf-8")
    argv = ["cloze", str(tree_lm_run), "--questions", str(questions)]
    argv += ["--parser", str(parser_run), "--out", str(tmp_path / "out.jsonl")]
    assert main([*argv, "--answers", str(answers)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"accuracy", "correct", "ties", "questions"}
    line = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))
    assert line["id"] == "1"
    assert len(line["log_probs"]) == 5
    argv = ["cloze", str(tree_lm_run), "--questions", str(questions), "--ngram", "3"]
    assert main([*argv, "--answers", str(answers)]) == 0
    trigram = json.loads(capsys.readouterr().out)
    assert trigram["accuracy"] == 1.0  # it was trained on "Ada counted the stars"
    assert 1.0 < trigram["perplexity"] < 10.0  # validation trees are those of training


def test_errors(
    parser_run: Path, tree_lm_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*argv: object) -> str:
        assert main(list(map(str, argv))) == 2
        return capsys.readouterr().err

    out = tmp_path / "out"
    assert "--k to be an integer of at least 1, got 0" in fails(
        "parse", parser_run, "--input", SENTENCES, "--out", out, "--k", 0
    )
    lists = write(tmp_path, SENTENCES.read_text(encoding="utf-8").replace("-2", "-1"))
    rerank = ("rerank", tree_lm_run, "--input", lists)
    error = fails(*rerank, "--out", out)
    assert f"{lists}:" in error
    assert "expected the words of the sentence's first analysis" in error
    assert "expected --out FILE or --tune GOLD" in fails(*rerank)
    assert "got both" in fails(*rerank, "--k", 2, "--tune", SENTENCES)
    questions = tmp_path / "questions.csv"
    questions.write_text(QUESTIONS.replace("_____", "dots"), encoding="utf-8")
    cloze = ("cloze", tree_lm_run, "--questions", questions)
    assert "missing a parser for the language model" in fails(*cloze, "--out", out)
    error = fails(*cloze, "--parser", parser_run, "--out", out)
    assert f"{questions}:2: expected one blank" in error
    assert "expected --answers FILE or --out FILE" in fails(*cloze)


def test_sweep_over_language_models(capsys: Capture, tmp_path: Path) -> None:
    argv = ["sweep", "tree-lm", "tree-lm-ld", *TREES]
    quick = ["--training.epochs=1", "--model.hidden_size=4", "--model.embedding=2"]
    assert main([*argv, *quick, "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "table.json").read_text())
    assert [row["group"] for row in rows] == ["TreeLSTM", "LdTreeLSTM"]
    assert f"{rows[0]['perplexity']['mean']:6.2f}" in capsys.readouterr().out
    assert (tmp_path / "perplexity.png").read_bytes().startswith(b"\x89PNG")


def test_a_warning_is_one_plain_line(tmp_path: Path) -> None:
    argv = ["train", "tree-lm", *TREES, "--data.max_words", "8", "--model.hidden_size=4"]
    argv += ["--training.epochs=1", "--training.accelerator=cpu", "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-m", "dgltrees", *argv], check=True, capture_output=True, text=True
    )
    lines = [line for line in done.stderr.splitlines() if "left out" in line]
    expected = f"dgltrees: {SENTENCES}: left out 3 of 5 sentences, which have more than 8 words"
    assert lines == [expected]
    assert "chosen" not in done.stderr


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["sample", "x", "--number", "many"], "--number to be an integer"),
        (["sample", "x", "--top_p", "0"], "--top_p to be a number above 0 and at most 1, got 0"),
        (["sample", "x", "--format", "png"], "--format to be one of text, conllu, svg, or n"),
        (["cloze", "x", "--questions", "none", "--out", "x"], "expected a run directory"),
        (
            ["cloze", "x", "--questions", "none", "--out", "x", "--ngram", "3", "--parser", "x"],
            "expected no --parser with --ngram",
        ),
    ],
)
def test_wrong_commands(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in fails(capsys, *argv)
    assert list(tmp_path.iterdir()) == []

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dgltrees.cli import main
from tests.test_cli import Capture, fails
from tests.training.samples import SAMPLES

_QUICK = ["--model.hidden_size=4", "--training.epochs=1", "--training.accelerator=cpu"]


def test_sweep_over_language_models(capsys: Capture, tmp_path: Path) -> None:
    trees = str(SAMPLES / "ud" / "sample.conllu")
    argv = ["sweep", "tree-lm", "tree-lm-ld", "--data.train", trees, "--data.valid", trees]
    quick = ["--training.epochs=1", "--model.hidden_size=4", "--model.embedding=2"]
    assert main([*argv, *quick, "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "table.json").read_text())
    assert [row["group"] for row in rows] == ["TreeLSTM", "LdTreeLSTM"]
    assert f"{rows[0]['perplexity']['mean']:6.2f}" in capsys.readouterr().out
    assert (tmp_path / "perplexity.png").read_bytes().startswith(b"\x89PNG")
    argv = ["sweep", "tree-lm", "classify", "--out", str(tmp_path / "both")]
    assert main(argv) == 2
    assert "by one metric, got perplexity and accuracy" in capsys.readouterr().err


def test_a_warning_is_one_plain_line(tmp_path: Path) -> None:
    sample = SAMPLES / "ud" / "sample.conllu"
    argv = ["train", "tree-lm", "--data.train", str(sample), "--data.valid", str(sample)]
    argv += ["--data.max_words", "8", *_QUICK, "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-m", "dgltrees", *argv], check=True, capture_output=True, text=True
    )
    lines = [line for line in done.stderr.splitlines() if "left out" in line]
    expected = f"dgltrees: {sample}: left out 3 of 5 sentences, which have more than 8 words"
    assert lines == [expected]
    assert "chosen" not in done.stderr


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["generate", "x", "--number", "many"], "--number to be a whole number"),
        (["generate", "x", "--top_p", "2"], "--top_p to be a number above 0 and at most 1, got 2"),
        (["generate", "x", "--format", "png"], "--format to be one of text, conllu, svg"),
        (["complete", "x", "--questions", "none", "--out", "x"], "expected a run directory"),
    ],
)
def test_wrong_commands(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in fails(capsys, *argv)
    assert list(tmp_path.iterdir()) == []

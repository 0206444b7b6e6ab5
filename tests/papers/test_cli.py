"""Commands of papers with runs of other tasks, and wrong flags."""

import re
from pathlib import Path

import pytest

from dgltrees.cli import COMMANDS
from dgltrees.formats.synthetic import GENERATORS
from tests.test_cli import Capture, fails, run  # noqa: F401

FLAGS = [
    "parse --input none --out out.conllu",
    "rerank --input none --tune none",
    "cloze --questions none --answers none",
    "cloze --questions none --answers none --ngram 3",
    "sample",
    "train-edge-classifier",
    "attention --input none",
    "compare-trees --test none",
    "accuracy-by-padding --input none",
]


@pytest.mark.parametrize("flags", [row for row in FLAGS if row.split()[0] in COMMANDS])
def test_a_run_of_another_task_is_told_before_its_files(
    capsys: Capture,
    run: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *rest = flags.split()
    message = fails(capsys, command, str(run), *rest)
    assert re.search(r"expected .* at .*/run, got .*the task classify", message)
    assert list(tmp_path.iterdir()) == []


WRONG = {
    "accuracy-by-padding": ("x --input y --out x.pdfx", "--out to end in .png"),
    "make-data mee": ("--out x --train 1000000000", "from 0 to 10 million"),
}


@pytest.mark.parametrize(
    "command", [name for name in WRONG if name.split()[-1] in {*COMMANDS, *GENERATORS}]
)
def test_wrong_commands(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    flags, message = WRONG[command]
    assert message in fails(capsys, *command.split(), *flags.split())
    assert list(tmp_path.iterdir()) == []

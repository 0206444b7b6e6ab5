from __future__ import annotations

from pathlib import Path

import pytest

from dgltrees.cli import main
from dgltrees.settings.catalog import preset_names
from tests.training.samples import SAMPLES

Capture = pytest.CaptureFixture[str]
_QUICK = ["--model.hidden_size=4", "--training.epochs=1", "--training.accelerator=cpu"]


@pytest.mark.skipif("sick-rrnet-trees" not in preset_names(), reason="needs the paper nti")
def test_a_model_of_given_trees_names_the_file_without_trees(
    tmp_path: Path, capsys: Capture
) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("a dog runs\ta dog sleeps\n")
    sick = ["--data.root", str(SAMPLES), "--data.limit", "12", "--model.embedding=4"]
    out = str(tmp_path / "run")
    assert main(["train", "sick-rrnet-trees", *sick, *_QUICK, "--out", out]) == 0
    capsys.readouterr()
    assert main(["predict", out, "--input", str(plain)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"dgltrees: {plain}:1: expected node columns ")
    assert "needs sentences with their trees" in message

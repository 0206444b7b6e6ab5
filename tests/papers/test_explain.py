"""Explanations of runs of papers."""

from pathlib import Path

import pytest

from dgltrees.settings.catalog import preset_names
from tests.analyses.test_explain import explained
from tests.training.samples import SAMPLES, quick

FILES = {"listops-sum-c25": "listops/test.tsv", "sst-tree": "sst/dev.txt"}


@pytest.mark.parametrize("preset", [name for name in FILES if name in preset_names()])
def test_runs_of_the_command_line_are_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], preset: str
) -> None:
    explained(
        quick(preset, {"max_train_examples": None}), str(SAMPLES / FILES[preset]), tmp_path, capsys
    )

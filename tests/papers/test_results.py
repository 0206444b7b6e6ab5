"""The quick checks of datasets/results are what training gives."""

from __future__ import annotations

import re

import pytest
import torch
import yaml

from dgltrees.settings.catalog import preset_names, preset_values
from dgltrees.settings.presets import PRESETS as CORE
from tests.installed import needs_papers

from .results import RESULTS, differs, small_runs

RUNS = small_runs()
INSTALLED = [name for name in RUNS if name in {*preset_names()}]


def test_every_task_of_a_paper_has_a_quick_check() -> None:
    tasks = {name: preset_values(name)["task"] for name in preset_names()}
    checked = {*(tasks[name] for name in INSTALLED), "edge-classifier"}  # it needs another run
    assert {tasks[name] for name in tasks if name not in CORE} - checked == set()


@needs_papers
def test_presets_in_tables_exist() -> None:
    tables = [yaml.load(path.read_text("utf-8"), yaml.BaseLoader) for path in RESULTS.iterdir()]
    cells = [row.get("preset", "") for each in tables for t in each.values() for row in t["rows"]]
    found = (re.match(r"([a-z][\w-]*)( --.*| \(.*)?$", cell) for cell in cells)
    presets = {match[1] for match in found if match}
    assert len(presets) > 60
    assert presets - {*preset_names()} == set()


@pytest.mark.filterwarnings("ignore")  # words of the samples without vectors, and the like
@pytest.mark.parametrize("name", INSTALLED)
def test_a_quick_check_gives_the_same_numbers(name: str) -> None:
    run = RUNS[name]
    now = run.train()
    others = [key for key, old in run.numbers.items() if differs(old, now[key])]
    if others and not _draws_as_in_the_file():
        pytest.skip("this build of torch draws other dropout from the same seed")
    assert not others, now


def _draws_as_in_the_file() -> bool:
    torch.manual_seed(0)
    mask = torch.nn.functional.dropout(torch.ones(8), 0.5)
    return mask.tolist() == [0, 0, 2, 0, 0, 0, 2, 2]

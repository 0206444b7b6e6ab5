"""The small results on the pages of the data sets are what training gives."""

from __future__ import annotations

import pytest

from .results import PAGES, differs, small_runs

RUNS = small_runs()


def test_every_page_of_a_task_has_a_small_result() -> None:
    without = {"README.md", "papers.md", "penn.md", "plans.md"}  # no results of their own
    pages = {page.name for page in PAGES.glob("*.md")} - without
    assert {run.page for run in RUNS.values()} == pages


@pytest.mark.filterwarnings("ignore")  # words of the samples without vectors, and the like
@pytest.mark.parametrize("name", RUNS)
def test_a_small_result_comes_out_again(name: str) -> None:
    run = RUNS[name]
    now = run.train()
    assert not [key for key, number in run.numbers.items() if differs(number, now[key])], now

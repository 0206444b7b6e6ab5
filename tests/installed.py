"""Rows of tables for what is installed: a paper's are left out where the paper is not."""

from __future__ import annotations

from typing import TypeVar

import pytest

from dgltrees.registry import PAPERS, paper_of

T = TypeVar("T")

needs_papers = pytest.mark.skipif(
    any(paper_of(names.split()[0]) for names in PAPERS.values()), reason="needs all papers"
)
"""For tests of records and pages that are about the whole package."""

# a task of the paper that has the format
_TASKS = {
    "boolsent": "boolsent",
    "dp": "parser",
    "entailment": "snli",
    "inex": "inex",
    "listops": "listops",
    "mee": "mee",
    "sst": "sst-tree",
    "text": "ptb",
    "wikiqa": "wikiqa",
}


def installed_tasks(rows: dict[str, T]) -> dict[str, T]:
    """The rows of tasks, without those of papers that are missing."""
    return {name: row for name, row in rows.items() if not paper_of(name)}


def installed_formats(rows: dict[str, T]) -> dict[str, T]:
    """The rows of formats, without those of papers that are missing."""
    return {name: row for name, row in rows.items() if not paper_of(_TASKS.get(name, ""))}

"""Rows of tables for what is installed: a paper's are left out where the paper is not."""

from typing import TypeVar

import pytest

from dgltrees.formats import FORMATS
from dgltrees.registry import PAPERS
from dgltrees.settings.catalog import PRESETS
from dgltrees.settings.tasks import TASKS

T = TypeVar("T")

needs_papers = pytest.mark.skipif(not {*PAPERS} <= {*PRESETS}, reason="needs all papers")
"""For tests of records and pages that are about the whole package."""


def installed_tasks(rows: dict[str, T]) -> dict[str, T]:
    """The rows of tasks, without those of papers that are missing."""
    return {name: row for name, row in rows.items() if name in TASKS}


def installed_formats(rows: dict[str, T]) -> dict[str, T]:
    """The rows of formats, without those of papers that are missing."""
    return {name: row for name, row in rows.items() if name in FORMATS}

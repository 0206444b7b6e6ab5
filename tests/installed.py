"""Rows of tables for what is installed: a paper's are left out where the paper is not."""

from __future__ import annotations

from typing import TypeVar

from dgltrees.formats import FORMATS
from dgltrees.tasks.table import TASKS

T = TypeVar("T")


def installed_tasks(rows: dict[str, T]) -> dict[str, T]:
    """The rows of tasks, without those of papers that are missing."""
    return {name: row for name, row in rows.items() if name in TASKS}


def installed_formats(rows: dict[str, T]) -> dict[str, T]:
    """The rows of formats, without those of papers that are missing."""
    return {name: row for name, row in rows.items() if name in FORMATS}

"""Rows of tables for what is installed: a paper's are left out where the paper is not."""

from __future__ import annotations

from typing import TypeVar

from dgltrees.registry import paper_of

T = TypeVar("T")

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

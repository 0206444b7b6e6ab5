"""The directive ``results``: a table of ``datasets/results`` in a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from docutils.nodes import Node
from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).parents[1] / "datasets" / "results"


class ResultsTable(SphinxDirective):
    """A table, the sentence about it and its command: ``results FILE TABLE``."""

    required_arguments = 2

    def run(self) -> list[Node]:
        """Return the nodes of the table."""
        path = RESULTS / f"{self.arguments[0]}.yaml"
        self.env.note_dependency(str(path))
        # BaseLoader keeps numbers as they are written: 94.50 has two decimals.
        table = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)[self.arguments[1]]
        return self.parse_text_to_nodes(markdown(table))


def markdown(table: dict[str, Any]) -> str:
    """Return a table as Markdown."""
    columns = table["columns"]
    rows = [[_cell(key, row.get(key, "")) for key in columns] for row in table["rows"]]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    lines = [
        table["about"],
        "",
        _line(columns.values()),
        _line("---:" if number else "---" for number in numeric),
        *map(_line, rows),
    ]
    if "command" in table:
        lines += ["", "```sh", table["command"], "```"]
    return "\n".join(lines)


def _line(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(key: str, value: str) -> str:
    is_code = key in ("preset", "command") and value and not {*value} & {*"(,'"}
    if value.isdigit() and len(value) > 3:
        value = f"{int(value):,}"
    return f"`{value}`" if is_code else value


def _is_number(cell: str) -> bool:
    return not cell or cell[0] in "-.0123456789"


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("results", ResultsTable)
    return {"parallel_read_safe": True}

"""The directive ``results``: a table of ``datasets/results`` in a page."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
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
        file, name = self.arguments
        table = load(file)[name]
        cells = [cell for row in table["rows"] for cell in row.values()]
        for each in {file, *(cell[0] for cell in cells if isinstance(cell, list))}:
            self.env.note_dependency(str(RESULTS / f"{each}.yaml"))
        return self.parse_text_to_nodes(markdown(table))


@cache
def load(file: str) -> dict[str, Any]:
    """Return the tables of a file by name, with all values as strings."""
    # BaseLoader keeps numbers as they are written: 94.50 has two decimals.
    tables: dict[str, Any] = yaml.load(
        (RESULTS / f"{file}.yaml").read_text(encoding="utf-8"), yaml.BaseLoader
    )
    return tables


def look_up(file: str, table: str, values: Mapping[str, str], column: str) -> str:
    """Return the number in a column of the row that has these values.

    Several such rows are seeds: the result is their mean and standard deviation.

    Raises:
        LookupError: no such row has a number in this column.
    """
    rows = [row for row in load(file)[table]["rows"] if values.items() <= row.items()]
    cells = [row[column] for row in rows if column in row]
    if not cells:
        raise LookupError(f"no row of {table} in {file}.yaml has {dict(values)} and {column}")
    if len(cells) == 1:
        return str(cells[0])
    numbers = [float(cell) for cell in cells]
    decimals = len(cells[0].partition(".")[2])
    spread = f"{statistics.mean(numbers):.{decimals}f} ± {statistics.stdev(numbers):.{decimals}f}"
    return spread if len(cells) == 3 else f"{spread} ({len(cells)} seeds)"


def status(row: Mapping[str, Any]) -> str:
    """Return how a score of a paper was measured here: ``full, changed, scaled`` or ``none``."""
    if isinstance(row.get("ours"), list):
        return "changed" if "remark" in row else "full"
    return "scaled" if "scaled" in row else "none"


def markdown(table: Mapping[str, Any]) -> str:
    """Return a table as Markdown."""
    columns = table["columns"]
    rows = [[_cell(key, row.get(key, "")) for key in columns] for row in table["rows"]]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    counts = Counter(map(status, table["rows"]))
    counts["rows"] = len(rows)
    counts["unavailable"] = sum(row.get("ours") == "no data" for row in table["rows"])
    lines = [
        table["about"].format_map(counts),
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


def _cell(key: str, value: str | Sequence[Any]) -> str:
    if not isinstance(value, str):
        return look_up(*value)
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

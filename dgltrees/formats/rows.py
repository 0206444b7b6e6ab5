"""Tables with a row per tree, which a column holds as JSON text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.formats.format import TABLES, Format, Layout
from dgltrees.formats.lines import check_chunk_size
from dgltrees.formats.records import Records, parse_json
from dgltrees.formats.tables import Table
from dgltrees.trees.examples import Examples

__all__ = ["ROWS", "stream_rows"]


def stream_rows(
    path: PathLike,
    trees: int = 10_000,
    layout: Layout = Layout(),  # noqa: B008
) -> Iterator[Examples]:
    """The trees of a table with JSON in a column, at most ``trees`` rows at a time.

    ``layout.tree`` is the column, by default ``tree`` or ``json``, or a path into its JSON:
    ``json.Plan`` is what the column ``json`` has under ``Plan``; for pairs of trees there are two.
    Trees are as in :func:`~dgltrees.formats.stream_jsonl`.

    Node columns: the members of the nodes. Example columns: ``line``, the other columns, and by
    names such as ``json.Execution Time`` what stands in the JSON beside the tree.

    Arguments:
        path: CSV, TSV, Parquet or Arrow; see :class:`~dgltrees.formats.tables.Table`.
        trees: the most rows per chunk.
        layout: ``tree``, ``children`` and ``names`` are read.

    Raises:
        TreeError: with file and line: ``layout.tree`` names no column, the file is empty or
            damaged, a cell is no JSON, or what ``stream_jsonl`` raises.
        ConfigError: ``trees`` is below 1, or pyarrow is needed and not installed.
    """
    check_chunk_size(trees)
    table = Table(path, layout.names)
    paths = layout.paths or tuple(name for name in ("tree", "json") if name in table.header)[:1]
    columns = [path.partition(".")[0] for path in paths]
    if not columns or not {*columns} <= {*table.header}:
        got = ", ".join(paths) or "none"
        raise TreeError(
            "expected the layout's tree to name the column that holds the trees as JSON, such as "
            f"json or json.Plan, got {got}; the columns are {', '.join(table.header)} (for "
            "a table with a row per node, name its column of parents or depths as the layout's "
            "parent or depth, as in --parent COLUMN)",
            file=path,
            line=table.header_line,
        )
    others = [name for name in table.header if name not in columns]
    records = Records(path, replace(layout, tree=[*paths]))
    for batch in table.batches(min(trees, 1000)):
        lines = batch.lines.tolist()
        values: list[dict[str, Any]] = [{} for _ in lines]
        for column in dict.fromkeys(columns):
            for value, cell, line in zip(values, batch.cells[column].tolist(), lines):
                value[column] = parse_json(str(cell), path, line)
        yield records.examples(values, lines, table.columns(batch, others))
    records.check_children()


ROWS = Format(
    "Tables with a row per tree, which a column holds as JSON: CSV or Parquet.",
    stream_rows,
    suffixes=TABLES,
    layout=("tree", "children", "names"),
    text=False,
)

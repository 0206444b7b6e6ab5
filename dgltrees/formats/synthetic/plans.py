"""Synthetic query plans and the seconds that they take: trees with strings and numbers.

A plan joins one to ``max_tables`` tables, in any shape. The scan of a table returns some of its
rows: it reads all rows or uses an index. A join is by hash, by merge or by a nested loop, which
runs its second input once for every row of the first. So the seconds depend on the structure of the
tree, not only on its nodes. The ``Plan Rows`` of a node are an estimate, wrong by a factor of 1/2
to 2; the seconds are computed from the true rows, not measured.
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import draws
from dgltrees.settings.values import Count, SampleSize, Seed

TABLES = {"orders": 150_000, "lines": 600_000, "parts": 20_000, "customers": 15_000, "nations": 25}
JOINS = ("Hash Join", "Merge Join", "Nested Loop")
READ, LOOK_UP, COMPARE = 1e-7, 4e-6, 3e-7  # seconds a row
SLOW = 0.1  # seconds
MOST_LOOPS = 30.0
MAX_TABLES = 6


def write_plans(
    out: PathLike,
    *,
    train: SampleSize = 2_000,
    valid: SampleSize = 500,
    test: SampleSize = 500,
    seed: Seed = 0,
    max_tables: Count = MAX_TABLES,
    alternatives: Count = 1,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write synthetic query plans with their seconds, as JSON Lines.

    Each line has a ``plan`` with its inputs under ``Plans``, the ``seconds`` that it takes, and its
    ``speed``, fast or slow. If queries have several plans, it also has the name of its ``query``.

    Arguments:
        out: folder to write to, new or empty.
        train: plans in the training file; a split of 0 plans has no file.
        valid: plans in the validation file.
        test: plans in the test file.
        seed: the same seed gives the same bytes on every machine.
        max_tables: the largest number of tables of a plan.
        alternatives: plans of each query: the same tables and rows, with other scans and joins.
        overwrite: write to a folder that holds files; those of the same names are replaced.

    Returns:
        the files, by name: ``train``, ``valid``, ``test``.

    Raises:
        ConfigError: a setting is out of range, or the folder holds files.
    """
    sizes = [train, valid, test]
    if max_tables < 1:
        raise ConfigError(f"max_tables: expected 1 table or more, got {max_tables}")
    if alternatives < 1 or any(size % alternatives for size in sizes):
        raise ConfigError(
            f"alternatives: expected 1 or more, a divisor of train, valid and test, got "
            f"{alternatives} with {', '.join(map(str, sizes))}"
        )
    folder = draws.check_folder(out, overwrite)
    rng = draws.stream("plans", seed)
    queries = sum(sizes) // alternatives
    lines = [json.dumps(each) for each in _records(rng, queries, max_tables, alternatives)]
    files = draws.cut(lines, sizes, "{}.jsonl")
    return draws.write_folder(folder, files)


def load_plans(
    n_samples: Count = 2_500,
    *,
    random_state: Seed = 0,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Return synthetic query plans and the seconds that they take, as scikit-learn's ``load_*`` do.

    A plan is a nested dictionary with its inputs under ``Plans``, as PostgreSQL prints it. The
    seconds are computed by a formula from the whole tree, not measured: a nested loop runs its
    second input once for every row of the first. They range over several orders of magnitude. Equal
    arguments give equal plans on every machine. ``dgltrees make-data plans`` writes plans to files.

    =============== ===========================================================================
    key of a node   value
    =============== ===========================================================================
    ``Node Type``   Seq Scan, Index Scan, Hash Join, Merge Join or Nested Loop
    ``Table``       the table that a scan reads
    ``Plan Rows``   the estimated rows of the result, wrong by a factor of 0.5 to 2
    ``Plan Width``  the bytes of a row, which have no effect on the seconds
    ``Plans``       the two inputs of a join, which are nodes
    =============== ===========================================================================

    Arguments:
        n_samples: the number of plans.
        random_state: the seed.
        return_X_y: return ``(plans, seconds)`` instead of a Bunch.
        as_frame: add a pandas DataFrame with a row per plan as ``frame``.

    Returns:
        a :class:`sklearn.utils.Bunch` with ``data``, a list of dictionaries; ``target``, the
        seconds ``(n_samples,)``; ``feature_names``, the keys of the nodes; ``target_names``;
        ``frame``, None without ``as_frame``; and ``DESCR``, this description. With ``return_X_y``
        only ``data`` and ``target``.

    Raises:
        ConfigError: ``n_samples`` is below 1, or ``random_state`` is not an integer of at least 0.

    Example:
        >>> plans, seconds = load_plans(3, return_X_y=True)
        >>> [plan["Node Type"] for plan in plans], seconds.round(3).tolist()
        (['Nested Loop', 'Seq Scan', 'Seq Scan'], [0.054, 0.0, 0.002])
    """
    from sklearn.utils import Bunch

    for name, value, least in (("n_samples", n_samples, 1), ("random_state", random_state, 0)):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise ConfigError(
                f"expected {name} to be an integer of at least {least}, got {value!r}"
            )
    rng = draws.stream("plans", random_state)
    records = list(_records(rng, int(n_samples)))
    plans = [record["plan"] for record in records]
    seconds = np.array([record["seconds"] for record in records])
    if return_X_y:
        return plans, seconds
    frame = None
    if as_frame:
        import pandas

        frame = pandas.DataFrame({"plan": plans, "seconds": seconds})
    return Bunch(
        data=plans,
        target=seconds,
        feature_names=["Node Type", "Table", "Plan Rows", "Plan Width"],
        target_names=["seconds"],
        frame=frame,
        DESCR=inspect.getdoc(load_plans),
    )


Part = tuple[dict[str, Any], float, float]
"""A plan, its true number of rows, and its seconds."""


def _records(
    rng: random.Random, queries: int, max_tables: int = MAX_TABLES, alternatives: int = 1
) -> Iterator[dict[str, Any]]:
    """Draw the records of some queries, with the name of the query if it has several plans."""
    for query in range(queries):
        tables = 1 + draws.below(rng, max_tables)
        if alternatives == 1:
            yield _record(rng, [_scan(rng, *_table(rng)) for _ in range(tables)])
            continue
        chosen = [_table(rng) for _ in range(tables)]
        for _ in range(alternatives):
            record = _record(rng, [_scan(rng, *each) for each in chosen])
            yield {"query": f"q{query}", **record}


def _record(rng: random.Random, parts: list[Part]) -> dict[str, Any]:
    """Join scans to a plan; return it with its seconds and speed."""
    while len(parts) > 1:  # any two inputs, in any order
        first, second = (parts.pop(draws.below(rng, len(parts))) for _ in range(2))
        parts.append(_join(rng, *first, *second))
    plan, _, seconds = parts[0]
    rounded = float(f"{seconds:.4g}")
    speed = "slow" if rounded > SLOW else "fast"
    return {"plan": plan, "seconds": rounded, "speed": speed}


def _table(rng: random.Random) -> tuple[str, float]:
    """Draw a table and the number of its rows that a query selects."""
    table = list(TABLES)[draws.below(rng, len(TABLES))]
    return table, max(1.0, TABLES[table] * rng.random() ** 3)


def _scan(rng: random.Random, table: str, rows: float) -> Part:
    by_index = rng.random() < 0.5
    seconds = rows * LOOK_UP if by_index else TABLES[table] * READ
    node = {"Node Type": "Index Scan" if by_index else "Seq Scan", "Table": table}
    return {**node, **_estimates(rng, rows)}, rows, seconds


def _join(
    rng: random.Random,
    left: dict[str, Any],
    left_rows: float,
    left_seconds: float,
    right: dict[str, Any],
    right_rows: float,
    right_seconds: float,
) -> Part:
    name = JOINS[draws.below(rng, len(JOINS))]
    rows = max(1.0, min(left_rows, right_rows) * (0.1 + rng.random()))
    if name == "Nested Loop":
        loops = min(left_rows, MOST_LOOPS)
        seconds = left_seconds + loops * right_seconds
    else:
        per_row = COMPARE * (1 if name == "Hash Join" else 4)
        seconds = left_seconds + right_seconds + per_row * (left_rows + right_rows)
    node = {"Node Type": name, **_estimates(rng, rows), "Plans": [left, right]}
    return node, rows, seconds


def _estimates(rng: random.Random, rows: float) -> dict[str, int]:
    factor = 0.5 + 1.5 * rng.random()
    return {"Plan Rows": int(rows * factor) + 1, "Plan Width": 4 * (1 + draws.below(rng, 32))}

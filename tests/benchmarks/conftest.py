"""What ``make bench`` prints at its end: tables of ratios, of costs and of memory."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from dgltrees.cells.compiled import kernels, way
from tests.benchmarks.tables import Row, machine, table

THREADS = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


@pytest.fixture(autouse=True)
def _threads() -> None:
    torch.set_num_threads(THREADS)
    torch.set_flush_denormal(True)  # as training does


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other tests do not compile."""
    monkeypatch.setattr(way, "compiles", kernels.compiles)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the tables of what has been measured."""
    session = getattr(config, "_benchmarksession", None)
    measured = [] if session is None else [b for b in session.benchmarks if not b.has_error]
    if not measured:
        return
    torch.set_num_threads(THREADS)
    terminalreporter.section(f"milliseconds a training step; {machine()}")
    kinds = {
        "case": ratios,
        "language model": words_a_second,
        "chain": level_costs,
        "memory": memory,
        "share": shares,
        "builder": nodes_a_second,
    }
    for kind, show in kinds.items():
        of_kind = [b for b in measured if b.extra_info.get("kind") == kind]
        for line in show(of_kind) if of_kind else ():
            terminalreporter.write_line(line)


def _seconds(measured: Any) -> float:
    return float(measured.stats.median)


def ratios(measured: list[Any]) -> Iterator[str]:
    """A table for all cases with the same contenders; in brackets times faster than the first."""
    cases: dict[str, list[Any]] = {}
    for each in measured:
        cases.setdefault(each.group, []).append(each)
    tables: dict[tuple[str, ...], list[Row]] = {}
    for case, each in cases.items():
        seconds = {b.extra_info["contender"]: _seconds(b) for b in each}
        tables.setdefault(tuple(seconds), []).append(
            Row(case, each[0].extra_info["nodes"], seconds)
        )
    for names, rows in tables.items():
        yield from ("", table(rows, base=names[0]))


def nodes_a_second(measured: list[Any]) -> Iterator[str]:
    """From objects to a forest."""
    for each in measured:
        rate = each.extra_info["nodes"] / _seconds(each)
        yield f"\n{each.name}: {rate:,.0f} nodes a second from objects to a forest"


def words_a_second(measured: list[Any]) -> Iterator[str]:
    """A table for each case: words a second, and how many times those of each contender."""
    cases: dict[str, dict[str, Any]] = {}
    for b in measured:
        cases.setdefault(b.group, {})[b.extra_info["contender"]] = b
    for case, each in cases.items():
        speed = {name: b.extra_info["words"] / _seconds(b) for name, b in each.items()}
        yield from ("", f"| {case} | ms | words a second | times " + " | times ".join(speed) + " |")
        yield "|---" * (len(speed) + 3) + "|"
        for name, b in each.items():
            times = " | ".join(f"{speed[name] / other:.2f}" for other in speed.values())
            yield f"| {name} | {1e3 * _seconds(b):.0f} | {speed[name]:.0f} | {times} |"


def level_costs(measured: list[Any]) -> Iterator[str]:
    """The fit ``a levels + b nodes`` to narrow chains, and wide ones at equal nodes."""
    for name in dict.fromkeys(b.extra_info["contender"] for b in measured):
        own = [b for b in measured if b.extra_info["contender"] == name]
        narrow = [b for b in own if b.extra_info["narrow"]]
        if len(narrow) > 2:
            sizes = np.array(
                [[b.extra_info["levels"], b.extra_info["nodes"]] for b in narrow], float
            )
            spent = np.array([_seconds(b) for b in narrow])
            weight = 1 / spent  # relative errors count alike
            (a, b), *_ = np.linalg.lstsq(sizes * weight[:, None], spent * weight, rcond=None)
            yield f"\n{name}: a level costs {1e3 * a:.3f} ms, a node {1e6 * b:.2f} us on top"
    yield from ("", "| nodes | levels | contender | ms | us a node |", "|---|---|---|---|---|")
    for b in measured:
        info = b.extra_info
        yield (
            f"| {info['nodes']} | {info['levels']} | {info['contender']} | {1e3 * _seconds(b):.1f} "
            f"| {1e6 * _seconds(b) / info['nodes']:.2f} |"
        )


def memory(measured: list[Any]) -> Iterator[str]:
    """KiB a node at the peak of a step."""
    names = list(dict.fromkeys(b.extra_info["contender"] for b in measured))
    yield from ("", "| peak KiB a node | nodes | " + " | ".join(names) + " |")
    yield "|---" * (len(names) + 2) + "|"
    rows: dict[tuple[str, int], dict[str, float]] = {}
    for b in measured:
        case = rows.setdefault((b.group, b.extra_info["nodes"]), {})
        case[b.extra_info["contender"]] = b.extra_info["bytes"] / b.extra_info["nodes"] / 1024
    for (case, nodes), found in rows.items():
        base = found.get("dgl")
        cells = [_with_ratio(found.get(name), base) for name in names]
        yield f"| {case} | {nodes} | " + " | ".join(cells) + " |"


def _with_ratio(value: Any, base: Any) -> str:
    if value is None:
        return ""
    return f"{value:.1f}" + ("" if base is None else f" ({value / base:.2f})")


def shares(measured: Iterable[Any]) -> Iterator[str]:
    """Which part of a step goes to its batch and plans, or to waiting for workers' batches."""
    yield from ("", "| case | ms for a batch | ms a step | share |", "|---|---|---|---|")
    for b in measured:
        whole, made = b.extra_info["step"], b.extra_info["made"]
        yield f"| {b.group} | {1e3 * made:.2f} | {1e3 * whole:.1f} | {made / whole:.1%} |"

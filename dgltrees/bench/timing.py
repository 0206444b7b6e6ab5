"""Times of training steps: the median of several rounds, and a table of ratios."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from dgltrees._dgl import dgl
from dgltrees.bench.cases import Case
from dgltrees.bench.contenders import VOCABULARY, Contender, Model


@dataclass(frozen=True)
class Row:
    """The times of one set of trees.

    Attributes:
        case: the name of the set of trees.
        nodes: the number of nodes of all trees.
        seconds: the median time of a step in seconds, by contender.
    """

    case: str
    nodes: int
    seconds: Mapping[str, float]


def time_steps(
    case: Case, contenders: Sequence[Contender], *, hidden: int = 128, rounds: int = 7
) -> Row:
    """Time training steps, including the batching of the trees.

    In every round each contender makes one step, so that other load on the machine affects all of
    them equally.

    Arguments:
        case: the trees.
        contenders: the methods to run the model.
        hidden: the size of a state.
        rounds: the number of timed rounds, after two to warm up.

    Returns:
        the median times, in seconds.

    Raises:
        RuntimeError: the losses of two contenders, which have the same initial weights, differ.

    Example:
        >>> from dgltrees.bench import CASES, CONTENDERS, time_steps
        >>> row = time_steps(
        ...     CASES["random 1 x 43"], [CONTENDERS["levels, compile=False"]], hidden=8, rounds=1
        ... )
        >>> row.nodes, row.seconds["levels, compile=False"] < 60
        (43, True)
    """
    forest = case.forest(VOCABULARY)
    models = {each.name: Model(hidden) for each in contenders}
    times: dict[str, list[float]] = {each.name: [] for each in contenders}
    for number in range(rounds + 2):
        losses = {}
        for each in contenders:
            start = time.perf_counter()
            losses[each.name] = each.step(models[each.name], forest)
            if number >= 2:
                times[each.name].append(time.perf_counter() - start)
        low, high = min(losses.values()), max(losses.values())
        if high - low > 1e-3 * abs(high):
            raise RuntimeError(f"{case.name}: expected equal losses, got {losses}")
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    return Row(case.name, forest.num_nodes, medians)


def machine() -> str:
    """Return the processor, the number of threads and the versions in one line."""
    return (
        f"{platform.machine()}, {torch.get_num_threads()} threads, Python "
        f"{platform.python_version()}, torch {torch.__version__}, "
        + ("no dgl" if dgl is None else f"dgl {dgl.__version__}")
    )


def table(rows: Sequence[Row], base: str = "dgl") -> str:
    """Format rows as a Markdown table of milliseconds, with the speed-up over ``base`` in brackets.

    Arguments:
        rows: the results of :func:`time_steps`.
        base: the name of the contender to compare with.
    """

    def cells(row: Row) -> Iterator[str]:
        for name, seconds in row.seconds.items():
            faster = "" if name == base else f" ({row.seconds[base] / seconds:.1f}x)"
            yield f"{1e3 * seconds:.1f}{faster}"

    head = ["case", "nodes", *rows[0].seconds]
    return markdown(head, ([row.case, row.nodes, *cells(row)] for row in rows))


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format a Markdown table."""
    lines = ["| " + " | ".join(map(str, line)) + " |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])

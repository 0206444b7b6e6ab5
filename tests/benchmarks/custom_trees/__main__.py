"""Our estimators next to flat features on nine tasks: ``python -m tests.benchmarks.custom_trees``.

Every fit is a line of the file ``--out``, and is not repeated if it is there. Without ``--away``
the folds of four fifths of each task are measured, to choose settings. With ``--away`` all of these
train, and the fifth that was kept away is measured.
"""

import argparse
import json
import sys
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.custom_trees.data import TASKS, Rows, Task, folder_of, load
from tests.benchmarks.custom_trees.models import FLAT, OURS, fit_predict
from tests.benchmarks.custom_trees.report import losses, measures, rows, scores, table

MODELS = (*FLAT, *OURS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark, and print its table."""
    parser = new_parser("custom_trees")
    parser.add_argument("--away", action="store_true", help="measure the part kept away")
    parser.add_argument("--yaml", action="store_true", help="print rows of datasets/results")
    options, out = parse(parser, arguments)
    for name in options.tasks or TASKS:
        task = load(name, options.data)
        for part, train, test in _parts(task, away=options.away, folds=options.folds):
            for model in options.models:
                measure(out, task, part, model, train, test)
    lines, part = read_lines(out), "away" if options.away else "folds"
    if options.yaml:
        print("\n".join([*rows(lines, part), *measures(lines, part)]))
    else:
        print(table(lines))


def new_parser(name: str) -> argparse.ArgumentParser:
    """Return the arguments that say what to measure, and where results are."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.benchmarks.{name}")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--data", help="folder of the data; default: that in DGLTREES_DATA")
    parser.add_argument("--out", default=f"build/{name}.jsonl", help="file of results")
    parser.add_argument("--folds", type=int, help="measure only the first folds of each task")
    parser.add_argument("--models", nargs="+", default=MODELS, help=", ".join(MODELS))
    return parser


def parse(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None
) -> tuple[argparse.Namespace, Path]:
    """Return the arguments, with the folder as ``data``, and the file of results."""
    options = parser.parse_args(arguments)
    for wanted, known, what in ((options.tasks, TASKS, "task"), (options.models, MODELS, "model")):
        for name in wanted:
            if name not in known:
                parser.error(f"expected a {what}, got {name}; choose from {', '.join(known)}")
    if options.folds is not None and options.folds < 1:
        parser.error(f"expected --folds of at least 1, got {options.folds}")
    options.data, out = folder_of(options.data), Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    return options, out


def _parts(task: Task, *, away: bool, folds: int | None) -> Iterator[tuple[str, Rows, Rows]]:
    """Yield the name of each part, and the examples to train on and to predict."""
    if away:
        yield "away", *task.kept_away()
        return
    for fold, (train, test) in enumerate(task.splits()):
        if folds is None or fold < folds:
            yield f"fold {fold}", train, test


def measure(out: Path, task: Task, part: str, model: str, train: Rows, test: Rows) -> None:
    """Fit a model, and append its scores to the file, unless they are there.

    Raises:
        SystemExit: the file has results of this part with other examples.
    """
    examples = zlib.crc32(repr([task.y[train].tolist(), task.y[test].tolist()]).encode())
    same = [r for r in read_lines(out) if (r["task"], r["part"]) == (task.name, part)]
    if any(r.get("examples") != examples for r in same):
        raise SystemExit(
            f"{out} has results of {task.name}, {part}, with other examples; name a new file with "
            "--out, or remove these lines"
        )
    if any(r["model"] == model for r in same):
        return
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations, rare classes and new categories
        predicted, inner = fit_predict(model, task, train, test)
    seconds = time.perf_counter() - start
    y = task.y[test]
    line: dict[str, Any] = {"task": task.name, "kind": task.kind, "part": part, "model": model}
    line |= {
        "train": len(train),
        "examples": examples,
        "seconds": round(seconds, 2),
        **scores(task, y, predicted),
    }
    if inner is not None:
        line["inner"] = inner
    if part == "away" and task.groups is not None:
        line["groups"] = np.unique(task.groups[test], return_inverse=True)[1].tolist()
    line["losses"] = np.round(losses(task, y, predicted), 5).tolist()
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(f"{task.name}, {part}: {model} in {seconds:.1f} s", file=sys.stderr)


def read_lines(out: Path) -> list[dict[str, Any]]:
    """Return the results of a file, none if there is no file."""
    if not out.exists():
        return []
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()

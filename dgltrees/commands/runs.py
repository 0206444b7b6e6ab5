"""Commands that use a trained model: evaluate, predict, encode."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dgltrees._files import STANDARD_INPUT, PathLike, replacing
from dgltrees.commands.outputs import check_other_file
from dgltrees.errors import ConfigError
from dgltrees.formats.vectors import writer_of_vectors
from dgltrees.settings import Count
from dgltrees.training.device import process_count, process_rank
from dgltrees.training.rundir import ESTIMATOR, RunDirectory
from dgltrees.training.trained import load


def evaluate(run: str, *, test: list[str] | None = None, dir: str | None = None) -> None:
    """Print the metrics of a trained model on test files: evaluate DIR --test FILE.

    Prints one JSON object. In addition to the metrics of the task, ``majority_accuracy`` is the
    accuracy of always predicting the most frequent class of the training examples, ``loss`` the
    mean over all rows with a target, and ``examples`` their number. After
    ``train-edge-classifier``, ``joint_loss`` is -log P(S, T) per word.

    Arguments:
        run: the run directory, or the folder of a saved estimator.
        test: test files; by default those of the run, or its held-out examples
            (data.test_fraction).
        dir: folder of the data sets; by default that of the run.
    """
    print(json.dumps(_load(run).evaluate(test, dir)))


def predict(
    run: str,
    *,
    input: list[str],
    format: str | None = None,
    out: str | None = None,
    batch_size: Count = 1_000,
) -> None:
    """Print predictions of a trained model as JSON Lines: predict DIR --input FILE.

    Labels are not needed, and are ignored. Each batch is printed as soon as it is predicted. Under
    ``torchrun --nproc-per-node 4 -m dgltrees predict ...`` each process predicts every fourth file
    and writes its own part of ``--out``, such as ``out-2-of-4.jsonl``. Its lines name the ``file``
    and count its examples.

    Arguments:
        run: the run directory, or the folder of a saved estimator.
        input: files of trees or sentences, patterns of files, or - for standard input.
        format: format of the files; by default inferred from their names or first lines.
        out: file to write, after the last prediction; by default standard output.
        batch_size: number of examples to read at a time; with 1, each line is answered immediately.
    """
    loaded = _load(run)
    files, out = _share(loaded.files(input, flag="--input"), out)

    def lines() -> Iterator[dict[str, Any]]:
        if process_count() == 1:
            yield from loaded.predict(files, file_format=format, batch=batch_size)
            return
        for file in files:
            for line in loaded.predict([file], file_format=format, batch=batch_size):
                yield {"file": os.fspath(file), **line}

    write_lines(lines(), out)


def encode(
    run: str, *, input: list[str], out: str, format: str | None = None, batch_size: Count = 1_000
) -> None:
    """Write the vectors of trees or sentences: encode DIR --input FILE --out FILE.npy.

    A Parquet file has the columns ``example``, the index from 0, and ``vector``, a list. Under
    ``torchrun``, each process encodes some of the files and writes its own part, as in ``dgltrees
    predict``.

    Arguments:
        run: the run directory.
        input: files of trees or sentences, patterns of files, or - for standard input.
        out: .npy or .parquet file to write, with one row per example.
        format: see ``dgltrees predict``.
        batch_size: number of examples to read at a time.
    """
    write = writer_of_vectors(out)
    loaded = load(run)
    files, part = _share(loaded.files(input, flag="--input"), out)
    write(loaded.encode_parts(files, file_format=format, batch=batch_size), part or out)


def _load(run: str) -> Any:
    """Load a run directory, or the networks of an estimator with ``ensemble``."""
    directory = RunDirectory(run)
    if (directory / "run.json").exists() or not (directory / ESTIMATOR).exists():
        return load(run)
    from dgltrees import estimators  # scikit-learn, which runs do not need

    kind = str(directory.values(ESTIMATOR)["class"])
    # any other class is refused by load
    known = kind in estimators.__all__ and hasattr(getattr(estimators, kind), "load")
    return getattr(estimators, kind if known else "TreeRegressor").load(run).run_


def _share(files: list[PathLike], out: str | None) -> tuple[list[PathLike], str | None]:
    """Return the files of this process, and the file that it writes."""
    rank, count = process_rank(), process_count()
    if count == 1:
        return files, out
    if out is None:
        raise ConfigError("missing --out: with several processes, each writes a part of a file")
    if len(files) < count:
        raise ConfigError(
            f"expected at least one file for each of {count} processes, got {len(files)}; split "
            "the input, or start fewer processes"
        )
    name = Path(out)
    part = str(name.with_name(f"{name.stem}-{rank}-of-{count}{name.suffix}"))
    for file in files:
        check_other_file(file, part, "--input")
    return files[rank::count], part


def write_lines(rows: Iterable[dict[str, Any]], out: str | None) -> None:
    """Write dictionaries as JSON Lines to a file, or one by one to standard output."""
    lines: Iterator[str] = (json.dumps(row, ensure_ascii=False) for row in rows)
    if out in (None, STANDARD_INPUT):
        for line in lines:
            print(line, flush=True)
        return
    with replacing(out) as file:
        file.writelines(line + "\n" for line in lines)

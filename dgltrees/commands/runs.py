"""Commands that use a trained run: evaluate, predict, encode."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Optional

import numpy as np

from dgltrees._files import replacing
from dgltrees.analyses import shape
from dgltrees.errors import ConfigError
from dgltrees.training.loaded import load

__all__ = ["encode", "evaluate", "predict", "write_lines"]


def evaluate(run: str, *, test: Optional[list[str]] = None, root: Optional[str] = None) -> None:
    """Print the metrics of a run on test files: evaluate DIR --test FILE.

    One JSON object. Beside the metrics of the run's task, ``majority`` is the accuracy of always
    predicting the class that is most frequent in training, ``loss`` the mean over all rows with a
    class, ``examples`` their number, and ``joint_loss``, where ``train-shape`` has been run,
    -log P(S, T) per word.

    Arguments:
        run: the run directory.
        test: test files; by default the run's own, or what it has held out (data.test_fraction).
        root: folder of the data sets; by default the run's.
    """
    loaded = load(run)
    report = loaded.evaluate(test, root)
    try:
        joint = shape.joint_loss(loaded, test, root)
    except ConfigError as error:  # a shape model that cannot be used: the words' loss stands alone
        warnings.warn(f"no joint_loss: {error}", stacklevel=1)
        joint = None
    print(json.dumps(report if joint is None else {**report, "joint_loss": joint}))


def predict(
    run: str,
    *,
    input: list[str],
    out: Optional[str] = None,
) -> None:
    """Print predictions of a run as JSON lines: predict DIR --input FILE.

    Arguments:
        run: the run directory.
        input: files of trees or sentences, in a format of the run's task.
        out: file to write; by default standard output.
    """
    loaded = load(run)
    write_lines(loaded.predict(loaded.read(input, flag="--input")), out)


def encode(run: str, *, input: list[str], out: str) -> None:
    """Write the vectors of trees or sentences: encode DIR --input FILE --out FILE.npy.

    Arguments:
        run: the run directory.
        input: files of trees or sentences, in a format of the run's task.
        out: .npy file to write, one row per example.
    """
    if Path(out).suffix != ".npy":
        raise ConfigError(f"expected --out to end in .npy, got {out}")
    loaded = load(run)
    vectors = loaded.encode(loaded.read(input, flag="--input"))
    with replacing(out, "wb") as file:
        np.save(file, vectors, allow_pickle=False)


def write_lines(rows: Iterable[dict[str, Any]], out: Optional[str]) -> None:
    """Write dictionaries as JSON lines, to a file or to standard output."""
    lines: Iterator[str] = (json.dumps(row, ensure_ascii=False) for row in rows)
    if out is None:
        for line in lines:
            print(line)
        return
    with replacing(out) as file:
        file.writelines(line + "\n" for line in lines)

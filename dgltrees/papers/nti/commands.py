"""Commands of Neural Tree Indexers: attention, accuracy-by-padding."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dgltrees.commands.outputs import print_text
from dgltrees.commands.plots import NO_PICTURE, has_matplotlib, new_figure, save_figure
from dgltrees.errors import ConfigError
from dgltrees.papers.nti.analyses import accuracy_by_padding as accuracy_rows
from dgltrees.papers.nti.analyses import attention_map, pad_attention
from dgltrees.settings import Count, NonNegativeInt
from dgltrees.training.trained import load

PICTURES = (".png", ".svg", ".pdf")


def attention(
    run: str,
    *,
    input: list[str],
    example: NonNegativeInt = 0,
    phrases: list[str] | None = None,
    out: str | None = None,
) -> None:
    """Draw the attention from one sentence to another: attention DIR --input FILE --example 3.

    Arguments:
        run: the run directory of a model of sentence pairs with attention.
        input: files of the run's task.
        example: number of the pair, from 0.
        phrases: phrases of the hypothesis to draw; default: those of all nodes.
        out: file to write, a picture (.svg) or text (.txt); by default the text is printed.
    """
    drawing = attention_map(load(run), input, example).draw(phrases)
    if out is None:
        print_text(drawing)
    else:
        drawing.save(out)


def accuracy_by_padding(
    runs: list[str], *, input: list[str], step: Count = 5, out: str | None = None
) -> None:
    """Print accuracy by the number of padded leaves: accuracy-by-padding DIR ... --input FILE.

    Prints one JSON object per run. For models with attention, ``attention`` is the fraction on
    pads. The picture has one line per run.

    Arguments:
        runs: run directories of models with full trees over plain sentences.
        input: files of the runs' task.
        step: width of a group, in pads.
        out: picture to write as well, .png, .svg or .pdf.
    """
    if out is not None and Path(out).suffix not in PICTURES:
        raise ConfigError(f"expected --out to end in {', '.join(PICTURES)}, got {out}")
    if out is not None and not has_matplotlib():
        raise ConfigError(NO_PICTURE)
    if len(set(runs)) < len(runs):
        raise ConfigError(f"expected every run once, got {' '.join(runs)}")
    loaded = {run: load(run) for run in runs}
    names = [each.task.display_name(each.settings.model) for each in loaded.values()]
    lines = {}
    for name, (path, run) in zip(names, loaded.items()):
        rows = accuracy_rows(run, input, step=step)
        report: dict[str, Any] = {"run": path, "accuracy": rows}
        if run.settings.model.get("interaction", "none") != "none":
            report["attention"] = pad_attention(run, input)
        print(json.dumps(report), flush=True)
        lines[name if names.count(name) == 1 else f"{name}, {path}"] = rows
    if out is not None:
        accuracy_against_pads(lines, Path(out))


def accuracy_against_pads(models: Mapping[str, Sequence[dict[str, Any]]], path: Path) -> None:
    """Draw accuracy over the number of padded leaves, one line per model.

    Figure 3 of Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017).

    Arguments:
        models: the rows of :func:`~dgltrees.papers.nti.analyses.accuracy_by_padding`, by model.
        path: the file of the picture; its ending is the format.
    """
    figure = new_figure(figsize=(6, 4))
    if figure is None:
        return
    axes = figure.subplots()
    for name, rows in models.items():
        pads = [row["pads"] for row in rows]
        accuracy = [row["accuracy"] for row in rows]
        axes.plot(pads, accuracy, marker="o", label=name, clip_on=False)  # also at 1
    axes.set(xlabel="pads, at least", ylabel="accuracy", ylim=(0, 1))
    axes.legend()
    save_figure(figure, path)

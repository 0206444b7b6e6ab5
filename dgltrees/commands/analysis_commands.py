"""The commands that look into models of plain sentences: attend, induce, nearest, padding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser

from dgltrees._files import replacing
from dgltrees.commands.flags import parse_flags
from dgltrees.errors import ConfigError

__all__ = ["attend", "induce", "nearest", "padding"]


def attend(argv: Sequence[str]) -> None:
    """``attend DIR --input FILE [--example N] [--phrases TEXT ...] [--out FILE.svg]``."""
    made = _parser("attend")
    made.add_argument("--example", type=int, default=0, help="which pair of the file, from 0")
    made.add_argument("--phrases", type=str, nargs="+", help="of the hypothesis; else all of them")
    made.add_argument("--out", type=str, help="picture, .svg, or text, .txt; else text is printed")
    values = parse_flags(made, argv)
    from dgltrees.analyses.attention import attention_map
    from dgltrees.analyses.sentence_runs import SentenceRun

    found = attention_map(SentenceRun(values.run), values.input, values.example)
    drawing = found.draw(values.phrases)
    if values.out is None:
        print(drawing)
    else:
        drawing.save(values.out)


def induce(argv: Sequence[str]) -> None:
    """``induce DIR --data.test FILE [--out FOLDER] [--limit N]``: prints one JSON object."""
    made = ArgumentParser(prog="dgltrees induce", exit_on_error=False)
    made.add_argument("run", type=str, help="a run directory whose model has a policy")
    made.add_argument("--data.test", type=str, nargs="+", help="test files; else the run's own")
    made.add_argument("--data.root", type=str, help="folder of the data sets")
    made.add_argument("--out", type=str, help="folder for pictures of trees, learned and given")
    made.add_argument("--limit", type=int, default=10, help="how many sentences to draw")
    values = parse_flags(made, argv)
    if values.limit < 1:
        raise ConfigError(f"expected --limit of at least 1, got {values.limit}")
    from dgltrees.analyses.brackets import induced_trees

    found = induced_trees(values.run, test=values.data.test, root=values.data.root)
    print(json.dumps(found.report()))
    if values.out is not None:
        found.draw(values.out, values.limit)


def nearest(argv: Sequence[str]) -> None:
    """``nearest DIR --input FILE --query TEXT ... [--of sentences] [--out FILE]``: JSON lines."""
    made = _parser("nearest")
    made.add_argument("--query", type=str, nargs="+", required=True, help="texts to compare with")
    made.add_argument("--number", type=int, default=5, help="neighbours of each")
    made.add_argument("--of", type=str, default="phrases", help="phrases or sentences")
    made.add_argument("--out", type=str, help="file to write; else standard output")
    values = parse_flags(made, argv)
    from dgltrees.analyses import neighbors
    from dgltrees.analyses.sentence_runs import SentenceRun

    found = neighbors.nearest(
        SentenceRun(values.run), values.input, values.query, number=values.number, of=values.of
    )
    lines = [json.dumps(row, ensure_ascii=False) for row in found]
    if values.out is None:
        print("\n".join(lines))
        return
    with replacing(values.out) as file:
        file.writelines(line + "\n" for line in lines)


def padding(argv: Sequence[str]) -> None:
    """``padding DIR --input FILE [--step 5] [--out FILE.png]``: accuracy by number of pads."""
    made = _parser("padding")
    made.add_argument("--step", type=int, default=5, help="how many numbers of pads are one group")
    made.add_argument("--out", type=str, help="picture to write besides")
    values = parse_flags(made, argv)
    from dgltrees.analyses.attention import pad_attention
    from dgltrees.analyses.padding import accuracy_by_padding
    from dgltrees.analyses.sentence_runs import SentenceRun
    from dgltrees.commands.plots import NO_PICTURE, accuracy_against_pads, has_matplotlib

    if values.out is not None and not has_matplotlib():
        raise ConfigError(NO_PICTURE)
    run = SentenceRun(values.run)
    rows = accuracy_by_padding(run, values.input, step=values.step)
    found: dict[str, Any] = {"accuracy": rows}
    if run.settings.model.interaction != "none":
        found["attention"] = pad_attention(run, values.input)
    print(json.dumps(found))
    if values.out is not None:
        accuracy_against_pads({run.task.kind(run.settings.model): rows}, Path(values.out))


def _parser(command: str) -> ArgumentParser:
    made = ArgumentParser(prog=f"dgltrees {command}", exit_on_error=False)
    made.add_argument("run", type=str, help="a run directory of snli, wikiqa or sst-phrases")
    made.add_argument("--input", type=str, nargs="+", required=True, help="files of the task")
    return made

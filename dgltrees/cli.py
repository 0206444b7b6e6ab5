"""The command line: a table of commands, each imported when it is called."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, Optional, Union

from dgltrees.errors import ConfigError, TreeError

__all__ = ["COMMANDS", "main"]

_TRAINING, _DATA = "dgltrees.commands.commands", "dgltrees.commands.data_commands"
_SENTENCES = "dgltrees.commands.sentence_commands"
_ANALYSES = "dgltrees.commands.analysis_commands"
_TREES = "dgltrees.commands.tree_commands"

COMMANDS = {
    "train": (_TRAINING, "train a model: train PRESET --out DIR"),
    "evaluate": (_TRAINING, "metrics of a run as one JSON object: evaluate DIR --data.test FILE"),
    "predict": (_TRAINING, "predictions of a run as JSON lines: predict DIR --input FILE"),
    "sweep": (_TRAINING, "a grid of settings and seeds: sweep PRESET --grid model.rank=3,5"),
    "parse": (_SENTENCES, "k-best trees of sentences: parse DIR --input FILE --k 20 --out FILE"),
    "rerank": (_SENTENCES, "k-best trees by a tree model: rerank DIR --input FILE --tune GOLD"),
    "complete": (_SENTENCES, "fill blanks: complete DIR --questions FILE --answers FILE"),
    "decide": (_TREES, "train when a tree-lm run adds edges, to generate trees: decide DIR"),
    "generate": (_TREES, "draw trees from a tree-lm run: generate DIR --number 10 --seed 0"),
    "compress": (_TREES, "shorten sentences: compress DIR --input FILE --max_words 10"),
    "attend": (_ANALYSES, "what a hypothesis attends to: attend DIR --input FILE --out FILE.svg"),
    "induce": (_ANALYSES, "bracket F1 of trees that a policy learned: induce DIR --data.test FILE"),
    "nearest": (_ANALYSES, "phrases or sentences alike: nearest DIR --input FILE --query TEXT"),
    "padding": (_ANALYSES, "accuracy by number of pads: padding DIR --input FILE --out FILE.png"),
    "demo": (_TRAINING, "two ListOps models made, trained and compared: demo --out DIR"),
    "make": (_DATA, "write a synthetic data set from a seed: make NAME --out DIR"),
    "presets": (_DATA, "list the presets"),
    "show": (_DATA, "print the settings of a preset: show PRESET"),
    "draw": (_DATA, "draw trees as text or SVG: draw FILE --trees 0:5"),
    "bench": ("dgltrees.bench.command", "this machine's speed of levels against dgl"),
}


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the command line; returns the exit status.

    Wrong data and wrong settings end in one line on standard error and status 2; a warning is one
    line too.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    usual = warnings.formatwarning
    warnings.formatwarning = _plain  # type: ignore[assignment]
    try:
        return _run(words)
    finally:
        warnings.formatwarning = usual


def _run(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_help())
        return 0 if words else 2
    try:
        if words[0] not in COMMANDS:
            raise ConfigError(f"no command {words[0]!r}; there are {', '.join(COMMANDS)}")
        getattr(importlib.import_module(COMMANDS[words[0]][0]), words[0])(words[1:])
        sys.stdout.flush()
    except (ConfigError, TreeError) as error:
        return _fail(str(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # the reader of the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return _fail(str(error))
    except KeyboardInterrupt:
        resumes = words[0] in ("train", "decide", "sweep", "demo")
        _fail("stopped" + ("; the same command goes on from here" if resumes else ""))
        return 130
    return 0


def _fail(message: str) -> int:
    print(f"dgltrees: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _plain(message: Union[Warning, str], category: type[Warning], *where: Any) -> str:
    """A warning as a line: of a command, the line of code that it comes from tells nobody more."""
    kind = "" if category is UserWarning else f"{category.__name__}: "
    return f"dgltrees: {kind}{' '.join(str(message).split())}\n"


def _help() -> str:
    lines = [f"  {name:10}{what}" for name, (_, what) in COMMANDS.items()]
    start = ["usage: dgltrees COMMAND ...", "", "Neural networks over trees.", ""]
    return "\n".join([*start, *lines, "", "dgltrees COMMAND --help says more."])

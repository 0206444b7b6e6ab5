"""Commands that look inside a model: explain, attention, compare-trees, similar and others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, Optional

from dgltrees.analyses.attention import attention_map, pad_attention
from dgltrees.analyses.explain import explain as explain_prediction
from dgltrees.analyses.padding import accuracy_by_padding as accuracy_rows
from dgltrees.analyses.policy_trees import policy_trees
from dgltrees.analyses.similar import similar as most_similar
from dgltrees.analyses.similar_trees import similar_trees
from dgltrees.commands.plots import NO_PICTURE, accuracy_against_pads, has_matplotlib
from dgltrees.commands.runs import write_lines
from dgltrees.errors import ConfigError
from dgltrees.options import Count, NonNegativeInt
from dgltrees.tasks.own_trees.base import OwnTreesTask
from dgltrees.training.loaded import load

__all__ = ["accuracy_by_padding", "attention", "compare_trees", "explain", "similar"]

PICTURES = (".png", ".svg", ".pdf")


def explain(
    run: str,
    *,
    input: list[str],
    tree: NonNegativeInt = 0,
    target: Optional[str] = None,
    node: Optional[NonNegativeInt] = None,
    by: str = "nodes",
    out: Optional[str] = None,
) -> None:
    """Show which nodes and columns a prediction hangs on: explain DIR --input FILE --tree 3.

    Every node has what it adds to the prediction, by integrated gradients over its columns; all
    nodes together add the difference to a tree without any input. With ``--by subtrees`` it has
    what the prediction loses where the node and all below it are without input.

    Arguments:
        run: the run directory of a model of trees.
        input: files of trees, in a format of the run's task.
        tree: number of the tree, or pair, from 0.
        target: class to explain, by default the predicted one; or the flag or number of several.
        node: node whose prediction to explain, where the model predicts nodes; by default the root.
        by: what the nodes show, nodes, subtrees or the name of a column.
        out: picture to write, .svg, or text, .txt; by default the text is printed.
    """
    explanation = explain_prediction(load(run), input, tree, target=target, node=node)
    if out is not None:
        explanation.save(out, by)
    elif by == "nodes":
        print(explanation)
    else:
        print(explanation.draw(by))


def attention(
    run: str,
    *,
    input: list[str],
    example: NonNegativeInt = 0,
    phrases: Optional[list[str]] = None,
    out: Optional[str] = None,
) -> None:
    """Draw the attention from one sentence to another: attention DIR --input FILE --example 3.

    Arguments:
        run: the run directory of a model of sentence pairs that attends.
        input: files of the run's task.
        example: number of the pair, from 0.
        phrases: phrases of the hypothesis to draw; by default all of its nodes.
        out: picture to write, .svg, or text, .txt; by default the text is printed.
    """
    drawing = attention_map(load(run), input, example).draw(phrases)
    if out is None:
        print(drawing)
    else:
        drawing.save(out)


def compare_trees(
    run: str,
    *,
    test: Optional[list[str]] = None,
    root: Optional[str] = None,
    out: Optional[str] = None,
    limit: Count = 10,
) -> None:
    """Compare the trees of a learned policy with the given ones: compare-trees DIR --test FILE.

    Prints precision, recall and F1 of brackets and shares of operations as one JSON object.

    Arguments:
        run: the run directory of a model with a policy.
        test: test files; by default the run's own, or what it has held out (data.test_fraction).
        root: folder of the data sets; by default the run's.
        out: folder for pictures of trees, learned and given; files in it stay as they are.
        limit: number of sentences to draw, at most.
    """
    trees = policy_trees(load(run), test=test, root=root)
    if out is not None:
        trees.draw(out, limit)
    print(json.dumps(trees.report()))


def similar(
    run: str,
    *,
    input: list[str],
    query: list[str],
    number: Count = 5,
    of: Optional[Literal["phrases", "sentences"]] = None,
    out: Optional[str] = None,
) -> None:
    """Find phrases or trees that a model takes for similar: similar DIR --input FILE --query TEXT.

    Writes one JSON line per query, with its nearest texts, or of trees of one's own their numbers,
    and their cosines.

    Arguments:
        run: the run directory of a model that makes trees over plain sentences, or of one of trees
            of one's own.
        input: files of the run's task, in which is searched.
        query: texts to compare with, with spaces between words; or numbers of trees of the input,
            from 0.
        number: neighbours per query.
        of: search phrases, as by default, or whole sentences; not read where trees are compared.
        out: file to write; by default standard output.
    """
    loaded = load(run)
    if not isinstance(loaded.task, OwnTreesTask):
        rows = most_similar(loaded, input, query, number=number, of=of or "phrases")
    elif of is not None or not all(each.isdecimal() for each in query):
        raise ConfigError(
            "expected --query to be numbers of trees, and no --of, since the run compares trees, "
            f"got {' '.join(query)}{f' and {of}' if of else ''}"
        )
    else:
        rows = similar_trees(loaded, input, [int(each) for each in query], number=number)
    write_lines(rows, out)


def accuracy_by_padding(
    runs: list[str], *, input: list[str], step: Count = 5, out: Optional[str] = None
) -> None:
    """Print accuracy by the number of padded leaves: accuracy-by-padding DIR ... --input FILE.

    One JSON object per run; where the model attends, ``attention`` is the part of it that falls on
    pads. The picture has one line per run.

    Arguments:
        runs: run directories of models that make full trees over plain sentences.
        input: files of the runs' task.
        step: width of a group, in pads.
        out: picture to write besides, .png, .svg or .pdf.
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

"""Commands that analyse a model: explain and similar."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Literal

from dgltrees.analyses.explain import explain as explain_prediction
from dgltrees.analyses.require import require
from dgltrees.analyses.similar_trees import similar_trees
from dgltrees.commands.outputs import print_text
from dgltrees.commands.runs import write_lines
from dgltrees.errors import ConfigError
from dgltrees.settings import Count, NonNegativeInt
from dgltrees.settings.tasks import TASKS
from dgltrees.tasks.custom_trees.base import CustomTreesTask
from dgltrees.training.trained import load


def explain(
    run: str,
    *,
    input: list[str],
    tree: NonNegativeInt = 0,
    target: str | None = None,
    node: NonNegativeInt | None = None,
    by: str = "nodes",
    out: str | None = None,
) -> None:
    """Show how nodes and columns contribute to a prediction: explain DIR --input FILE --tree 3.

    Prints the tree with the contribution of each node to the prediction, by integrated gradients
    over its columns. The contributions sum to about the difference from a tree without any input;
    in an additive model they sum to the prediction. ``--by subtrees`` shows the decrease of the
    prediction if a node and its descendants have no input.

    Arguments:
        run: the run directory of a model of trees, or the folder of a saved estimator.
        input: files of trees, in a format of the run's task.
        tree: index of the tree, or pair, from 0.
        target: class to explain, by default the predicted class; for several targets, the name of
            one of them.
        node: node whose prediction is explained, if the model predicts nodes; by default the root.
        by: numbers to show at the nodes: nodes, subtrees, or the name of a column.
        out: drawing (.svg) or text (.txt) to write; by default the text is printed.
    """
    explanation = explain_prediction(load(run), input, tree, target=target, node=node)
    if out is not None:
        explanation.save(out, by)
        print_text(explanation.summary(by))
    elif by == "nodes":
        print_text(explanation)
    else:
        print_text(f"{explanation.summary(by)}\n\n{explanation.draw(by)}")


def similar(
    run: str,
    *,
    input: list[str],
    query: list[str],
    number: Count = 5,
    of: Literal["phrases", "sentences"] | None = None,
    out: str | None = None,
) -> None:
    """Find the most similar phrases or trees: similar DIR --input FILE --query TEXT.

    Writes one JSON line per query, with its nearest texts (or, for custom trees, their indices) and
    their cosines.

    Arguments:
        run: the run directory of a model of custom trees, or of a model that builds trees over
            plain sentences.
        input: files of the run's task, which are searched.
        query: texts to compare with, with spaces between words; or indices of trees of the input,
            from 0.
        number: number of neighbours per query.
        of: search phrases (the default) or whole sentences; has no effect for custom trees.
        out: file to write; by default standard output.
    """
    loaded = load(run)
    if not isinstance(loaded.task, CustomTreesTask):
        names = ", ".join(task.name for task in TASKS.values() if task.similar is not None)
        runs = (
            f"a run of {' or '.join(names.rsplit(', ', 1))}" if names else "a model of custom trees"
        )
        most_similar = resolve_name(require(loaded, loaded.task.similar, str, runs))
        rows = most_similar(loaded, input, query, number=number, of=of or "phrases")
    elif of is not None or not all(each.isdecimal() for each in query):
        raise ConfigError(
            "expected --query to be indices of trees, and no --of, for a model of custom trees, "
            f"got {' '.join(query)}{f' and --of {of}' if of else ''}"
        )
    else:
        rows = similar_trees(loaded, input, [int(each) for each in query], number=number)
    write_lines(rows, out)

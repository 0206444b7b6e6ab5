"""Pictures of trees, arcs, attention and operations, as SVG and as text; the command ``draw``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dgltrees.draw import Picture, draw, draw_arcs
from dgltrees.papers.nti.graphs import full_trees
from dgltrees.papers.nti.pictures import draw_attention, tree_cells
from dgltrees.papers.rrnet.pictures import draw_operations
from dgltrees.trees.builders import from_brackets, from_heads
from dgltrees.trees.forest import Forest
from dgltrees.trees.kinds import Operation
from dgltrees.trees.vocabulary import Vocabulary
from tests.golden.rows import SAMPLES, run, sha

OPERATIONS = {"(": Operation.SPLIT, ")": Operation.MERGE}
VALUES = [0.25, 1, 2, np.nan, 1234567.0, -1, 0, 0, 0]
SENTENCE = ["The", "dog", "that", "barked", "at", "us", "yesterday", "«slept»"]
HEADS = [2, 8, 4, 2, 4, 5, 4, 0]


def listops() -> Forest:
    """``[MAX 3 [MIN 9 7] 2]`` and ``[SM 5 6]``, the nodes of the first in another order."""
    return Forest.build(
        parent=[2, 4, 4, 2, -1, 4, -1, 0, 0],
        pos=[1, 2, 1, 0, 0, 0, 0, 0, 1],
        offsets=[0, 6, 9],
        columns={"op": [-1, -1, 2, -1, 0, -1, 3, -1, -1], "value": [7, 2, -1, 9, -1, 3, -1, 5, 6]},
        vocabs={"op": Vocabulary(["MAX", "MED", "MIN", "SM"], frozen=True)},
    )


def random_trees(seed: int, trees: int) -> Forest:
    """Trees of 1 to 25 nodes, with labels of different lengths."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 26, trees)
    parent = [int(rng.integers(max(0, i - 6), i)) if i else -1 for n in sizes for i in range(n)]
    names = np.array(["W" * int(rng.integers(1, 15)) for _ in parent])
    return Forest.build(parent, offsets=[0, *np.cumsum(sizes)], columns={"name": names})


def _trees() -> Iterator[tuple[str, Picture]]:
    trees, gaps = listops(), Forest.build([-1, 0, 0, 1, 1], pos=[0, 0, 1, 0, 2])
    yield "trees", draw(trees)
    yield "one tree", draw(trees, 1)
    yield "trees in another order", draw(trees, [1, 0], titles=["é → é", "<b>"])
    yield "labels of a column", draw(trees, labels="value")
    yield "labels given", draw(gaps, labels=['"', "<&>", "\x1b", "中文 ж e\u0301", "x" * 100])
    yield "values of both signs", draw(trees, values=VALUES)
    yield "values", draw(trees, values=np.arange(9) / 7)
    yield "predictions", draw(trees, predictions=[3, 1])
    yield "predictions of nodes", draw(trees, predictions=np.arange(9))
    yield "targets", draw(trees, targets=[4, 1])
    yield "predictions and targets", draw(trees, predictions=[3, 1], targets=[4, 1], values=VALUES)
    names = {"target": Vocabulary(["no", "yes"])}
    yield "classes with names", draw(trees, predictions=[0, 1], targets=[-1, 0], vocabs=names)
    for positions in ("auto", "none", "all"):
        yield f"missing children, {positions}", draw(gaps, positions=positions)
    yield "chain", draw(Forest.build([*range(-1, 60), 40]), positions="none")
    yield "star", draw(Forest.build([-1] + [0] * 40))
    yield "too large for SVG", draw(trees, svg_limit=3)
    yield "many trees", draw(Forest.concat([trees] * 15))
    for seed in range(4):
        yield f"random trees {seed}", draw(random_trees(seed, seed + 1), positions="all")
    yield "brackets", draw(from_brackets("(S (NP (DT The) (NN film)) (. .))"))


def _others() -> Iterator[tuple[str, Picture]]:
    tags = {"upos": ["DET", "NOUN", "PRON", "VERB", None, "PRON", "ADV", "VERB"]}
    relations = {"deprel": ["det", "nsubj", None, "acl", "case", "obl", "advmod", "root"]}
    yield "arcs", draw_arcs(from_heads(SENTENCE, HEADS))
    yield "arcs with columns", draw_arcs(from_heads(SENTENCE, HEADS, columns={**tags, **relations}))
    two = from_heads(["é", "b", "c"], [0, 0, 1], offsets=[0, 1, 3])
    yield "arcs of two trees", draw_arcs(two, [1, 0], titles=["«0»", "1"])
    yield "arcs that cross", draw_arcs(from_heads(list("abcde"), [3, 4, 0, 3, 2]))
    yield "arcs of a long sentence", draw_arcs(from_heads(["w"] * 60, [0, *range(1, 60)]))
    spans, depth = [(0, 0), (1, 1), (2, 2), (3, 3), (0, 1), (2, 3), (0, 3)], [2, 2, 2, 2, 1, 1, 0]
    weights = np.array([[0, 0.5, 0, 0, 0, 0.25, 0.25], [0.1, 0, 0, 0, 0, 0, 0.9]])
    words = [None, "a", "<b>", "cat"]
    yield "attention", draw_attention(words, spans, depth, weights)
    yield "attention with titles", draw_attention(words, spans, depth, weights, titles=["é", "z"])
    _, cells, depths = tree_cells(full_trees([5]))
    even = np.full((1, len(cells)), 1 / len(cells))
    yield "attention over a full tree", draw_attention([None] * 3 + [*"abcde"], cells, depths, even)
    for text in ("(1+(2*3))", "((9+(2+6))+(1*3))", "1+2"):
        operations = [int(OPERATIONS.get(char, Operation.RECUR)) for char in text]
        yield f"operations {text}", draw_operations(operations, text, title="an expression")
        letters = [char for char in text if char not in OPERATIONS]
        yield f"operations {text}, recur", draw_operations(operations, letters, recur_only=True)


def _row(picture: Picture) -> dict[str, str]:
    svg = picture._repr_svg_()
    texts = {"svg": svg, "text": picture.text, "ascii": "\n".join(picture.lines(ascii_only=True))}
    return {"is": repr(picture)} | {
        name: f"{sha(text)} of {len(text)} characters" for name, text in texts.items() if text
    }


def _commands(folder: Path) -> Iterator[tuple[str, Any]]:
    files = ["listops/test.tsv", "lrt/train4", "sst/dev.txt", "ud/sample.conllu", "penn/sample.mrg"]
    files += ["plans/train.jsonl", "inex/inex05.train.elastic.tree", "boolsent/dev.txt"]
    for file in files:
        words = ["draw", str(SAMPLES / file), "--trees", "0,2:4"]
        yield f"draw {file}", sha(run(words, folder).get("out", ""))
        for style, ending in (("svg", "svg"), ("text", "txt")):
            path = folder / f"picture.{ending}"
            row = run([*words, "--style", style, "--out", str(path)], folder)
            yield f"draw {file} as {style}", {**row, "file": sha(path.read_bytes())}


def record() -> dict[str, Any]:
    """A row for each picture and each command."""
    rows: dict[str, Any] = {name: _row(picture) for name, picture in (*_trees(), *_others())}
    with tempfile.TemporaryDirectory() as folder:
        rows.update(_commands(Path(folder)))
    return rows


fast = record

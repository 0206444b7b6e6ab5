"""The tasks of the benchmark: trees, targets, groups and the part that is kept away.

The files are public and not part of the repository; ``docs/reference/data_sets.md`` has their
sources. Larger sets are reduced to about 1,000 examples, at random with a fixed seed.
"""

from __future__ import annotations

import ast
import csv
import os
import random
import sysconfig
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from dgltrees import Forest, LabeledTrees, read
from dgltrees.formats import RecordLayout
from dgltrees.trees.builders import from_nested, from_python, from_tree_sitter

EXAMPLES = 1000
"""Examples of a task, at most."""

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """A task of the benchmark.

    Arguments:
        name: its name.
        trees: the trees, or pairs of trees.
        y: the target of each example: a class, or a number.
        kind: ``classes``, ``numbers``, or ``logs`` for positive numbers over orders of magnitude.
        groups: the group of each example, which no split separates; None if there are none.
        folds: the number of folds.
    """

    name: str
    trees: LabeledTrees
    y: NDArray[Any]
    kind: str
    groups: NDArray[Any] | None = None
    folds: int = 5

    def kept_away(self) -> tuple[Rows, Rows]:
        """Return the examples of development, and the fifth that is measured once, at the end."""
        splitter: Any = ShuffleSplit
        if self.groups is not None:
            splitter = GroupShuffleSplit
        elif self.kind == "classes":
            splitter = StratifiedShuffleSplit
        split = splitter(1, test_size=0.2, random_state=0)
        rows, away = next(split.split(self.y, self.y, self.groups))
        return np.sort(rows), np.sort(away)

    def splits(self, seed: int = 0) -> Iterator[tuple[Rows, Rows]]:
        """Yield the training and test examples of each fold, without those kept away."""
        rows, _ = self.kept_away()
        groups = None if self.groups is None else self.groups[rows]
        splitter: Any = KFold(self.folds, shuffle=True, random_state=seed)
        if groups is not None:
            splitter = GroupKFold(self.folds, shuffle=True, random_state=seed)
        elif self.kind == "classes":
            splitter = StratifiedKFold(self.folds, shuffle=True, random_state=seed)
        for train, test in splitter.split(rows, self.y[rows], groups):
            yield rows[train], rows[test]


def imdb(folder: Path) -> Task:
    """Execution times of 500 PostgreSQL plans on IMDB, from estimates."""
    layout = RecordLayout(tree_path="json.Plan", children_key="Plans")
    data = read(folder / "plans/imdb_plans.csv", layout=layout)
    names = "Node Type,Parent Relationship,Join Type,Relation Name,Startup Cost,Total Cost"
    columns = [*names.split(","), "Plan Rows", "Plan Width", "Workers Planned"]
    return Task("imdb", _only(data, columns), data.columns["json.Execution Time"], "logs")


def tpch_known(folder: Path) -> Task:
    """Total times of operators of TPC-H plans; a test query's template was seen in training."""
    trees, y, queries = _tpch(folder)
    return Task("tpch_known", trees, y, "logs", queries)


def tpch_unseen(folder: Path) -> Task:
    """Total times of operators of TPC-H plans of templates that were not seen in training."""
    trees, y, queries = _tpch(folder)
    templates = np.array([query.partition("_")[0] for query in queries])
    return Task("tpch_unseen", trees, y, "logs", templates, folds=4)


def sick(folder: Path) -> Task:
    """Relatedness, 1 to 5, of pairs of sentences with binary parses."""
    scores = {}
    with (folder / "sick/SICK_scores_train.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            key = _letters(row["sentence_A"]), _letters(row["sentence_B"])
            scores[key] = float(row["relatedness_score"])
    pairs, y = [], []
    for line in (folder / "sick/SICK_train_parsed.txt").read_text(encoding="utf-8").splitlines():
        first, second = line.split("\t")[1:3]
        key = _letters(first), _letters(second)
        if key in scores:
            pairs.append((_binary(first), _binary(second)))
            y.append(scores[key])
    chosen = _sample(len(pairs))
    forest = from_nested(*(tree for row in chosen for tree in pairs[row]))
    return Task("sick", LabeledTrees(forest, arity=2), np.array(y)[chosen], "numbers")


def inex(folder: Path) -> Task:
    """Classes of XML documents from their structure."""
    data = read(folder / "inex/inex05.train.elastic.tree", format="inex")
    y = np.array(data.targets.names)[data.columns["target"]]
    chosen = _sample(len(data))
    return Task("inex", LabeledTrees(data.forest.select(chosen)), y[chosen], "classes")


def poj10(folder: Path) -> Task:
    """Problems that C and C++ programs solve: ten programs of each of 104 problems."""
    return _poj(folder, "poj10", classes=104, programs=10)


def poj100(folder: Path) -> Task:
    """Problems that C and C++ programs solve: a hundred programs of each of ten problems."""
    return _poj(folder, "poj100", classes=10, programs=100)


def python_package(folder: Path) -> Task:
    """Packages of functions of Python's standard library; ``folder`` is not read."""
    packages = "asyncio email http idlelib importlib json lib2to3 logging multiprocessing tkinter"
    functions = _functions([*packages.split(), "unittest", "xml"])
    chosen = [functions[row] for row in _sample(len(functions))]
    y = np.array([package for _, package in chosen])
    return Task("python_package", _of_python([each for each, _ in chosen]), y, "classes")


def python_bug(folder: Path) -> Task:
    """Whether two operands or two arguments of a function were exchanged.

    The functions are those of Python's standard library; ``folder`` is not read.
    """
    rng = random.Random(0)
    sources: list[ast.AST] = []
    y = []
    functions = _functions(["asyncio", "email", "http", "idlelib", "json", "logging", "unittest"])
    rng.shuffle(functions)
    for function, _ in functions:
        broken = ast.parse(ast.unparse(function)).body[0]
        if _exchange(broken, rng) and len(sources) < EXAMPLES:
            planted = len(sources) % 2 == 1
            sources.append(broken if planted else function)
            y.append("bug" if planted else "correct")
    return Task("python_bug", _of_python(sources), np.array(y), "classes")


TASKS: dict[str, Callable[[Path], Task]] = {
    task.__name__: task
    for task in (
        imdb,
        tpch_known,
        tpch_unseen,
        sick,
        inex,
        poj10,
        poj100,
        python_package,
        python_bug,
    )
}
"""The tasks by name."""


def folder_of(path: str | None) -> Path:
    """Return the folder of the data, by default that of the variable DGLTREES_DATA.

    Raises:
        SystemExit: no folder is named, or there is none.
    """
    named = path or os.environ.get("DGLTREES_DATA")
    if not named:
        raise SystemExit("missing the folder of the data; name it with --data or DGLTREES_DATA")
    if not Path(named).is_dir():
        raise SystemExit(f"expected a folder with the data, got {named}; name it with --data")
    return Path(named)


def _sample(count: int, size: int = EXAMPLES) -> Rows:
    """Return ``size`` of ``count`` rows at random, in their order; all if there are fewer."""
    return np.sort(np.random.default_rng(0).permutation(count)[:size])


def _only(data: LabeledTrees, columns: Sequence[str]) -> LabeledTrees:
    """Return the trees with these node columns alone."""
    forest = data.forest
    vocabs = {name: vocab for name, vocab in forest.vocabs.items() if name in columns}
    return LabeledTrees(forest.with_columns({n: forest.columns[n] for n in columns}, vocabs))


def _tpch(folder: Path) -> tuple[LabeledTrees, NDArray[np.float64], NDArray[Any]]:
    """Return operators that were run, with the operators below them, their times and queries."""
    layout = RecordLayout(tree_id="query_file", node_id="node_id", depth="depth")
    data = read(folder / "plans/tpch_operators.csv", layout=layout)
    forest = data.forest
    order, up = np.arange(forest.num_nodes), forest.global_parent  # nodes are in preorder
    last = order.copy()  # the last node below each node
    for level in range(int(forest.depth.max()), 0, -1):
        at = forest.depth == level
        np.maximum.at(last, up[at], last[at])
    times = np.asarray(forest.columns["actual_total_time"])
    roots = np.flatnonzero(times > 0)
    roots = roots[_sample(len(roots), EXAMPLES + 200)]
    nodes = np.concatenate([np.arange(root, last[root] + 1) for root in roots])
    sizes = last[roots] + 1 - roots
    offsets = np.append(0, np.cumsum(sizes))
    inside = up[nodes] - np.repeat(roots, sizes)
    inside[offsets[:-1]] = -1
    names = "node_type parent_relationship np nt nt1 nt2 sel startup_cost total_cost plan_width"
    columns = [*names.split(), "reltuples", "parallel_workers"]
    subtrees = Forest.build(
        inside,
        pos=np.where(inside < 0, 0, forest.pos[nodes]),
        offsets=offsets,
        columns={name: np.asarray(forest.columns[name])[nodes] for name in columns},
        vocabs={name: forest.vocabs[name] for name in columns if name in forest.vocabs},
    )
    queries = data.columns["query_file"].astype(str)[forest.tree_of_node[roots]]
    return LabeledTrees(subtrees), times[roots], queries


def _letters(sentence: str) -> str:
    """Return a sentence without brackets, spaces and case, to match its parse."""
    return "".join(each for each in sentence.lower() if each.isalnum())


def _binary(parse: str) -> Any:
    """Return a bracketed binary parse as nested tuples of words."""
    stack: list[list[Any]] = [[]]
    for token in parse.split():
        if token == "(":
            stack.append([])
        elif token == ")":
            closed = tuple(stack.pop())
            stack[-1].append(("", *closed))
        else:
            stack[-1].append(token.lower())
    return stack[0][0]


def _poj(folder: Path, name: str, *, classes: int, programs: int) -> Task:
    import tree_sitter_cpp
    from tree_sitter import Language, Parser

    files: dict[str, list[bytes]] = {}
    with tarfile.open(folder / "poj/poj104_train.tar.xz") as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:  # a folder has none
                files.setdefault(Path(member.name).parent.name, []).append(file.read())
    parser = Parser(Language(tree_sitter_cpp.language()))
    trees, y = [], []
    for problem in sorted(files, key=int)[:classes]:
        sources = files[problem]
        random.Random(0).shuffle(sources)
        parsed = (parser.parse(source) for source in sources)
        small = (tree for tree in parsed if 20 <= tree.root_node.descendant_count <= 800)
        for tree in (tree for tree, _ in zip(small, range(programs))):
            trees.append(tree)
            y.append(problem)
    forest = from_tree_sitter(*trees, named_only=True)
    folds = 3 if classes > 50 else 5  # each class has eight examples outside the part kept away
    columns = ["label", "field"]
    return Task(name, _only(LabeledTrees(forest), columns), np.array(y), "classes", folds=folds)


def _functions(packages: Sequence[str]) -> list[tuple[ast.AST, str]]:
    """Return the functions of packages of the standard library with 20 to 400 nodes."""
    library = Path(sysconfig.get_path("stdlib"))
    found: list[tuple[ast.AST, str]] = []
    for package in packages:
        for path in sorted((library / package).rglob("*.py")):
            if "test" in path.parts or "tests" in path.parts:
                continue
            functions = (ast.FunctionDef, ast.AsyncFunctionDef)
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, functions) and 20 <= sum(1 for _ in ast.walk(node)) <= 400:
                    found.append((node, package))
    return found


def _of_python(functions: Sequence[ast.AST]) -> LabeledTrees:
    return LabeledTrees(from_python(*functions))


def _exchange(function: ast.AST, rng: random.Random) -> bool:
    """Exchange two operands or arguments in a function; return whether there was a place for it."""
    places: list[tuple[Any, str]] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Lt, ast.Gt, ast.In)):
            places.append((node, "compare"))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Div, ast.Mod)):
            places.append((node, "operands"))
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            places.append((node, "arguments"))
    rng.shuffle(places)
    for node, kind in places:
        if kind == "compare":
            pair = node.left, node.comparators[0]
        elif kind == "operands":
            pair = node.left, node.right
        else:
            pair = node.args[0], node.args[1]
        if ast.dump(pair[0]) == ast.dump(pair[1]):
            continue
        if kind == "compare":
            node.comparators[0], node.left = pair
        elif kind == "operands":
            node.right, node.left = pair
        else:
            node.args[1], node.args[0] = pair
        return True
    return False

"""The tasks of the benchmark: trees, targets, groups and the part that is kept away.

The files are public and not part of the repository; ``docs/reference/data_sets.md`` has their
sources. Of equal trees the first is an example, so that none is in training and test; operators of
unseen templates are the exception, since their groups separate them. Larger sets are then reduced
to about 1,000 examples, at random with a fixed seed.
"""

import ast
import copy
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
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from dgltrees import ConfigError, Forest, LabeledTrees, read
from dgltrees.formats import RecordLayout
from dgltrees.trees.builders import from_nested, from_python, from_tree_sitter
from dgltrees.trees.summary import equal_trees

EXAMPLES = 1000
"""Examples of a task, at most."""
PACKAGES = (
    *("asyncio", "email", "http", "idlelib", "importlib"),
    *("logging", "multiprocessing", "tkinter", "unittest", "xml"),
)
"""Packages of Python's standard library whose functions are examples."""

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
        return next(self._split(np.arange(len(self.y)), folds=5, seed=0))

    def splits(self, seed: int = 0) -> Iterator[tuple[Rows, Rows]]:
        """Yield the training and test examples of each fold, without those kept away."""
        return self._split(self.kept_away()[0], self.folds, seed)

    def _split(self, rows: Rows, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
        """Yield the parts of each fold of some examples."""
        by_class, by_group = self.kind == "classes", self.groups is not None
        splitter: Any = {
            (False, False): KFold,
            (False, True): GroupKFold,
            (True, False): StratifiedKFold,
            (True, True): StratifiedGroupKFold,
        }[by_class, by_group]
        groups = None if self.groups is None else self.groups[rows]
        split = splitter(folds, shuffle=True, random_state=seed).split(rows, self.y[rows], groups)
        for train, test in split:
            yield rows[train], rows[test]


def imdb(folder: Path) -> Task:
    """Execution times of 500 PostgreSQL plans on IMDB, from estimates."""
    layout = RecordLayout(tree_path="json.Plan", children_key="Plans")
    data = read(folder / "plans/imdb_plans.csv", layout=layout)
    names = "Node Type,Parent Relationship,Join Type,Relation Name,Startup Cost,Total Cost"
    columns = [*names.split(","), "Plan Rows", "Plan Width", "Workers Planned"]
    trees, times = _only(data, columns), data.columns["json.Execution Time"]
    chosen = _sample(_distinct(trees.forest))
    return Task("imdb", trees.select(chosen), times[chosen], "logs")


def tpch_known(folder: Path) -> Task:
    """Total times of operators of TPC-H plans; a test query's template was seen in training."""
    trees, y, queries = _tpch(folder)
    chosen = _sample(_distinct(trees.forest))
    return Task("tpch_known", trees.select(chosen), y[chosen], "logs", queries[chosen])


def tpch_unseen(folder: Path) -> Task:
    """Total times of operators of TPC-H plans of templates that were not seen in training."""
    trees, y, queries = _tpch(folder)
    templates = np.array([query.partition("_")[0] for query in queries])
    chosen = _sample(np.arange(len(y)))
    return Task("tpch_unseen", trees.select(chosen), y[chosen], "logs", templates[chosen], folds=4)


def sick(folder: Path) -> Task:
    """Relatedness, 1 to 5, of pairs of sentences with binary parses.

    A sentence is in the pairs of one group alone.
    """
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
    rows_of_pairs = {pair: row for row, pair in enumerate(pairs)}
    chosen = _sample(np.array([*rows_of_pairs.values()]))
    forest = from_nested(*(tree for row in chosen for tree in pairs[row]))
    first, second = equal_trees(forest).reshape(-1, 2).T
    shared = coo_array((np.ones(len(first)), (first, second)), shape=(2 * len(first),) * 2)
    _, groups = connected_components(shared, directed=False)
    trees = LabeledTrees(forest, arity=2)
    return Task("sick", trees, np.array(y)[chosen], "numbers", groups[first])


def inex(folder: Path) -> Task:
    """Classes of XML documents from their structure."""
    data = read(folder / "inex/inex05.train.elastic.tree", format="inex")
    y = np.array(data.targets.names)[data.columns["target"]]
    chosen = _sample(_distinct(data.forest))
    return Task("inex", LabeledTrees(data.forest.select(chosen)), y[chosen], "classes")


def poj10(folder: Path) -> Task:
    """Problems that C and C++ programs solve: ten programs of each of 104 problems."""
    return _poj(folder, "poj10", classes=104, programs=10)


def poj100(folder: Path) -> Task:
    """Problems that C and C++ programs solve: a hundred programs of each of ten problems."""
    return _poj(folder, "poj100", classes=10, programs=100)


def python_package(folder: Path) -> Task:
    """Packages of functions of Python's standard library, with files as groups.

    ``folder`` is not read.
    """
    functions = _functions(PACKAGES, most=400)
    forest = from_python(*(function for function, _, _ in functions))
    chosen = _sample(_distinct(forest))
    y, files = (np.array(each)[chosen] for each in list(zip(*functions))[1:])
    return Task("python_package", LabeledTrees(forest.select(chosen)), y, "classes", files)


def python_bug(folder: Path) -> Task:
    """Whether two operands or arguments of different types were exchanged, as in ``0 < x``.

    The functions are those of Python's standard library, with files as groups, and have 20 to 60
    nodes: a thousand larger ones are too few to learn the usual order. ``folder`` is not read.
    """
    functions = _functions(PACKAGES, most=60)
    distinct = _distinct(from_python(*(function for function, _, _ in functions)))
    rng = random.Random(0)
    sources: list[ast.AST] = []
    y, files = [], []
    for row in rng.sample(distinct.tolist(), len(distinct)):
        function, _, file = functions[row]
        broken = copy.deepcopy(function)
        if len(sources) < EXAMPLES and _exchange(broken, rng):
            planted = len(sources) % 2 == 1
            sources.append(broken if planted else function)
            y.append("bug" if planted else "correct")
            files.append(file)
    trees = LabeledTrees(from_python(*sources))
    return Task("python_bug", trees, np.array(y), "classes", np.array(files))


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


def load(name: str, folder: Path) -> Task:
    """Return a task.

    Raises:
        SystemExit: a file or a package is missing.
    """
    try:
        return TASKS[name](folder)
    except ImportError as error:
        raise SystemExit(f"{name} needs {error.name}: pip install {error.name}") from error
    except (OSError, ConfigError) as error:
        raise SystemExit(f"cannot read the data of {name}: {error}; see --data") from error


def _distinct(forest: Forest) -> Rows:
    """Return the first of the trees that are equal, in their order."""
    return np.sort(np.unique(equal_trees(forest), return_index=True)[1])


def _sample(rows: Rows) -> Rows:
    """Return 1,000 of some rows at random, in their order; all if there are fewer."""
    return np.sort(np.random.default_rng(0).permutation(rows)[:EXAMPLES])


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


def _functions(packages: Sequence[str], most: int) -> list[tuple[ast.AST, str, str]]:
    """Return functions of the standard library with 20 to ``most`` nodes, packages and files.

    Raises:
        SystemExit: the library lacks a package.
    """
    library = Path(sysconfig.get_path("stdlib"))
    found: list[tuple[ast.AST, str, str]] = []
    for package in packages:
        if not (library / package).is_dir():
            raise SystemExit(f"missing the package {package} in {library}; install it")
        for path in sorted((library / package).rglob("*.py")):
            file = path.relative_to(library)
            if any(folder.endswith(("test", "tests")) for folder in file.parts[1:-1]):
                continue
            for node in ast.walk(ast.parse(path.read_bytes())):
                functions = (ast.FunctionDef, ast.AsyncFunctionDef)
                if isinstance(node, functions) and 20 <= sum(1 for _ in ast.walk(node)) <= most:
                    found.append((node, package, file.as_posix()))
    return found


def _exchange(function: ast.AST, rng: random.Random) -> bool:
    """Exchange two operands or arguments of different types; return whether there are any."""
    places = [node for node in ast.walk(function) if _operands(node) is not None]
    rng.shuffle(places)
    for node in places:
        first, second = _operands(node)
        if type(first) is not type(second):
            if isinstance(node, ast.Compare):
                node.left, node.comparators[0] = second, first
            elif isinstance(node, ast.BinOp):
                node.left, node.right = second, first
            else:
                node.args[:2] = second, first
            return True
    return False


def _operands(node: Any) -> Any:
    """Return two operands of a comparison or a difference, or two arguments; None without any."""
    if isinstance(node, ast.Compare):
        return node.left, node.comparators[0]
    if isinstance(node, ast.BinOp):
        ordered = isinstance(node.op, (ast.Sub, ast.Div, ast.Mod))
        return (node.left, node.right) if ordered else None
    return node.args[:2] if isinstance(node, ast.Call) and len(node.args) > 1 else None

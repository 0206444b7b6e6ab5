"""Breaks 150 statements of the package, one at a time, and records which tests notice.

``python -m tests.golden.breaks choose`` draws the statements with a fixed seed, ``run`` breaks each
in a copy of the tree and runs tests there, and ``show`` prints the results. A break names its
function and has the text of its statement, so ``run --out FILE`` repeats it after files have
moved, and ``show --out FILE`` prints the differences.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("breaks.json")
COUNT = 150
ROOMS = (
    *("trees", "formats", "traversal", "cells/compiled", "cells", "models", "tasks", "training"),
    *("metrics", "estimators", "analyses", "draw", "commands"),
)
LEFT_OUT = re.compile(
    r"bench/|training/(old_settings|processes)\.py|models/old_names\.py|models/rrnet/advantages\.py"
    r"|cells/aggregators/(shared_canonical|shared_tensor_train|symmetric_full)\.py"
    r"|trees/dependencies/paths\.py"
    r"|\S+ (PPO|ActorCritic|Reinforce\.advantages|Rollout\.rewarded)\b"
)
"""Files, and functions after a file, that are not broken."""

OPERATORS = [
    *[(ast.Lt, "<", "<="), (ast.LtE, "<=", "<"), (ast.Gt, ">", ">="), (ast.GtE, ">=", ">")],
    *[(ast.Eq, "==", "!="), (ast.NotEq, "!=", "=="), (ast.In, "in", "not in")],
    *[(ast.Is, "is", "is not"), (ast.IsNot, r"is\s+not", "is"), (ast.NotIn, r"not\s+in", "in")],
    *[(ast.Add, r"\+", "-"), (ast.Sub, "-", "+"), (ast.Mult, r"\*", "+"), (ast.Div, "/", "*")],
    *[(ast.FloorDiv, "//", "*"), (ast.BitAnd, "&", "|"), (ast.BitOr, r"\|", "&")],
    *[(ast.And, "and", "or"), (ast.Or, "or", "and")],
]
"""The regular expression of each operator, and its replacement."""
CHANGES = {kind: (old, new) for kind, old, new in OPERATORS}

LISTS = (ast.List, ast.Tuple, ast.JoinedStr)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
TYPES = {"annotation", "returns", "decorator_list"}
HANGS = -999
LIBRARIES = ("torch", "numpy", "scipy.sparse", "networkx", "dgl", "sklearn.metrics", "yaml")
OFTEN = {"operator": 4, "constant": 4, "negated": 3, "removed": 3, "variable": 0.2}
"""Weights of mutations; the others often cause a wrong type, which every test would find."""

UNSWAPPED = {"max", "min", "maximum", "minimum", "equal", "promote_types", "cast", "isinstance"}
"""Functions whose arguments are not swapped: nothing would change, or every call would fail."""


@dataclass
class Break:
    """A break of one statement, and its result.

    Arguments:
        index: which of the equal statements of the function.
        result: "caught", "survived" or "gone"; empty before the run.
        test: the test that fails or hangs, or "collection"; empty if none does.
        files: test files that run the statement, nearest first; empty if unknown.
    """

    path: str
    function: str
    index: int
    mutation: str
    old: str
    new: str
    result: str = ""
    test: str = ""
    seconds: float = 0.0
    files: list[str] = field(default_factory=list)


class Place(NamedTuple):
    """A statement or condition, and the arguments and variables before it, the nearest last."""

    function: str
    number: int
    node: ast.AST
    names: list[str]


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(tree):
        name = f"{prefix}{getattr(node, 'name', '')}"
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield name, node
        yield from _functions(node, f"{name}." if isinstance(node, SCOPES) else prefix)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or statement, without inner functions, types and f-strings."""
    inner = (*SCOPES, ast.Lambda, ast.JoinedStr, ast.arguments)
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            is_left_out = isinstance(child, inner) or getattr(child, "arg", "") == "stacklevel"
            if isinstance(child, ast.AST) and not is_left_out and name not in TYPES:
                yield child
                yield from _inside(child)


def _places(source: bytes) -> list[Place]:
    simple = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Continue, ast.Break)
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for name, function in _functions(ast.parse(source)):
        arguments = [a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)]
        loops = (n.target for n in ast.walk(function) if isinstance(n, ast.comprehension))
        hidden = {n.id for loop in loops for n in ast.walk(loop) if isinstance(n, ast.Name)}
        names = [argument for argument in arguments if argument not in {"self", "cls", "_"}]
        for node in _inside(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names = [*names, *({node.id} - hidden - {"_"})]
            place = node.test if isinstance(node, (ast.If, ast.While)) else node
            is_call = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
            is_type = isinstance(node, ast.AnnAssign) and node.value is None
            if place is not node or is_call or (isinstance(node, simple) and not is_type):
                key = name, _dump(place)
                found.append(Place(name, seen[key], place, names))
                seen[key] += 1
    return found


def _dump(what: ast.AST | str) -> str:
    """A statement or condition, or the text of one, without its layout."""
    if isinstance(what, str):
        try:
            what = ast.parse(f"({what})", mode="eval").body
        except SyntaxError:
            what = ast.parse(what).body[0]
    return ast.dump(what.value if isinstance(what, ast.Expr) else what)


def _span(source: bytes, node: ast.AST) -> tuple[int, int]:
    lines = source.splitlines(keepends=True)
    first, last = (sum(map(len, lines[: line - 1])) for line in (node.lineno, node.end_lineno))
    return first + node.col_offset, last + node.end_col_offset


def _edits(source: bytes, place: Place) -> Iterator[tuple[str, tuple[int, int], bytes]]:
    """Every mutation of a place: its name, a span of the source, and the new text of the span."""
    node, names = place.node, place.names
    span = _span(source, node)
    if isinstance(node, ast.expr):
        yield "negated", span, b"not (" + source[slice(*span)] + b")"
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "return None", _span(source, node.value), b"None"
        for name in names[-1:]:
            yield "return variable", _span(source, node.value), name.encode()
    else:
        parts = [*ast.walk(node)]
        stored = {n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        is_yield = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in parts)
        if stored <= set(names) and not is_yield and b"super()" not in source[slice(*span)]:
            yield "removed", span, b"pass"
    for part in [node, *_inside(node)]:
        pairs: list[tuple[ast.AST, ...]] = []
        if isinstance(part, ast.BoolOp):
            pairs = [(part.op, *pair) for pair in zip(part.values, part.values[1:])]
        elif isinstance(part, ast.Compare):
            pairs = [*zip(part.ops, [part.left, *part.comparators], part.comparators)]
        elif isinstance(part, ast.BinOp):
            pairs = [(part.op, part.left, part.right)]
        elif isinstance(part, ast.Constant) and isinstance(part.value, (bool, int, float)):
            value = part.value
            new = not value if isinstance(value, bool) else 0 if value == 1 else value + 1
            yield "constant", _span(source, part), str(new).encode()
        elif isinstance(part, ast.Call) and len(part.args) > 1:
            called = getattr(part.func, "id", getattr(part.func, "attr", ""))
            (a, b), (c, d) = (_span(source, argument) for argument in part.args[:2])
            if called not in UNSWAPPED and not any(isinstance(n, ast.Starred) for n in part.args):
                yield "arguments", (a, d), source[c:d] + source[b:c] + source[a:b]
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in names:
            for other in [n for n in names if n != part.id][-1:]:
                yield "variable", _span(source, part), other.encode()
        for operator, left, right in pairs:
            old, after = CHANGES.get(type(operator), ("", ""))
            begin, end = _span(source, left)[1], _span(source, right)[0]
            match = re.search(old.encode(), source[begin:end])
            texts = (isinstance(getattr(n, "value", None), str) for n in (left, right))
            if after and match and not any(texts) and not isinstance(left, LISTS):
                yield "operator", (begin + match.start(), begin + match.end()), after.encode()


def _mutation(source: bytes, place: Place, rng: random.Random) -> tuple[str, str] | None:
    """The name of a mutation and the new text of the place; None if there is no mutation."""
    begin, end = _span(source, place.node)
    kinds = defaultdict(list)
    for kind, (first, last), new in _edits(source, place):
        text = source[begin:first] + new + source[last:end]
        changed = source[:begin] + text + source[end:]
        try:
            compile(changed, "", "exec", dont_inherit=True)
        except SyntaxError:
            continue
        if ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)):
            kinds[kind].append(text.decode())
    if not kinds:
        return None
    kind = rng.choices([*kinds], [OFTEN.get(kind, 1) for kind in kinds])[0]
    return kind, rng.choice(kinds[kind])


def choose() -> list[Break]:
    """Draw the statements and their breaks, in proportion to the lines of the rooms."""
    rng = random.Random(0)
    lines: Counter[str] = Counter()
    found: dict[str, list[tuple[str, bytes, Place]]] = defaultdict(list)
    for file in sorted((ROOT / "dgltrees").rglob("*.py")):
        name, source = file.relative_to(ROOT / "dgltrees").as_posix(), file.read_bytes()
        if not LEFT_OUT.match(name):
            lines[_room(name)] += source.count(b"\n")
            for place in _places(source):
                if not LEFT_OUT.match(f"{name} {place.function}"):
                    found[_room(name)].append((f"dgltrees/{name}", source, place))
    breaks: list[Break] = []
    total = 0
    for room, count in lines.items():
        total += count
        rng.shuffle(found[room])
        while len(breaks) < round(COUNT * total / lines.total()):
            path, source, place = found[room].pop()
            mutation = _mutation(source, place, rng)
            if mutation is not None:
                old = source[slice(*_span(source, place.node))].decode()
                kind, new = mutation
                breaks.append(Break(path, place.function, place.number, kind, old, new))
    return breaks


def _room(name: str) -> str:
    """The room of a file in the package; empty for the files at the top."""
    return next((room for room in ROOMS if name.startswith(f"{room}/")), "")


def _find(root: Path, broken: Break) -> tuple[Path, bytes] | None:
    """The file that has a break's statement now, and its text with the break; None if it is gone.

    Functions of the same qualified name come first, then those of the same name; of several files
    the break's own, then those with the same name.
    """
    path, name = root / broken.path, broken.function.rpartition(".")[2]
    files = sorted((root / "dgltrees").rglob("*.py"))
    files.sort(key=lambda file: (file != path, file.name != path.name))
    sources = [(file, file.read_bytes()) for file in files]
    sources = [(file, text) for file, text in sources if f"def {name}(".encode() in text]
    for end_of in (lambda function: function, lambda function: function.rpartition(".")[2]):
        for file, source in sources:
            for place in _places(source):
                is_same = end_of(place.function) == end_of(broken.function)
                if (is_same, place.number, _dump(place.node)) == (
                    True,
                    broken.index,
                    _dump(broken.old),
                ):
                    begin, end = _span(source, place.node)
                    return file, source[:begin] + broken.new.encode() + source[end:]
    return None


def _tests(root: Path, broken: Break) -> list[list[str]]:
    """The test that has caught a break; then the files that run or import its statement.

    Without any such file the tests of the module's folder are taken.
    """
    file, _, name = broken.test.partition("[")[0].partition("::")
    texts = {f: f.read_text(encoding="utf-8") for f in sorted((root / "tests").rglob("test_*.py"))}
    places = [root / file, *(texts if name else [])]
    known = [f for f in places if f"def {name}" in texts.get(f, "")][:1]
    part = Path(broken.path).relative_to("dgltrees")
    folder = root / "tests" / part.parent
    module = broken.path[: -len(".py")].replace("/", ".")
    near = [f for f in texts if module in texts[f] or f == folder / f"test_{part.name}"]
    near.sort(key=lambda f: (f.stem != f"test_{part.stem}", f.parent != folder))
    near = [f for f in (root / file for file in broken.files) if f in texts] or near
    while not folder.is_dir() or not (near or any(folder.rglob("test_*.py"))):
        folder = folder.parent
    last = [str(f.relative_to(root)) for f in near or folder.rglob("test_*.py")]
    return [[f"{f.relative_to(root)}::{name}".rstrip(":") for f in known if file], last]


def _pytest(root: Path, arguments: list[str], limit: int) -> tuple[int, str]:
    """The exit code of tests, HANGS after the limit in seconds of computing, and what they print.

    They run in a fork of this process, which has already imported the large libraries.
    """
    options = "-x -v -rfE --tb=no -p no:cacheprovider --benchmark-skip"
    with tempfile.TemporaryFile("w+") as out:
        process = os.fork()
        if not process:
            os.setsid()
            os.chdir(root)
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            for name in [*sys.modules]:
                if name.partition(".")[0] in {"tests", "dgltrees"}:
                    del sys.modules[name]
            sys.path[0] = str(root)
            os._exit(pytest.main([*options.split(), *arguments]))
        end, code = time.monotonic() + 10 * limit, None
        while code is None:
            time.sleep(0.1)
            done, status = os.waitpid(process, os.WNOHANG)
            if time.monotonic() > end:
                os.killpg(process, signal.SIGKILL)
                os.waitpid(process, 0)
                code = HANGS
            elif done:
                code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return HANGS if code in {-signal.SIGXCPU, -signal.SIGKILL} else code, out.read()


def _attempt(root: Path, broken: Break, stages: list[list[str]], limit: int) -> Break:
    """A break with its result; the tree is broken while its tests run."""
    found = _find(root, broken)
    if found is None:
        return replace(broken, result="gone", test="", seconds=0.0)
    file, text = found
    if "compiled" in file.parts:
        shutil.rmtree(root / ".numba", ignore_errors=True)
    start = time.monotonic()
    file.write_bytes(text)
    test = ""
    late: list[str] = []
    for stage in filter(None, stages):
        code, output = _pytest(root, stage, limit)
        ended = re.findall(r"^(tests/\S+::.*) (?:FAILED|ERROR) +\[", output, re.MULTILINE)
        failed = re.findall(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", output, re.MULTILINE)
        started = re.findall(r"^(tests/\S+::\S.*?)(?: [A-Z]+ .*| *)$", output, re.MULTILINE)[-1:]
        test = [*ended, *failed, *started, "collection"][0]
        late = (started or stage) if code == HANGS else []
        code = _pytest(root, late, limit)[0] if late else code
        is_unknown = "ERROR: not found" in output and not failed  # a test has another name now
        if code not in {0, pytest.ExitCode.NO_TESTS_COLLECTED} and not is_unknown:
            break
        test = ""
    shutil.copy2(ROOT / file.relative_to(root), file)  # with the time that its bytecode has
    if "compiled" in file.parts:  # numba's cache keeps functions that call a changed one
        shutil.rmtree(root / ".numba", ignore_errors=True)
    if late and test and _pytest(root, late, limit)[0]:
        test = ""  # it takes as long without the break
    seconds = round(time.monotonic() - start, 1)
    return replace(broken, result="caught" if test else "survived", test=test, seconds=seconds)


def run(out: Path, tests: list[list[str]] | None, limit: int, again: str) -> None:
    """Run the breaks that have no result yet, and save after each."""
    is_new = not out.is_file()
    breaks = [replace(b, result="") if is_new else b for b in _load(RECORD if is_new else out)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".git", ".venv*"))
        more = {
            "OMP_NUM_THREADS": "1",
            "NUMBA_CACHE_DIR": f"{root}/.numba",
            "PYTHONPATH": str(root),
        }
        os.environ.update(more)
        for name in LIBRARIES:
            importlib.import_module(name)
        sys.dont_write_bytecode = False  # a fork need not compile what another has compiled
        for i in random.Random(0).sample(range(len(breaks)), len(breaks)):
            broken, known = breaks[i], tests[i] if tests else []
            files = dict.fromkeys(test.partition("::")[0] for test in known)
            broken.files = [*files][:8] or broken.files
            if broken.result in {"", again}:
                stages = [known[:30], known[30:]] if known else _tests(root, broken)
                broken = breaks[i] = _attempt(root, broken, stages, limit)
                _save(out, breaks)
                print(i, broken.result, broken.path, broken.test, broken.seconds, flush=True)


def show(out: Path) -> None:
    """Print the number of each result, the breaks that survive, and other results than before."""
    breaks = _load(out)
    print(dict(Counter(broken.result or "not run" for broken in breaks)))
    for broken, before in zip(breaks, _load(RECORD)):
        if broken.result == "survived" or broken.result != before.result:
            print(f"\n{broken.result} (recorded: {before.result}), {broken.mutation}")
            print(f"{broken.path} {broken.function}\n- {broken.old}\n+ {broken.new}")


def _load(path: Path) -> list[Break]:
    return [Break(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def _save(path: Path, breaks: list[Break]) -> None:
    rows = json.dumps([asdict(broken) for broken in breaks], indent=1, ensure_ascii=False)
    path.write_text(rows + "\n", encoding="utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["choose", "run", "show"])
    parser.add_argument("--out", type=Path, default=RECORD, help="file of the results")
    parser.add_argument("--tests", type=Path, help="JSON: a list of tests for each break, in order")
    parser.add_argument("--limit", type=int, default=60, help="seconds of computing")
    parser.add_argument("--again", default="", help="repeat the breaks that have this result")
    options = parser.parse_args()
    if options.command == "choose":
        _save(options.out, choose())
    elif options.command == "run":
        tests = json.loads(options.tests.read_text()) if options.tests else None
        run(options.out, tests, options.limit, options.again)
    else:
        show(options.out)


if __name__ == "__main__":
    main()

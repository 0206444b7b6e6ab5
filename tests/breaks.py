"""How many small faults the tests catch: ``python -m tests.breaks [--replay FILE]``.

Statements of the package are drawn, and one at a time is broken in a copy of the checkout: an
operator, a constant, or a guard. The tests of its folder run until one fails. The results are
written after each break, and the same command continues there. ``--replay`` breaks the places of
such a file again, on another commit.
"""

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.deletion import ROOT, copy_without

PAIRS = "<:<= >:>= ==:!= is:is_not in:not_in and:or +:- *:/ //:% &:| +=:-= *=:/="
SWAPS = dict(pair.replace("_", " ").split(":") for pair in PAIRS.split())
SWAPS |= {after: before for before, after in SWAPS.items()}
TESTS = {
    "": ["test_*.py"],
    "papers": ["papers/test_*.py"],
    "cells": ["cells/**/test_*.py", "compiled/**/test_*.py"],
    "cells/compiled": ["cells/compiled/**/test_*.py", "cells/test_laws.py"],
    "compiled": ["compiled/**/test_*.py", "cells/test_laws.py"],
}
"""The tests of a folder, if they are not those of the folder of the same name."""
LONGEST = 3600  # seconds after which processes that wait for each other have failed
MEMORY = 2**24  # kilobytes of address space of a process
OPERATORS = (ast.Compare, ast.BoolOp, ast.BinOp, ast.AugAssign)


class Place(NamedTuple):
    """What can be broken: bytes of a file, in the statement that begins at a byte.

    The key finds it on another commit: file, function, line, kind of break, text before, text
    after, and its number among equal ones.
    """

    key: tuple[str, str, str, str, str, str, int]
    statement: int
    start: int
    end: int


def find(file: str, source: bytes) -> Iterator[Place]:
    """Find the places of a file; annotations, docstrings, messages and types have none."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen: Counter[Sequence[str]] = Counter()

    def span(node: Any) -> tuple[int, int]:
        start = starts[node.lineno - 1] + node.col_offset
        return start, starts[node.end_lineno - 1] + node.end_col_offset

    def visit(node: Any, names: str, statement: Any, last: Any, prose: bool) -> Iterator[Place]:
        if isinstance(node, ast.stmt):
            statement = node
        match node:
            case ast.JoinedStr() | ast.Expr(value=ast.Constant()):
                return
            case ast.Assign(targets=[ast.Name(id=name)]):
                if re.match(r"__all__|[A-Z]\w*[a-z]\w*$", name):  # Kind = Literal["a", "b"]
                    return
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return
            case ast.FunctionDef() | ast.ClassDef():
                names, last = f"{names}.{node.name}".strip("."), node.body[-1]
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                prose |= name.endswith(("Error", "warn", "cast", "TypeVar"))
            case ast.Raise():
                prose = True
        for kind, start, end, after in own(node, last, prose):
            row = bisect(starts, start)
            line = source[starts[row - 1] : starts[row]].decode().strip()
            text = (file, names, line, kind, source[start:end].decode(), after)
            yield Place((*text, seen[text]), span(statement)[0], start, end)
            seen[text] += 1
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and field not in ("annotation", "returns"):
                    yield from visit(child, names, statement, last, prose)

    def own(node: Any, last: Any, prose: bool) -> Iterator[tuple[str, int, int, str]]:
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Return) and node is not last):
            yield "guard", *span(node), "pass"
        elif isinstance(node, ast.Constant):
            value, after = node.value, ""
            if isinstance(value, bool):
                after = str(not value)
            elif isinstance(value, (int, float)):
                after = repr(value + 1)
            elif isinstance(value, (str, bytes)) and not prose and len(value.split()) < 3:
                after = "b" * isinstance(value, bytes) + '"_"'
            if after and ast.literal_eval(after) != value:
                yield "constant", *span(node), after
        parts = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        for left, right in pairwise(parts) if isinstance(node, OPERATORS) else ():
            start, end = span(left)[1], span(right)[0]
            gap = re.sub(rb"#.*", lambda comment: b" " * len(comment[0]), source[start:end])
            found = re.search(rb"[^\s()\\,]+(\s+(not|in)\b)?", gap)
            if found and (after := SWAPS.get(found[0].decode(), "")):
                kind = "comparison" if isinstance(node, ast.Compare) else "operator"
                yield kind, start + found.start(), start + found.end(), after
        tests = [node.test] if isinstance(node, (ast.If, ast.IfExp)) else getattr(node, "ifs", [])
        for start, end in map(span, tests):
            yield "guard", start, end, f"not ({source[start:end].decode()})"

    yield from visit(ast.parse(source), "", None, None, False)


def find_all(folder: Path) -> list[Place]:
    """Find the places of a checkout."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.glob("dgltrees/**/*.py"))
    return [place for file in files for place in find(file, (folder / file).read_bytes())]


def draw(places: Sequence[Place]) -> Iterator[Place]:
    """Draw statements, each once, of each a kind of break, and a place of this kind."""
    statements = defaultdict(list)
    for place in places:
        statements[place.key[0], place.statement].append(place)
    order, generator = list(statements.values()), random.Random(0)
    generator.shuffle(order)
    for those in order:
        kind = generator.choice(sorted({place.key[3] for place in those}))
        yield generator.choice([place for place in those if place.key[3] == kind])


def again(key: Sequence[Any], places: Sequence[Place]) -> Place | None:
    """Find a recorded place, in its file or in the only other one that has the same."""
    same = [place for place in places if place.key[1:] == tuple(key[1:])]
    here = [place for place in same if place.key[0] == key[0]]
    return here[0] if here else same[0] if len(same) == 1 else None


def tests_of(file: str, folder: Path) -> tuple[str, list[str]]:
    """The folder of a module, and the files of its tests, those with words of its path first."""
    *parts, stem = Path(file).with_suffix("").parts[1:]
    room = "/".join(parts[: 2 if "papers" in parts[:1] or "compiled" in parts[:2] else 1])
    patterns = TESTS.get(room, [f"{room}/**/test_*.py"])
    found = [path for each in patterns for path in folder.glob(f"tests/{each}")]
    words = {*"_".join([*parts, stem]).split("_")}

    def order(name: str) -> tuple[int, str]:
        return -len(words & {*re.split(r"[_/.]", name)}), name

    found = found or list(folder.glob("tests/test_*.py"))
    return room, sorted((path.relative_to(folder).as_posix() for path in found), key=order)


def run(tests: Sequence[str], folder: Path, seconds: int | None = None) -> tuple[int, list[str]]:
    """Run tests in a copy: CPU seconds, and the tests that failed or the status of the process."""
    limits = f"ulimit -v {MEMORY} -t {seconds or 'unlimited'}; "
    limits += f"exec timeout --foreground -s KILL {LONGEST if seconds else 0} "
    argv = ["bash", "-c", limits + '.venv/bin/python -m pytest -q "$@"', "pytest", *tests]
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "XDG_CACHE_HOME")}
    environment["HOME"], before = str(folder.parent / "home"), os.times()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        options: dict[str, Any] = {"stdout": out, "stderr": out, "cwd": folder, "env": environment}
        status = subprocess.run(argv, check=False, **options).returncode
        out.seek(0)
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", out.read(), re.MULTILINE)
    used = sum(os.times()[2:4]) - sum(before[2:4])
    return round(used), failed or [f"status {status}"] * (status != 0)


def planned(asked: argparse.Namespace, places: Sequence[Place]) -> dict[str, Any]:
    """The results so far, or a new list of breaks: those to be replayed, and draws."""
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    if asked.out.exists():
        results: dict[str, Any] = json.loads(asked.out.read_text("utf-8"))
        if results["commit"] != commit:
            sys.exit(f"{asked.out} is of commit {results['commit']}; give another --out")
        return results
    rows: list[dict[str, Any]] = []
    for row in json.loads(asked.replay.read_text("utf-8"))["breaks"] if asked.replay else ():
        place = again(row["place"], places)
        rows.append({"place": place.key} if place else {"place": row["place"], "result": "gone"})
    missing = asked.count - sum("result" not in row for row in rows)
    taken = [row["place"] for row in rows]
    new = (place for place in draw(places) if place.key not in taken)
    rows += [{"place": place.key} for place in islice(new, max(missing, 0))]
    return {"commit": commit, "folders": {}, "breaks": rows}


def main() -> None:
    """Break one place after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many breaks")
    parser.add_argument("--out", type=Path, default=Path("build/breaks.json"), help="results")
    parser.add_argument("--replay", type=Path, help="results of another commit")
    asked = parser.parse_args()
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "copy"
        folder.mkdir()
        copy_without([], folder)
        places = find_all(folder)
        results = planned(asked, places)
        folders = results["folders"]
        for row in results["breaks"]:
            place = None if "result" in row else again(row["place"], places)
            if place:
                room, tests = tests_of(place.key[0], folder)
                if room not in folders:  # what fails without a break is left out
                    folders[room] = run(tests, folder)
                    print(f"dgltrees/{room} without a break:", *folders[room], flush=True)
                whole, known = folders[room]
                if any(each.startswith("status ") for each in known):
                    sys.exit(f"the tests of dgltrees/{room} ended with {known[0]}")
                file, after = folder / place.key[0], place.key[5].encode()
                source = file.read_bytes()
                file.write_bytes(source[: place.start] + after + source[place.end :])
                options = ["-x", *(f"--deselect={each}" for each in known)]
                seconds, failed = run([*options, *tests], folder, 3 * whole + 60)
                file.write_bytes(source)
                row |= {"result": "caught" if failed else "missed", "seconds": seconds}
                row["by"] = "".join(failed[:1])
                asked.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
            print(*(row.get(each) for each in ("result", "seconds", "place", "by")), flush=True)
    counts = Counter(row["result"] for row in results["breaks"])
    print(f"caught {counts['caught']}, missed {counts['missed']}, gone {counts['gone']}")


if __name__ == "__main__":
    main()

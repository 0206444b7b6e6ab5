"""README.md with outputs, tables and a picture as they are now: ``python -m tests.papers.readme``.

A block of Python or of shell commands is followed by a block ``text`` if it prints something. A
table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``, and its numbers come from
``datasets/results``. The blocks of Python share their names; the shell commands share a folder.
``readme.py --check``, with any installed dgltrees, compares the outputs and writes nothing.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PICTURE = ROOT / "docs/images/plan.svg"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.S)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")

TABLES = {
    "trees": ("custom_trees", "away", "data chosen default best"),
    "speed": ("speed", "training_step", "case nodes dgl pyg dynet compiled"),
}
"""File, table and columns of the tables in README that are in one table of results."""
ROWS = {"speed": [0, 2, 4, 6]}
"""The rows of a table that README shows; default: all."""

LD, FOUR = "tree-lm --model.left_dependents true (LdTreeLSTM)", "test, 4 operators"
PAPERS: list[tuple[str, str, list[tuple[Any, ...]]]] = [
    (
        "HOSVD Tree-LSTM (Castellana and Bacciu 2020), generated ListOps: validation accuracy",
        "{} % | sum: {} % | {} %",
        [
            ("tensor_tree_lstm", "listops_l2", {"preset": "listops-hosvd-c20-r3"}, "valid"),
            ("tensor_tree_lstm", "listops_l2", {"preset": "listops-sum-c25"}, "valid"),
            (
                "papers",
                "scores",
                {"row": "Hosvd-LSTM, c = 20, r = 3", "score": "validation"},
                "theirs",
            ),
        ],
    ),
    (
        "LdTreeLSTM (Zhang, Lu and Lapata 2016), English EWT development file: perplexity",
        "{} | LSTM: {} | ",
        [
            ("top_down", "ewt", {"preset": LD}, "perplexity"),
            ("top_down", "ewt", {"preset": "tree-lm-lstm"}, "perplexity"),
        ],
    ),
    (
        "Neural Tree Indexer (Munkhdalai and Yu 2017), WikiQA development file, no GloVe: MAP",
        "{} | LSTM: {} | ",
        [
            ("nti", "wikiqa", {"preset": "wikiqa-small"}, "map"),
            ("nti", "wikiqa", {"preset": "wikiqa-small-lstm"}, "map"),
        ],
    ),
    (
        "RRNet (Jacob et al. 2018), gold trees of 4 operators: test accuracy",
        "{} % | LSTM: {} % | {} %",
        [
            ("rrnet", "mee", {"preset": "mee"}, "4"),
            ("rrnet", "mee", {"preset": "mee-lstm"}, "4"),
            ("papers", "scores", {"row": "RRNet, supervised", "score": FOUR}, "theirs"),
        ],
    ),
]
"""The table of the papers: a row's name, its other cells, and the numbers in them."""


def run_python(code: str, names: dict[str, Any]) -> str:
    """Run code as a notebook runs a cell; return what it prints, and its last value."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(README), "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(README), "eval"), names)
            if value is not None:
                print(value)
    return printed.getvalue()


def run_shell(code: str) -> str:
    """Run the commands of dgltrees in the current folder; return what they print.

    Raises:
        SystemExit: a command fails.
    """
    from dgltrees.cli import main

    printed, messages = io.StringIO(), io.StringIO()
    for line in code.replace("\\\n", "").splitlines():
        program, *arguments = shlex.split(line, comments=True) or [""]
        if program == "dgltrees":
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(messages):
                status = main(arguments)
            if status:
                raise SystemExit(f"{line}\n{messages.getvalue()}")
    return printed.getvalue()


@contextlib.contextmanager
def working_directory() -> Iterator[None]:
    """Work in a new folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def run(page: str) -> tuple[list[str], dict[str, Any]]:
    """Run the blocks of a page in order; return their outputs, and the names that they define."""
    names: dict[str, Any] = {"__name__": "readme"}
    outputs = []
    with working_directory():
        for kind, code, _ in BLOCK.findall(page):
            outputs.append(run_python(code, names) if kind == "python" else run_shell(code))
    return outputs, names


def differences(page: str, outputs: list[str]) -> list[str]:
    """Return the outputs that differ: in a word, or in a number by more than 2 %."""
    shown = [text for _, _, text in BLOCK.findall(page)]
    return [new for old, new in zip(shown, outputs, strict=True) if old and not _agree(old, new)]


def _agree(old: str, new: str) -> bool:
    if NUMBER.sub("", old) != NUMBER.sub("", new):
        return False
    pairs = zip(map(float, NUMBER.findall(old)), map(float, NUMBER.findall(new)), strict=True)
    return all(abs(a - b) <= 0.02 * max(abs(a), abs(b), 0.05) for a, b in pairs)


def tables() -> dict[str, str]:
    """Return the tables as Markdown, by name."""
    from docs.results_table import load, look_up, markdown  # the wheel has no docs

    lines = ["model and task | ours | baseline | the paper", "--- | ---: | ---: | ---:"]
    for about, cells, numbers in PAPERS:
        lines.append(f"{about} | {cells.format(*(look_up(*each) for each in numbers))}")
    made = {"papers": "".join(f"| {line} |\n" for line in lines)}
    for name, (file, table, columns) in TABLES.items():
        content = load(file)[table]
        rows = content["rows"]
        chosen = {key: content["columns"][key] for key in columns.split()}
        picked = [rows[i] for i in ROWS.get(name, range(len(rows)))]
        shown = {"about": "", "columns": chosen, "rows": picked}
        made[name] = markdown(shown).lstrip() + "\n"
    return made


def written(page: str, outputs: list[str]) -> str:
    """Return the page with these outputs, and with the tables of the files of results."""
    following, made = iter(outputs), tables()

    def block(match: re.Match[str]) -> str:
        output = next(following)
        shown = f"\n```text\n{output}```\n" if match[3] is not None else ""
        return f"```{match[1]}\n{match[2]}```\n{shown}"

    def table(match: re.Match[str]) -> str:
        return match[1] + made[match[2]] + match[3]

    return TABLE.sub(table, BLOCK.sub(block, page))


def picture(names: dict[str, Any]) -> str:
    """Return the SVG of a plan next to its explanation, from the names of the page's code."""
    from dgltrees.draw import draw, svg

    explanation, plan = names["explanation"], names["example"]
    parts = [draw(explanation.forest).svg, explanation.svg]
    lengths = (re.findall(r'(?:width|height)="([\d.]+)"', part)[:2] for part in parts)
    sizes = [(float(width), float(height)) for width, height in lengths]
    titles = [
        f"a query plan of the test part: {names['y_test'][plan]:.2f} s",
        f"predicted: {explanation.prediction:.2f} s; red adds seconds, blue removes them",
    ]
    column, margin = max(360.0, *(width for width, _ in sizes)), 24.0
    elements = []
    for number, (part, title, (width, _)) in enumerate(zip(parts, titles, sizes)):
        middle = (number + 0.5) * column
        at = f'x="{middle - width / 2:.0f}" y="{margin:.0f}"'
        elements.append(svg.text(title, middle, 16, svg.TITLE, svg.GREY))
        elements.append(part.replace("<svg ", f"<svg {at} ", 1))
    height = margin + max(height for _, height in sizes)
    return svg.document(elements, 2 * column, height, "; ".join(titles))


def main() -> None:
    """Write README.md and its picture, or compare them."""
    page = README.read_text("utf-8")
    outputs, names = run(page)
    if "--check" in sys.argv:
        wrong = differences(page, outputs)
        if wrong:
            raise SystemExit("README.md shows something else than\n\n" + "\n".join(wrong))
        return
    README.write_text(written(page, outputs), "utf-8")
    PICTURE.write_text(picture(names), "utf-8")


if __name__ == "__main__":
    main()

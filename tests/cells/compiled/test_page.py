"""The page on the compiler shows what its code prints; run as a module, this file writes it."""

import contextlib
import io
import re
from pathlib import Path

import torch

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "compilation_memory.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)
VERSION = "2.13."
"""The release of torch whose graph the page shows; those of others name operations differently."""


def run(page: str) -> str:
    """The page with the output of each block of code below it."""
    names: dict[str, object] = {}

    def shown(block: re.Match[str]) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(block[1], names)
        text = out.getvalue()
        return f"```python\n{block[1]}```\n" + (f"\n```text\n{text}```\n" if text else "")

    return BLOCK.sub(shown, page)


def test_it_shows_what_its_code_prints() -> None:
    page = PAGE.read_text(encoding="utf-8")
    now = run(page)
    if not torch.__version__.startswith(VERSION):
        page, now = (text.partition("## The loop program")[2] for text in (page, now))
    assert now == page


if __name__ == "__main__":
    PAGE.write_text(run(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

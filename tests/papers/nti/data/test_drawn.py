"""Files that are found and drawn as trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from dgltrees.formats import guess_format
from tests.draw.test_files import assert_found_and_drawn

LINES = {
    "sst": ("(3 (2 so) (4 good))", "tree 0\n= 3\n├─ so  = 2\n└─ good  = 4"),
}


@pytest.mark.parametrize("name", LINES)
def test_formats_are_found_and_drawn(tmp_path: Path, name: str) -> None:
    line, text = LINES[name]
    path = tmp_path / "trees"
    path.write_text(f"\n{line}\n")
    assert_found_and_drawn(path, name, text)


@pytest.mark.parametrize("line", ["((A) ((fine) (film)))", "(2 (3 fine) (2 film))"])
def test_brackets_are_told_from_each_other(tmp_path: Path, line: str) -> None:
    (tmp_path / "trees").write_text(f"{line}\n")
    assert guess_format(tmp_path / "trees") == "sst"

"""Files that are found and drawn as trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from dgltrees.draw import draw_file
from tests.draw.test_files import assert_found_and_drawn

LINES = {
    "listops": ("5\t[SM 2 [MAX 3 1 ] ]", "tree 0\nSM  = 5\n├─ 2\n└─ MAX\n   ├─ 3\n   └─ 1"),
    "inex": ("2:17(5($) 6(7($)))", "tree 0\n17  = 2\n├─ 5\n└─ 6\n   └─ 7"),
    "boolsent": ("(1_OR 0 (1_AND 1 ) )", "tree 0\nOR  = 1\n├─ 0  = 0\n└─ AND  = 1\n   └─ 1  = 1"),
}


@pytest.mark.parametrize("name", LINES)
def test_formats_are_found_and_drawn(tmp_path: Path, name: str) -> None:
    line, text = LINES[name]
    path = tmp_path / "trees"
    path.write_text(f"\n{line}\n")
    assert_found_and_drawn(path, name, text)


def test_binarised_listops_with_a_header(tmp_path: Path) -> None:
    path = tmp_path / "basic.tsv"
    path.write_text("Source\tTarget\n( ( ( [MIN 4 ) 3 ) ] )\t3\n")
    assert draw_file(path) == "tree 0\nMIN  = 3\n├─ 4\n└─ 3"

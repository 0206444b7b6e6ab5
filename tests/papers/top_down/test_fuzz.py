"""Damaged files of the paper: see tests/fuzz."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dgltrees.formats import FORMATS
from dgltrees.papers.top_down.data.kbest import read_kbest
from dgltrees.papers.top_down.data.questions import read_questions
from tests.fuzz.test_readers import damaged

READERS: dict[str, tuple[Callable[[Path], Any], bytes]] = {
    "dp": (FORMATS["dp"].read, b"The\tDT\t2\ndog\tNN\t3\nbarks\tVBZ\t0\n\nGo\tVB\t0\n\n"),
    "kbest": (
        read_kbest,
        b"# sent_id = x\n# score = -1.5\n"
        b"1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n\n",
    ),
    "questions": (
        read_questions,
        b"id,question,a),b),c),d),e)\n1,It was a _____ night.,dark,wet,long,cold,mild\n",
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(tmp_path: Path, name: str) -> None:
    read, content = READERS[name]
    damaged(name, read, content, tmp_path / "file.txt")

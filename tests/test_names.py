"""Public names and signatures change on purpose alone."""

from __future__ import annotations

import difflib

from tests import names
from tests.installed import needs_papers


@needs_papers
def test_names_are_those_on_record() -> None:
    before, now = names.FILE.read_text(encoding="utf-8"), names.text(names.record())
    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), n=0, lineterm="")
    assert before == now, "\n".join(["python -m tests.names writes them", *lines])

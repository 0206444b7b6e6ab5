"""Public names and signatures change on purpose only, and each has one page in the reference."""

import difflib

from tests import names
from tests.installed import needs_papers


@needs_papers
def test_names_are_those_on_record() -> None:
    before, now = names.FILE.read_text(encoding="utf-8"), names.text(names.record())
    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), n=0, lineterm="")
    assert before == now, "\n".join(["python -m tests.names writes them", *lines])


def test_every_name_has_a_page_that_every_file_system_can_hold() -> None:
    groups = names.record()["groups"]
    assert names.NEW not in groups, list(groups[names.NEW]["names"])
    pages = [name.lower() for group in groups.values() for name in group["names"]]
    assert sorted(pages) == sorted({*pages})

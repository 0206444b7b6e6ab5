"""The fast rows of every golden are what they were; ``make golden`` compares the others too."""

from __future__ import annotations

import pytest

from tests.golden import rows
from tests.installed import needs_papers


@needs_papers
@pytest.mark.parametrize("name", rows.names())
def test_the_fast_rows_are_what_they_were(name: str) -> None:
    now = rows.recorded(name, "fast")
    if now is None:
        pytest.skip("has no fast rows")
    before = rows.stored(name)
    lines = rows.differences({key: before[key] for key in now if key in before}, now)
    assert not lines, "\n".join([f"python -m tests.golden compare {name}", *lines])


def test_differences_are_of_rows_and_of_their_parts() -> None:
    before = {"a": 1, "b": {"x": 1, "y": [1, 2]}, "c": "one\ntwo", "d": 0}
    after = {"b": {"x": 1, "y": [1, 3], "z": 0}, "c": "one\nthree", "d": 0, "e": 5}
    assert rows.differences(before, after) == [
        "missing  a",
        "new      e",
        "changed  b",
        "    y[1]: 2 -> 3",
        "    z is new: 0",
        "changed  c",
        "    -two",
        "    +three",
    ]

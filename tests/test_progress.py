import io
import sys

import pytest

from dgltrees._progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("file", "items", "shows"),
    [(Terminal, [1, 2, 3], True), (Terminal, [1], False), (io.StringIO, [1, 2, 3], False)],
)
def test_a_bar_only_on_a_terminal_and_for_several_steps(
    file: type[io.StringIO], items: list[int], shows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr = file()
    monkeypatch.setattr(sys, "stderr", stderr)
    assert list(progress(items, "score", unit="batch")) == items
    assert ("score: " in stderr.getvalue()) == shows

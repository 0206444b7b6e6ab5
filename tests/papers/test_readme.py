"""README.md has the numbers of the files of results; ``make wheel`` runs its code."""

from .readme import BLOCK, README, differences, written


def test_readme_has_the_measured_tables() -> None:
    page = README.read_text("utf-8")
    shown = [text for _, _, text in BLOCK.findall(page)]
    assert written(page, shown) == page


def test_an_output_that_differs_is_found() -> None:
    page = "```python\n1\n```\n\n```text\nR2 0.50 of 3\n```\n"
    assert differences(page, ["R2 0.505 of 3\n"]) == []
    assert differences(page, ["R2 0.52 of 3\n"])
    assert differences(page, ["R3 0.50 of 3\n"])
    assert differences(page, ["R2 0.50\n"])

"""What is wrong with a file, in words."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dgltrees.errors import file_problem


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda path: path.joinpath("none").read_text(), "expected a file at {}/none, found none"),
        (lambda path: path.read_text(), "expected a file at {}, found a folder"),
        (
            lambda path: path.joinpath("file/x").read_text(),
            "expected a folder in place of a file in {}/file/x",
        ),
        (lambda path: path.joinpath("file").mkdir(), "expected a folder at {}/file, found a file"),
        (
            lambda path: path.joinpath("x" * 300).read_text(),
            "cannot open {}/" + "x" * 300 + ": file name too long",
        ),
    ],
)
def test_problems_of_files(use: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError) as error:
        use(tmp_path)
    assert file_problem(error.value) == message.format(tmp_path)


def test_a_problem_of_no_file_is_told_as_it_is() -> None:
    assert file_problem(OSError("disk full")) == "disk full"

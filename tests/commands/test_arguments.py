"""From the words of a command line to the arguments of a function."""

import pytest

from dgltrees.commands.arguments import arguments, help_text
from dgltrees.errors import ConfigError


def several(paths: list[str], *, limits: list[int], plain: bool = False) -> None:
    """Several words, and flags: several FILE.

    Arguments:
        paths: the files.
        limits: the bounds.
        plain: whether it is plain.
    """


def test_a_list_takes_several_words() -> None:
    argv = ["a", "b", "--limits", "1", "2", "--plain"]
    expected = {"paths": ["a", "b"], "limits": [1, 2], "plain": True}
    assert arguments(several, argv, "several") == expected
    assert arguments(several, ["a", "--limits", "1"], "several")["limits"] == [1]
    assert arguments(several, ["a", "--limits", "1,2"], "several")["limits"] == [1, 2]
    assert arguments(several, ["a,b", "--limits", "[3]"], "several")["paths"] == ["a,b"]
    assert help_text(several, "several").startswith("usage: dgltrees several PATHS ... [flags]")
    with pytest.raises(ConfigError, match="missing PATHS of dgltrees several"):
        arguments(several, ["--limits", "1"], "several")


def words(first: str, *others: str) -> None:
    """Collected words."""


def options(first: str, **others: str) -> None:
    """Collected flags."""


@pytest.mark.parametrize("command", [words, options])
def test_collected_arguments_are_refused(command: object) -> None:
    message = r"named parameters of .*, got \*+others.*write others: list\[str\]"
    with pytest.raises(ConfigError, match=message):
        arguments(command, ["a"], "command")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=message):
        help_text(command, "command")  # type: ignore[arg-type]

"""The script that breaks statements finds all kinds of places, and finds them again."""

import pytest

from tests.breaks import Place, again, find

SOURCE = '''"""Docstring."""
__all__ = ["f"]
Kind = Literal["a", "b"]

def f(x: "int", y: bool = True) -> "str":
    """Docstring."""
    if x < 3 and y:  # < and
        return "é" + "b"
    if x is not (y):
        raise ValueError("no")
    return f"a {x + 1}"
'''


def places(source: str) -> list[Place]:
    return list(find("dgltrees/a.py", source.encode()))


def test_each_kind_of_break_changes_its_text_alone() -> None:
    operators = {("<", "<="), ("and", "or"), ("is not", "is"), ("+", "-")}
    constants = {("3", "4"), ("True", "False"), ('"é"', '"_"'), ('"b"', '"_"')}
    guards = {("x < 3 and y", "not (x < 3 and y)"), ("x is not (y)", "not (x is not (y))")}
    guards |= {('return "é" + "b"', "pass"), ('raise ValueError("no")', "pass")}
    assert {place.key[4:6] for place in places(SOURCE)} == operators | constants | guards
    for place in places(SOURCE):
        start, end = SOURCE.encode()[: place.start], SOURCE.encode()[place.end :]
        assert start + place.key[4].encode() + end == SOURCE.encode()
        compile(start + place.key[5].encode() + end, "a.py", "exec")


@pytest.mark.parametrize("change", [("def f", "A = 1 < 2\n\n\ndef f"), ("<", "<=")])
def test_a_place_is_found_again_by_its_line(change: tuple[str, str]) -> None:
    (place,) = (place for place in places(SOURCE) if place.key[4] == "<")
    found = again(place.key, places(SOURCE.replace(*change)))
    assert (found is None) == (change[0] == "<")
    assert found is None or found.start == place.start + len("A = 1 < 2\n\n\n")

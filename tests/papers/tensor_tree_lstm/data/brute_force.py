"""Logical relations by enumeration, evaluated by Python."""

import re

ROWS = [{name: bool(row >> place & 1) for place, name in enumerate("abcdef")} for row in range(64)]


def models(sentence: str) -> frozenset[int]:
    """The assignments, out of 64, under which a sentence holds."""
    expression = sentence.replace("( and", "and (").replace("( or", "or (")
    code = compile(expression, "sentence", "eval")
    return frozenset(row for row, values in enumerate(ROWS) if eval(code, {}, values))


def relation(left: frozenset[int], right: frozenset[int]) -> str:
    """The relation between two sets of models, straight from the definitions."""
    everything = frozenset(range(64))
    holds = {
        "=": left == right,
        "<": left < right,
        ">": left > right,
        "^": not left & right and left | right == everything,
        "|": not left & right and left | right != everything,
        "v": bool(left & right) and left | right == everything,
    }
    names = [name for name, true in holds.items() if true]
    assert len(names) <= 1
    return names[0] if names else "#"


def operators(sentence: str) -> int:
    """The number of operators of a sentence."""
    return len(re.findall(r"and|or|not", sentence))


def letters(*sentences: str) -> set[str]:
    """The variables that occur in some sentences."""
    return {word for sentence in sentences for word in sentence.split() if word in set("abcdef")}

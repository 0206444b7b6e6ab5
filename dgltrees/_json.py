"""Parsing of JSON from unknown sources."""

from __future__ import annotations

import json
import re
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_PAIR_OR_HALF = re.compile(r"\\\\|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(\\u[dD][89a-fA-F])")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{\]}]|\d+')


class JSONError(ValueError):
    """An error in JSON text, with its line, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def line_of_deepest(text: str) -> int:
    """Return the line of the most deeply nested bracket in JSON text."""
    depth = most = place = 0
    for match in _TOKEN.finditer(text):
        depth += (match[0] in "[{") - (match[0] in "]}")
        if depth > most:
            most, place = depth, match.start()
    return _line_at(text, place)


def _line_at(text: str, place: int) -> int:
    return 1 + text.count("\n", 0, place)


def load_json(text: str) -> Any:
    """Parse JSON text."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        what = f"{error.msg[0].lower()}{error.msg[1:].removesuffix(' at')} at column {error.colno}"
        raise JSONError(f"expected JSON, got {what}", error.lineno) from None
    except ValueError as error:  # a number with too many digits
        numbers = (match for match in _TOKEN.finditer(text) if not match[0].startswith('"'))
        longest = max(numbers, key=lambda match: len(match[0]))
        raise JSONError(str(error), _line_at(text, longest.start())) from None
    except RecursionError:
        raise JSONError(
            "expected JSON that Python's json can read, got objects nested too deep for it (about "
            "500 nodes); write such trees as a node table or as Arrow",
            line_of_deepest(text),
        ) from None
    if _ESCAPED_HALF.search(text):
        half = _HALF.search(json.dumps(value, ensure_ascii=False))
        if half is not None:
            place = next(match.start() for match in _PAIR_OR_HALF.finditer(text) if match[1])
            raise JSONError(
                f"expected whole characters, got half of one, \\u{ord(half[0]):04x}; write both "
                "halves, or the character",
                _line_at(text, place),
            )
    return value

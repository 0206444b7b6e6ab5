"""Parsing of JSON from unknown sources."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

_HALF = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_PAIR_OR_HALF = re.compile(r"\\\\|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(\\u[dD][89a-fA-F])")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{\]}]|\d+|NaN|Infinity')
_KEY = re.compile(r'("(?:[^"\\]|\\.)*")\s*(:)?|[{}]')


class JSONError(ValueError):
    """An error in JSON text, with its line, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _RepeatedKeyError(ValueError):
    """A key that an object has twice; its line is found afterwards."""


class _ConstantError(ValueError):
    """NaN or an infinity; its line is found afterwards."""


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


def _line_of_repeated_key(text: str) -> int:
    """Return the line of the first key that its object has already."""
    keys: list[set[str]] = [set()]
    for match in _KEY.finditer(text):
        if match[0] == "{":
            keys.append(set())
        elif match[0] == "}":
            keys.pop()
        elif match[2]:
            key = json.loads(match[1], strict=False)
            if key in keys[-1]:
                return _line_at(text, match.start())
            keys[-1].add(key)
    return 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for number, key in enumerate(keys) if key in keys[:number])
        raise _RepeatedKeyError(
            f"expected every key once in an object, got {twice!r:.60} twice; rename one of them"
        )
    return value


def _refuse(constant: str) -> NoReturn:
    raise _ConstantError(
        f"expected JSON, got {constant}, which is not a JSON number; write null for a missing value"
    )


def load_json(
    text: str,
    of_pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
    of_number: Callable[[str], Any] | None = None,
) -> Any:
    """Parse JSON text, in which no object has a key twice and all numbers are finite.

    ``of_pairs`` makes the value of an object, ``of_number`` that of a number.
    """

    def members(pairs: list[tuple[str, Any]]) -> Any:
        value = _object(pairs)
        return value if of_pairs is None else of_pairs(pairs)

    try:
        value = json.loads(
            text,
            object_pairs_hook=_object if of_pairs is None else members,
            parse_int=of_number,
            parse_float=of_number,
            parse_constant=_refuse,
        )
    except json.JSONDecodeError as error:
        what = f"{error.msg[0].lower()}{error.msg[1:].removesuffix(' at')} at column {error.colno}"
        raise JSONError(f"expected JSON, got {what}", error.lineno) from None
    except _RepeatedKeyError as error:
        raise JSONError(str(error), _line_of_repeated_key(text)) from None
    except _ConstantError as error:
        place = next(m.start() for m in _TOKEN.finditer(text) if m[0] in ("NaN", "Infinity"))
        raise JSONError(str(error), _line_at(text, place)) from None
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

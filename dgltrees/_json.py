"""JSON of files, as anybody may have written it."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["load_json"]

_HALF = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def load_json(text: str) -> Any:
    """The value of JSON text.

    Raises:
        ValueError: in words and with the column: the text is no JSON, is nested too deep for
            Python's ``json``, has a number too long for Python's ``int``, or a text with half a
            character, which no file can hold.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        what = f"{error.msg[0].lower()}{error.msg[1:]} at column {error.colno}"
        raise ValueError(f"expected JSON, got {what}") from None
    except RecursionError:
        raise ValueError(
            "expected JSON that Python's json can read, got objects nested too deep for it (about "
            "500 nodes); write such trees as a node table or as Arrow"
        ) from None
    if _ESCAPED_HALF.search(text):
        half = _HALF.search(json.dumps(value, ensure_ascii=False))
        if half is not None:
            raise ValueError(
                f"expected whole characters, got half of one, \\u{ord(half[0]):04x}; write both "
                "halves, or the character"
            )
    return value

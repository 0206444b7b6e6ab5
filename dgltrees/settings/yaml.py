"""YAML of settings, as a stranger may have written it."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.reader import ReaderError

__all__ = ["load_yaml"]

_LONGEST = 1_000_000
_DEEPEST = 50


class _Loader(yaml.SafeLoader):
    """YAML without aliases, by which a few lines can stand for gigabytes, and of some depth."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem=f"got the alias *{event.anchor}, expected the value itself",
                problem_mark=event.start_mark,
            )
        if self.depth > _DEEPEST:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem=f"got more than {_DEEPEST} mappings and lists within each other",
                problem_mark=event.start_mark,
            )
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        for key, _ in node.value:
            name: Any = self.construct_object(key, deep=True)
            if not isinstance(name, str):
                raise yaml.MarkedYAMLError(
                    problem=f"got the name {name!r:.60}, expected a text; put it in quotes",
                    problem_mark=key.start_mark,
                )
        return super().construct_mapping(node, deep)


def load_yaml(text: str) -> Any:
    """The value of YAML text, of plain types, with texts as names.

    Raises:
        ValueError: with line: the text is no YAML, has aliases or a name that is no text, or is
            longer or deeper than settings are.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"expected at most {_LONGEST:,} characters, got {len(text):,}")
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, LookupError) as error:
        where, what = "", str(error)
        if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
            where = f"line {error.problem_mark.line + 1}: "
            what = ", ".join(filter(None, (error.context, error.problem)))
        elif isinstance(error, ReaderError):
            where = f"line {text.count(chr(10), 0, error.position) + 1}: "
            what = f"the character {text[error.position]!r} is not allowed"
        what = " ".join(what.split()) or type(error).__name__
        raise ValueError(f"expected YAML: {where}{what:.300}") from None

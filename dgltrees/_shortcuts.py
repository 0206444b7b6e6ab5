"""Functions for code that these functions import.

``Forest.from_objects`` calls a builder and ``Forest._repr_html_`` a drawing, which both import
``Forest``; a traversal calls the compiler, which imports the traversal. So they look these
functions up here. Each is imported when it is called: no two files import each other, and nothing
is loaded before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from dgltrees.analyses.explain import Explanation
    from dgltrees.trees.forest import Forest


def _imported(place: str) -> Callable[..., Any]:
    found = cache(lambda: resolve_name(place))
    return lambda *args, **options: found()(*args, **options)


compiled_traversal: Callable[..., dict[str, Tensor] | None] = _imported(
    "dgltrees.cells.compiled.way:compiled_traversal"
)
explain: Callable[..., Explanation] = _imported("dgltrees.analyses.explain:explain")
forest_html: Callable[[Forest], str] = _imported("dgltrees.draw.trees:forest_html")
from_objects: Callable[..., Forest] = _imported("dgltrees.trees.builders.objects:from_objects")
to_objects: Callable[..., dict[str, Any]] = _imported("dgltrees.trees.builders.objects:to_objects")

"""Functions for methods of classes that these functions import.

``Forest.from_objects`` calls a builder and ``Forest._repr_html_`` a drawing, which both import
``Forest``. So the methods look their functions up here. Each is imported when it is called: no two
files import each other, and nothing is loaded before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgltrees.analyses.explain import Explanation
    from dgltrees.trees.forest import Forest


def _imported(place: str) -> Callable[..., Any]:
    return lambda *args, **options: resolve_name(place)(*args, **options)


explain: Callable[..., Explanation] = _imported("dgltrees.analyses.explain:explain")
forest_html: Callable[[Forest], str] = _imported("dgltrees.draw.trees:forest_html")
from_objects: Callable[..., Forest] = _imported("dgltrees.trees.builders.objects:from_objects")
to_objects: Callable[..., dict[str, Any]] = _imported("dgltrees.trees.builders.objects:to_objects")

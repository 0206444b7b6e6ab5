"""Functions for methods of classes that these functions import.

``Forest.from_objects`` calls a builder and ``Forest._repr_html_`` a drawing, which both import
``Forest``. So the methods look their functions up here, and ``dgltrees/__init__``, which runs
before every other file, sets them: no two files import each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgltrees.analyses.explain import Explanation
    from dgltrees.trees.forest import Forest


explain: Callable[..., Explanation]
forest_html: Callable[[Forest], str]
from_objects: Callable[..., Forest]
to_objects: Callable[..., dict[str, Any]]

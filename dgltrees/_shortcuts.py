"""Functions that methods are shortcuts to, where the function is made of the class of the method.

``Forest.from_objects`` calls the builder, ``Forest._repr_html_`` the drawing, and both of these
import ``Forest``. The method finds its function here, and ``dgltrees/__init__``, which runs before
every other file, sets it: no two files import each other.
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

"""What all drawings do alike."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dgltrees.draw import draw
from tests.draw.examples import listops
from tests.draw.laws import Make, every_law

# A drawing by its size limit and title; its size, and what it says of itself.
DRAWINGS: dict[str, tuple[Make, int, str]] = {
    "trees": (
        lambda title="", **limit: draw(listops(), 1, titles=["", title], **limit),
        3,
        "Drawing(1 tree, 3 nodes: print it for text, .svg for a picture of up to {} nodes)",
    ),
}


@every_law
@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_keeps_the_laws(law: Callable[..., None], name: str, tmp_path: Path) -> None:
    law(*DRAWINGS[name], tmp_path)

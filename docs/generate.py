"""What the site takes from elsewhere: the notebooks."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]


def write(docs: Path) -> None:
    """Write the generated pages into ``docs``, each only where it changes."""
    pages = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        pages[docs / "tutorials" / path.name] = text.replace("../datasets", "../../datasets")
    for path in (docs / "tutorials").glob("*.ipynb"):
        if path not in pages:
            path.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

"""The Python in the documents, which are about the whole package, runs."""

import inspect
import re
from pathlib import Path
from unittest import mock

import pytest

import dgltrees  # noqa: F401  # the documents may import dgl, which warns when it comes first
from dgltrees.cells import CELLS
from dgltrees.settings.presets import PRESETS
from dgltrees.trees import builders
from tests.installed import needs_papers

ROOT = Path(__file__).parents[2]
PAGES = sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md"))

pytestmark = needs_papers


def python_blocks(document: str) -> list[tuple[int, str]]:
    """The blocks marked as Python, each with the number of its first line."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in found]


@pytest.mark.filterwarnings("ignore:The input graph for the user-defined edge function")
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # by torch_geometric
@pytest.mark.parametrize("document", [page for page in PAGES if python_blocks(page)])
def test_python_blocks_run_one_after_the_other(document: str) -> None:
    names: dict[str, object] = {"__name__": document}
    short = mock.patch.dict(PRESETS["regress"]["training"], epochs=2)  # of all custom trees
    with short, mock.patch.dict(CELLS):  # one of them adds a cell
        for line, block in python_blocks(document):
            # Empty lines before it let a traceback show the document's own line numbers.
            exec(compile("\n" * (line - 1) + block, document, "exec"), names)


OUTSIDE = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "datasets/README.md"]
"""Pages that are read outside of the site, whose build checks the links of the others."""


@pytest.mark.parametrize("document", OUTSIDE)
def test_links_lead_somewhere(document: str) -> None:
    page = ROOT / document
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", text):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


def anchors(page: Path) -> list[str]:
    """The names of a page's headings in links: lower case, hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings]


def test_the_guide_names_every_builder() -> None:
    text = (ROOT / "docs/howto/convert.md").read_text(encoding="utf-8")
    names = [name for name in builders.__all__ if name.startswith(("from_", "to_"))]
    assert [name for name in names if f"{name}(" not in text] == []
    calls = re.findall(r"`((?:from|to)_\w+)\(([^`]*)\)`", text)
    for name, arguments in calls:
        parameters = inspect.signature(getattr(builders, name)).parameters
        assert set(re.findall(r"(\w+)=", arguments)) <= set(parameters), name

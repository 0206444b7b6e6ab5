"""Public texts keep to plain words, to their lengths, and to names that exist."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dgltrees.cli import COMMANDS
from dgltrees.formats.synthetic import GENERATORS
from dgltrees.settings.catalog import preset_names
from dgltrees.settings.layers import section_sources
from dgltrees.settings.resolve import schema
from dgltrees.settings.tasks import TASKS, get_task

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]
PAGES += [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "datasets/README.md"]
PAGES += sorted(ROOT.glob("datasets/results/*.yaml"))
LONGEST = {"README.md": 150, "CONTRIBUTING.md": 150, "CHANGELOG.md": 30}
"""Lines of a page, at most."""
NO_VERBS = re.compile(
    r"(A|All|An|Any|As|At|Both|By|Each|Every|For|From|How|If|In|Its|No|None|Of|On|One|Only|Some|Such"
    r"|That|The|These|This|To|True|What|When|Where|Whether|Which|Who|Why|With)\b|\W"
)
"""Matches summaries that do not begin with a verb."""


def word_list() -> dict[str, tuple[str, list[str]]]:
    """Return what to write instead of each word, and the phrases in which it is allowed."""
    listed = {}
    for line in (ROOT / "docs/words.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" -> ")
            instead, *allowed = rest.split(" | ")
            listed[word] = instead, allowed
    return listed


def prose(text: str) -> str:
    """Return a text without its code."""
    text = re.sub(r"(?ms)^ *```.*?^ *```|^ *>>>.*?$|^ *\$\$.*?\$\$", "", text)
    return re.sub(r"``.*?``|`[^`\n]*`|\$[^$\n]*\$", "_", text)


def texts() -> Iterator[tuple[str, str]]:
    """Yield every public text with its place."""
    for page in PAGES:
        yield str(page.relative_to(ROOT)), page.read_text("utf-8")
    for notebook in sorted(ROOT.glob("notebooks/*.ipynb")):
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield notebook.name, "".join(cell["source"])
    for module in sorted(ROOT.glob("dgltrees/**/*.py")):
        place = module.relative_to(ROOT)
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Expr):
                for text in _constants(node.value) if _is_text(node.value) else ():
                    yield f"{place}:{node.lineno}", text
            elif isinstance(node, ast.Raise) and node.exc is not None:
                yield f"{place}:{node.lineno}", " ".join(_constants(node.exc))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _constants(node: ast.expr) -> list[str]:
    """Return the strings of an expression."""
    found = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return [each for each in found if isinstance(each, str)]


def test_public_texts_use_plain_words() -> None:
    listed = word_list()
    pattern = re.compile(rf"(?i)\b({'|'.join(map(re.escape, listed))})\b")
    hits = []
    for place, text in texts():
        plain = re.sub(r"\s+", " ", prose(text))
        for _, allowed in listed.values():
            for phrase in allowed:
                plain = re.sub(rf"(?i)\b{re.escape(phrase)}", "_", plain)
        for match in pattern.finditer(plain):
            near = plain[max(0, match.start() - 30) : match.end() + 30]
            hits.append(f"{place}: {match[0]!r} in {near!r}; write {listed[match[0].lower()][0]}")
    assert not hits, "\n".join(hits)


def test_summaries_of_functions_begin_with_a_verb() -> None:
    others = []
    for module in sorted(ROOT.glob("dgltrees/**/*.py")):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            summary = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            properties = [ast.unparse(each) for each in getattr(node, "decorator_list", [])]
            if summary is None or any(each.endswith("property") for each in properties):
                continue
            if NO_VERBS.match(summary):
                others.append(
                    f"{module.relative_to(ROOT)}:{node.lineno}: {summary.splitlines()[0]}"
                )
    assert not others, "\n".join(others)


@pytest.mark.parametrize(("page", "lines"), LONGEST.items())
def test_pages_for_a_first_look_are_short(page: str, lines: int) -> None:
    assert len((ROOT / page).read_text("utf-8").splitlines()) <= lines


COMMAND = re.compile(r"(?:^ *|[`|] ?|-m )dgltrees ((?:[a-z][\w-]*)(?: [a-z][\w.-]*)?)", re.M)
SETTING = re.compile(
    r"(?:--|`|\"|')(?=(?:data|model|training)\.)([a-z_]+(?:\.[a-z_]+)+)(?![\w\[(])"
)
NAMES = {"make-data": [*GENERATORS], **dict.fromkeys(("train", "show", "sweep"), preset_names())}
"""The words that may follow a command."""


def wrong_names(text: str) -> list[str]:
    """Return the commands, presets and settings that neither exist nor are added by the text."""
    wrong = []
    for words in COMMAND.findall(text):
        command, _, name = words.partition(" ")
        known = [] if name.endswith(".yaml") else NAMES.get(command, [])
        if command not in COMMANDS or (known and name and name not in known):
            wrong.append(words)
    settings = {
        f"{section}.{name}"
        for task in TASKS
        for section, source in section_sources(get_task(task)).items()
        for name in schema(source)
    }
    groups = {name.rpartition(".")[0] for name in settings}
    for name in SETTING.findall(text):
        # a column of features has a name that users choose
        if not {name, name.rpartition(".")[0]} & settings and name not in groups:
            wrong.append(name)
    last = ((name, re.split("[ .]", name)[-1]) for name in wrong)
    return [name for name, word in last if not re.search(rf'\b{word}"?: ', text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_presets_and_settings_on_pages_exist(page: Path) -> None:
    assert wrong_names(page.read_text("utf-8")) == []


def test_names_that_do_not_exist_are_found() -> None:
    text = """
    ```sh
    dgltrees trian regress --model.hiden_size 3
    dgltrees train regres --model.hidden_size 3
    dgltrees inspect plans.jsonl
    ```
    `dgltrees show regress` prints `training.epoch`.
    """
    wrong = ["trian regress", "train regres", "model.hiden_size", "training.epoch"]
    assert wrong_names(text) == wrong

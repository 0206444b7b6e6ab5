"""The reader of sources gives the options that importing gives, and imports no torch."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dgltrees.cells import AGGREGATORS, CELLS
from dgltrees.cli import COMMANDS
from dgltrees.formats.synthetic import GENERATORS
from dgltrees.registry import Registry
from dgltrees.settings import options_of
from dgltrees.settings.layers import section_sources
from dgltrees.settings.options import fixed_parts
from dgltrees.settings.tasks import TASKS
from dgltrees.tasks.custom_trees.settings import ENCODERS
from dgltrees.tasks.sequences import SENTENCE_ENCODERS

TABLES = {
    "dgltrees.cells:CELLS": CELLS,
    "dgltrees.cells:AGGREGATORS": AGGREGATORS,
    "dgltrees.tasks.custom_trees.settings:ENCODERS": ENCODERS,
    "dgltrees.tasks.sequences:SENTENCE_ENCODERS": SENTENCE_ENCODERS,
    "dgltrees.formats.synthetic:GENERATORS": GENERATORS,
    "dgltrees.cli:COMMANDS": COMMANDS,
    "dgltrees.settings.tasks:TASKS": TASKS,
}
READ = """
import json, sys
from dgltrees.settings.source import read, reading_sources
assert "torch" not in sys.modules
options_of_table = read("tests.settings.test_source:options_of_table")
with reading_sources():
    print(json.dumps({place: options_of_table(read(place)) for place in sys.argv[1:]}))
assert "torch" not in sys.modules
"""


def described(source: Any) -> list[list[str]]:
    """Name, type, default and sentence of the options of a class or function and of its parts."""
    queue, seen, rows = [source], set(), []
    while queue:
        part = queue.pop(0)
        if part is None or part in seen:
            continue
        seen.add(part)
        queue += fixed_parts(part).values()
        for option in options_of(part).values():
            row = [part.__name__, option.name, option.words, repr(option.default), option.sentence]
            rows.append([each for each in row if " object at " not in each])
            for choice in (option.choices or {}).values():
                queue += choice if isinstance(choice, tuple) else [choice]
    return rows


def options_of_table(table: Registry[Any]) -> dict[str, Any]:
    """The options of each object of a registry; of a task those of its sections."""
    rows: dict[str, Any] = {}
    for name in table:
        entry = table[name]
        if hasattr(entry, "metrics"):
            sources = section_sources(entry)
            rows[name] = {section: described(source) for section, source in sources.items()}
        elif not isinstance(entry, Mapping):
            rows[name] = described(entry)
    return rows


@pytest.fixture(scope="module")
def read_from_source() -> dict[str, Any]:
    """The options of all tables, as a process without torch reads them."""
    done = subprocess.run(
        [sys.executable, "-c", READ, *TABLES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("place", TABLES)
def test_sources_have_the_options_of_what_they_define(
    place: str, read_from_source: dict[str, Any]
) -> None:
    assert read_from_source[place] == options_of_table(TABLES[place])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("presets", "sick-relatedness"),
        ("show sick-relatedness", "hidden_size: 150"),
        ("show regres", "did you mean regress"),
        ("--help", "usage: dgltrees COMMAND"),
        ("make-data --help", "plans"),
        ("make-data plans --help", "--overwrite"),
        ("draw --help", "jsonl, nodes, arrow"),
        ("train regress --model.cell lstm --model.aggregator hosvd --help", "--model.rank"),
        ("trian", "did you mean train?"),
        ("train regres --out x", "no preset 'regres'"),
        ("train regress --out x --model.cel lstm", "model.cel has no effect in the task regress"),
        ("train regress --otu x", "has no flag --otu; did you mean --out?"),
    ],
)
def test_helps_lists_and_mistakes_need_no_torch(words: str, message: str) -> None:
    code = "import sys; from dgltrees.cli import main; main(); assert 'torch' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert message in done.stdout + done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_every_command_shows_its_help_in_a_process_of_its_own() -> None:
    """One that has imported nothing for another command."""
    code = (
        "import os\n"
        "from dgltrees.cli import COMMANDS, main\n"
        "for name in COMMANDS:\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        os._exit(main([name, '--help']))\n"
        "    assert os.waitpid(child, 0)[1] == 0, name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_definition_that_needs_another_library_is_imported(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text("ONE = 1\n")
    (tmp_path / "other.py").write_text(
        "import library\ndef two(x=2 * library.ONE): return x\ndef one(x=library.ONE): return x\n"
    )
    code = (
        "from dgltrees.registry import Registry\n"
        "from dgltrees.settings.source import reading_sources\n"
        "table = Registry('commands', {name: f'other:{name}' for name in ('two', 'one')})\n"
        "with reading_sources():\n"
        "    print(table['two'](), table['one']())\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "2 1\n", done.stderr

"""The examples in docstrings run, and print the results that they show."""

import doctest
import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import dgltrees

ROOT = Path(dgltrees.__file__).parent
MODULES = [
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
IMPORTED = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


def installed(example: doctest.DocTest) -> bool:
    """Whether the libraries that an example imports are there."""
    source = "".join(each.source for each in example.examples)
    return all(find_spec(name) for name in IMPORTED.findall(source))


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")  # PyTorch Geometric uses it
@pytest.mark.parametrize("name", MODULES)
def test_examples_print_the_results_that_they_show(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    found = [example for example in doctest.DocTestFinder().find(module) if example.examples]
    assert found, f"{name} has >>> outside of the docstrings that doctest finds"
    for example in filter(installed, found):
        torch.manual_seed(0)
        runner.run(example)
    assert not runner.failures, f"examples in {name} printed other results, see stdout"

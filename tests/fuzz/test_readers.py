"""Damaged files: a reader returns trees, or says in one line what is wrong and where.

A hundred inputs for each reader; ``make fuzz`` takes 10,000 (the variable ``FUZZ``).
"""

import os
import random
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import ConfigError, Forest, TreeError, Vocabulary
from dgltrees.formats import FORMATS, RecordLayout, write_arrow, write_parquet
from dgltrees.settings.catalog import preset_values
from tests.training.samples import SAMPLES

INPUTS = int(os.environ.get("FUZZ", "100"))
_LONGEST = 3000
"""Bytes of a sample, cut behind a line: short files are read fast."""

SAMPLES_OF = {
    "plans/train.jsonl": "jsonl",
    "ud/sample.conllu": "conllu",
    "lrt/train4": "lrt",
    "penn/sample.mrg": "mrg",
    "sst/train.txt": "sst",
    "snli/snli_1.0_train.jsonl": "entailment",
    "sick/SICK_train_parsed.txt": "entailment",
    "wikiqa/WikiQASent-train.txt": "wikiqa",
    "mee/train4.tsv": "mee",
    "listops/train.tsv": "listops",
}
"""The formats of samples."""
SAMPLES_OF = {path: form for path, form in SAMPLES_OF.items() if form in FORMATS}
TEXTS = {
    "json": b'{"a": [1, 2.5, null, true, {"b": "text \\u00e9"}], "c": {}}\n',
    "xml": b'<?xml version="1.0" encoding="utf-8"?>\n<a b="c"><d>text &amp; more</d><e/></a>\n',
    "python": b"def f(a, b=1):\n    return [a * b for a in range(3) if a]\n",
    "nodes": b"tree,id,parent,x\n0,0,,1\n0,1,0,2.5\n0,2,0,\n1,0,,4\n",
    "rows": b'id,tree\n1,"{""a"": 1, ""children"": [{""a"": 2}]}"\n2,"{""a"": 3}"\n',
    "inex": b"2:1(5($) 7(9($) 12(3($))))\n1:3($)\n",
    "boolsent": b"(1_OR (0_AND  1  0 ) (1_IMPL  0 1 ) )\n 1\n",
    "preset": b"# mine\nbase: classify\nmodel: {hidden_size: 3}\ntraining:\n  epochs: 2\n",
}
TEXTS = {name: text for name, text in TEXTS.items() if name in {"preset", *FORMATS}}
READERS: dict[str, Callable[[Path], Any]] = {
    "preset": lambda path: preset_values(str(path)),
    "rows": lambda path: FORMATS["rows"].read(path, layout=RecordLayout(tree_path="tree")),
    "jsonl": lambda path: FORMATS["jsonl"].read(
        path, layout=RecordLayout(tree_path="plan", children_key="Plans")
    ),
}
SUFFIXES = {"nodes": ".csv", "rows": ".csv", "preset": ".yaml"}
SPECIAL = [
    *(b"", b"\0", b"\xff", b"\xc3", b"\r", b"\n", b"\n\n", b"\t", b" ", b'"', b"'", b",", b"\\"),
    *(b"(", b")", b"[", b"]", b"{", b"}", b"<", b">", b"&", b"*", b":", b"-1", b"0", b"1e999"),
    *(b"NaN", b"null", b"\\ud800", b"\xef\xbb\xbf", b"\xf0\x9f\x8c\xb3", b"\xe2\x80\xa8"),
    *(b"9" * 30, b"9" * 5000, b"(" * 2000, b"[" * 2000, b"x" * 5000),
]


def sample(name: str) -> bytes:
    """The beginning of a file of the samples."""
    content = (SAMPLES / name).read_bytes()
    return content[: content.rfind(b"\n", 0, _LONGEST) + 1] or content


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The content with one to four changes of a kind each."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(content) + 1)
        stop = min(len(content), at + rng.choice([1, 1, 1, 4, 40]))
        kind = rng.randrange(6)
        if kind == 0:
            content = content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at] + content[stop:]
        elif kind == 2:
            content = content[:stop] + content[at:]
        elif kind == 3:
            content = content[:at] + rng.choice(SPECIAL) + content[stop:]
        elif kind == 4:
            lines = content.splitlines(keepends=True) or [b""]
            lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))
            content = b"".join(lines)
        elif rng.random() < 0.2:
            content = content[:at]
    return content


def check(read: Callable[[Path], Any], path: Path, *, lines: bool = False) -> bool:
    """Whether a file is read; what is not read is refused by our errors, by file and line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            read(path)
            refusal = None
        except (TreeError, ConfigError) as error:
            refusal = str(error)
    assert refusal is None or path.name in refusal
    if refusal is not None and lines:
        assert re.search(rf"{re.escape(path.name)}:\d+: |line \d+", refusal), refusal
    return refusal is None


@pytest.mark.parametrize("name", SAMPLES_OF)
def test_damaged_samples(tmp_path: Path, name: str) -> None:
    form = SAMPLES_OF[name]
    path = tmp_path / f"file{'.jsonl' if name.endswith('.jsonl') else '.txt'}"
    damaged(name, READERS.get(form, FORMATS[form].read), sample(name), path)


@pytest.mark.parametrize("name", TEXTS)
def test_damaged_files(tmp_path: Path, name: str) -> None:
    read = READERS[name] if name in READERS else FORMATS[name].read
    path = tmp_path / f"file{SUFFIXES.get(name, '.txt')}"
    damaged(name, read, TEXTS[name], path, lines=name != "preset")


def damaged(
    name: str, read: Callable[[Path], Any], content: bytes, path: Path, *, lines: bool = True
) -> None:
    """Read a file, and then damaged ones."""
    path.write_bytes(content)
    assert check(read, path), "the sample itself must be read"
    for number in range(INPUTS):
        rng = random.Random(f"{name} {number}")
        path.write_bytes(mutated(content, rng))
        try:
            check(read, path, lines=lines)
        except Exception as error:
            raise AssertionError(f"{name} {number}: {path.read_bytes()!r}") from error


def test_damaged_folders_of_forests(tmp_path: Path) -> None:
    words = Vocabulary(["a", "b", "c"])
    columns = {"word": np.array([0, 2, 1]), "size": np.array([0.5, 1, 2])}
    forest = Forest.build([-1, 0, 0], columns=columns, vocabs={"word": words})
    forest.save(tmp_path / "whole")
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    for number in range(INPUTS):
        rng = random.Random(number)
        folder = Path(shutil.copytree(tmp_path / "whole", tmp_path / "f", dirs_exist_ok=True))
        path = folder / rng.choice(names)
        path.write_bytes(mutated(path.read_bytes(), rng))
        if check(Forest.load, folder):
            assert Forest.load(folder).parent.tolist() in ([-1, 0, 0], [-1, 0, 1])


@pytest.mark.parametrize("write", [write_parquet, write_arrow])
def test_damaged_tables_of_lists(tmp_path: Path, write: Callable[..., None]) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "file"
    write(READERS["jsonl"](SAMPLES / "plans" / "train.jsonl"), path)
    content = path.read_bytes()
    assert check(FORMATS["arrow"].read, path)
    for number in range(INPUTS):
        path.write_bytes(mutated(content, random.Random(number)))
        check(FORMATS["arrow"].read, path)

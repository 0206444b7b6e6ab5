"""What every reader of files returns: for whole samples, and for forty damaged inputs each."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dgltrees import ConfigError, Forest, TreeError, Vocabulary
from dgltrees.formats import FORMATS, Layout, sentences_of_text
from dgltrees.formats.lines import gather
from dgltrees.papers.rrnet.data.logic_sequences import stream_logic_sequences
from dgltrees.papers.top_down.data.kbest import read_kbest
from dgltrees.papers.top_down.data.questions import read_questions
from dgltrees.settings.catalog import preset_values
from dgltrees.settings.tasks import get_task
from dgltrees.trees import Examples
from tests.fuzz.test_readers import mutated
from tests.golden.rows import SAMPLES, sha

DAMAGED, LONGEST = 40, 3000
CONLLU = "{}\t{}\t_\t_\t_\t_\t{}\t_\t_\t_\n".format
FUNCTIONS = "def f(a, b=1):\n    return [a * b for a in range(3) if a]\n\n\ndef g():\n    pass\n"


def _sst_phrases(path: Path) -> Any:
    task = get_task("sst-phrases")
    return Examples.concat(list(task.stream(path, task.data())))


class Reader(NamedTuple):
    """A reader, what it reads of the samples, or else a text, and the ending of its files.

    A reader without a function is a format.
    """

    files: str | bytes
    suffix: str = ".txt"
    read: Callable[[Path], Any] | None = None
    layout: Layout = Layout()


READERS = {
    "jsonl": Reader("plans/**/*.jsonl", layout=Layout(tree="plan", children="Plans")),
    "conllu": Reader("*/**/*.conllu"),
    "listops": Reader("listops/*.tsv"),
    "logic": Reader("lrt/t*"),
    "inex": Reader("inex/*.tree"),
    "boolsent": Reader("boolsent/*.txt"),
    "mee": Reader("mee/*.tsv"),
    "mrg": Reader("penn/*.mrg"),
    "sst": Reader("sst/*.txt"),
    "entailment": Reader("s[ni]*/*[1d].txt"),
    "wikiqa": Reader("wikiqa/*.txt"),
    "text": Reader("ptb_lm/*.txt"),
    "snli": Reader("snli/*.jsonl", ".jsonl", FORMATS["entailment"].read),
    "wikiqa questions": Reader("wikiqa/*.txt", ".txt", FORMATS["wikiqa"].read),
    "logic sequences": Reader(
        "lrt/train[456]", ".txt", lambda path: gather(stream_logic_sequences(path))
    ),
    "sst phrases": Reader("sst/*.txt", ".txt", _sst_phrases),
    "dp": Reader(b"The\tDT\t2\ndog\tNN\t3\nbarks\tVBZ\t0\n\nGo\tVB\t0\n\n"),
    "json": Reader(b'{"a": [1, 2.5, null, true, {"b": "text \\u00e9"}], "c": {}}\n'),
    "json-records": Reader(b'[{"a": "x", "children": [{"a": "y"}]},\n {"a": "z", "b": 3}]\n'),
    "xml": Reader(b'<?xml version="1.0"?>\n<a b="c"><d>text &amp; more</d><e/></a>\n'),
    "python": Reader(FUNCTIONS.encode(), ".py"),
    "python-functions": Reader(FUNCTIONS.encode(), ".py"),
    "nodes": Reader(b"tree,id,parent,x,y\n0,0,,1,p\n0,1,0,2.5,\n0,2,0,,q\n1,0,,4,p\n", ".csv"),
    "rows": Reader(
        b'id,tree\n1,"{""a"": 1, ""children"": [{""a"": 2}]}"\n2,"{""a"": 3}"\n', ".csv"
    ),
    "kbest": Reader(
        f"# sent_id = x\n# score = -1.5\n{CONLLU(1, 'a', 0)}{CONLLU(2, 'b', 1)}\n"
        f"# sent_id = x\n# score = -2\n{CONLLU(1, 'a', 2)}{CONLLU(2, 'b', 0)}\n".encode(),
        read=read_kbest,
    ),
    "questions": Reader(
        b"id,question,a),b),c),d),e)\n1,It was a _____ night.,dark,wet,long,cold,mild\n",
        read=read_questions,
    ),
    "plain text": Reader(
        b"It's 3 p.m. already. \xe2\x80\x9cGo!\xe2\x80\x9d\nsaid Mr. Lake,\n\nand left.\n",
        read=lambda path: list(sentences_of_text(path)),
    ),
    "preset": Reader(
        b"# mine\nbase: listops\nmodel: {hidden_size: 3}\ntraining:\n  epochs: 2\n",
        ".yaml",
        lambda path: preset_values(str(path)),
    ),
}


def parts(value: Any, folder: Path, name: str = "") -> Iterator[tuple[str, Any]]:
    """The arrays, vocabularies and texts that something read consists of, each by a digest.

    Arguments:
        value: what was read.
        folder: where from; its name does not count.
        name: what the value is a part of.
    """

    def digest(what: Any) -> str:
        return sha(json.dumps(what, default=str).replace(f"{folder}{os.sep}", ""))

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from parts(each, folder, f"{name}.{key}" if name else str(key))
    elif isinstance(value, np.ndarray):
        exact = value.dtype.kind in "biuf"
        found = sha(value.tobytes()) if exact else digest(value.tolist())
        yield name, f"{value.dtype} {value.shape} {found}"
    elif isinstance(value, Vocabulary):
        yield name, f"{len(value)} names {digest([value.names, value.unknown, value.frozen])}"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield name, f"{len(value)} values {digest([dict(parts(each, folder)) for each in value])}"
    else:
        yield name, value if value is None or isinstance(value, (str, int, float)) else str(value)


def outcome(read: Callable[[Path], Any], path: Path, whole: bool = False) -> Any:
    """The digests, or one of all, or the error; and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", SyntaxWarning)  # of what a damaged program says
        try:
            found = dict(parts(read(path), path.parent))
            result: Any = found if whole else sha(json.dumps(found, sort_keys=True))
        except (ConfigError, TreeError) as error:
            result = f"{type(error).__name__}: {error}"
    texts = [str(warning.message) for warning in caught if warning.category is UserWarning]
    if texts:
        result = [result, *texts]
    plain = json.dumps(result, ensure_ascii=False).replace(f"{path.parent}{os.sep}", "")
    return json.loads(re.sub(r"(\w|[^\w\s\\])\1{49,}", r"\1...", plain))


def _files(folder: Path, reader: Reader) -> list[Path]:
    if isinstance(reader.files, str):
        return sorted(SAMPLES.glob(reader.files))
    path = folder / f"file{reader.suffix}"
    path.write_bytes(reader.files)
    return [path]


def _rows(folder: Path, name: str, reader: Reader) -> Iterator[tuple[str, Any]]:
    read = reader.read or (lambda path: FORMATS[name].read(path, layout=reader.layout))
    files = _files(folder, reader)
    for file in files:
        place = file.relative_to(SAMPLES) if isinstance(reader.files, str) else "text"
        yield f"{name}: {place}", outcome(read, file, whole=True)
    content, path = files[0].read_bytes(), folder / f"file{reader.suffix}"
    content = content[: content.rfind(b"\n", 0, LONGEST) + 1] or content
    for number in range(DAMAGED):
        path.write_bytes(mutated(content, random.Random(f"{name} {number}")))
        yield f"{name}: damage {number:02}", outcome(read, path)


def _of_folders(folder: Path) -> Iterator[tuple[str, Any]]:
    """Formats that are written; of these, Arrow, forests and folders of files are damaged."""
    trees = FORMATS["jsonl"].read(SAMPLES / "plans/train.jsonl", layout=READERS["jsonl"].layout)
    for name, form in FORMATS.items():
        if form.write is None:
            continue
        path, examples = folder / f"written.{name}", trees
        if name in ("conllu", "listops", "logic"):
            examples = form.read(min(SAMPLES.glob(str(READERS[name].files))))
        form.write(Examples(trees.forest) if name in ("jsonl", "forest") else examples, path)
        yield f"{name}: written", outcome(form.read, path, whole=True)
        if path.is_file():
            yield f"{name}: written bytes", sha(path.read_bytes())
    content = (folder / "written.arrow").read_bytes()
    for number in range(DAMAGED):
        (folder / "file").write_bytes(mutated(content, random.Random(f"arrow {number}")))
        yield f"arrow: damage {number:02}", outcome(FORMATS["arrow"].read, folder / "file")
    files = sorted(path for path in (folder / "written.forest").rglob("*") if path.is_file())
    for number in range(DAMAGED):
        rng = random.Random(f"forest {number}")
        path = rng.choice(files)
        content = path.read_bytes()
        path.write_bytes(mutated(content, rng))
        yield f"forest: damage {number:02}", outcome(Forest.load, folder / "written.forest")
        path.write_bytes(content)
    for label in ("a", "b"):
        os.makedirs(folder / "labeled" / label)
        (folder / "labeled" / label / "x.json").write_text(f'{{"{label}": [1, 2]}}', "utf-8")
    yield "folder: labeled", outcome(FORMATS["folder"].read, folder / "labeled", whole=True)


def record() -> dict[str, Any]:
    """Rows for every sample, and for every damaged input."""
    rows: dict[str, Any] = {}
    for name, reader in READERS.items():
        with tempfile.TemporaryDirectory() as folder:
            rows.update(_rows(Path(folder), name, reader))
    with tempfile.TemporaryDirectory() as folder:
        rows.update(_of_folders(Path(folder)))
    return rows


fast = record

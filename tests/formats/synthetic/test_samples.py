import re
from pathlib import Path

import numpy as np
import pytest

from dgltrees.formats import FORMATS, RecordLayout
from tests.installed import installed_formats, installed_tasks

from .sample_data import OF_PAPERS, make_samples

DATASETS = Path(__file__).parents[3] / "datasets"
SAMPLES = DATASETS / "samples"

FORMAT_OF = {
    "listops": "listops",
    "lrt": "lrt",
    "sst": "sst",
    "penn": "mrg",
    "ud": "conllu",
    "msr": "conllu",
    "snli": "entailment",
    "sick": "entailment",
    "wikiqa": "wikiqa",
    "mee": "mee",
    "ptb_lm": "text",
    "plans": "jsonl",
}
"""The format of each folder of samples."""

FORMATS_HERE = installed_formats({form: form for form in FORMAT_OF.values()})


def files(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_the_samples_are_what_the_generators_write(tmp_path: Path) -> None:
    make_samples(tmp_path)
    generated = files(tmp_path)
    handwritten = [Path("penn/sample.mrg"), Path("ud/sample.conllu")]
    missing = {*OF_PAPERS} - {*installed_tasks(OF_PAPERS)}
    assert [path for path in files(SAMPLES) if path.parts[0] not in missing] == sorted(
        [*generated, *handwritten]
    )
    for name in generated:
        assert (SAMPLES / name).read_bytes() == (tmp_path / name).read_bytes(), name


def test_the_folder_is_small() -> None:
    assert sum((DATASETS / name).stat().st_size for name in files(DATASETS)) < 500_000


TREES = [
    path
    for path in files(SAMPLES)
    if path.parts[0] != "glove"
    and (path.name.startswith("relatedness") or FORMAT_OF[path.parts[0]] in FORMATS_HERE)
]


@pytest.mark.parametrize("name", TREES, ids=str)
def test_every_sample_is_read(name: Path) -> None:
    path = SAMPLES / name
    pairs = name.name.startswith("relatedness")
    form = "jsonl" if pairs else FORMAT_OF[name.parts[0]]
    layout = RecordLayout(tree_path=["first", "second"]) if pairs else RecordLayout()
    examples = FORMATS[form].read(path, layout=layout)
    text = path.read_text(encoding="utf-8")
    starts = {".mrg": "\n( (", ".conllu": "\n1\t"}
    start = starts.get(name.suffix)
    expected = len(text.splitlines()) if start is None else text.count(start)
    assert len(examples) == expected > 0


def test_the_training_samples_have_every_class() -> None:
    labels = {
        "listops/train.tsv": r"(?m)^\d",
        "sst/train.txt": r"(?m)^\(\d",
        "sick/SICK_train_parsed.txt": r"(?m)^[A-Z]+",
        "wikiqa/WikiQASent-train.txt": r"(?m)\d$",
    }
    classes = {"listops": 10, "sst": 5, "sick": 3, "wikiqa": 2}
    for name, pattern in labels.items():
        labels_of_file = set(re.findall(pattern, (SAMPLES / name).read_text(encoding="utf-8")))
        assert len(labels_of_file) == classes[Path(name).parts[0]]


HEADINGS = {
    "listops": "ListOps",
    "lrt": "Logical relations (LRT)",
    "sst": "Stanford Sentiment Treebank",
    "inex": "INEX 2005",
    "penn": "Penn Treebank brackets",
    "ud": "Universal Dependencies",
    "sick": "SICK",
    "wikiqa": "WikiQA",
    "mee": "Math expressions (MEE)",
    "ptb_lm": "Penn Treebank text",
    "plans": "Query plans",
}


@pytest.mark.parametrize(
    "name", [name for name in HEADINGS if FORMAT_OF.get(name, name) in FORMATS]
)
def test_the_page_of_data_sets_shows_well_formed_examples(name: str, tmp_path: Path) -> None:
    text = (DATASETS.parent / "docs/reference/data_sets.md").read_text(encoding="utf-8")
    section = text.partition(f"\n### {HEADINGS[name]}\n")[2]
    block = re.findall(r"(?s)\n```\n(.*?)```", section)[0]
    (tmp_path / name).write_text(block, encoding="utf-8")
    examples = FORMATS[FORMAT_OF.get(name, name)].read(tmp_path / name)
    assert np.all(examples.forest.sizes > 0)

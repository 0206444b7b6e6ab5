from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dgltrees import formats as readers

from .sample_data import implication, make_samples

DATASETS = Path(__file__).parents[3] / "datasets"
SAMPLES = DATASETS / "samples"

READERS = {
    "listops": readers.read_listops,
    "lrt": readers.read_logic,
    "sst": readers.read_sst,
    "inex": readers.read_inex,
    "boolsent": readers.read_boolsent,
    "penn": readers.read_mrg,
    "ud": readers.read_conllu,
    "snli": readers.read_entailment,
    "sick": readers.read_entailment,
    "wikiqa": readers.read_wikiqa,
    "mee": readers.read_mee,
    "ptb_lm": readers.read_running_text,
}


def files(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_the_samples_are_what_the_generators_give(tmp_path):
    make_samples(tmp_path)
    made = files(tmp_path)
    assert files(SAMPLES) == sorted([*made, Path("penn/sample.mrg"), Path("ud/sample.conllu")])
    for name in made:
        assert (SAMPLES / name).read_bytes() == (tmp_path / name).read_bytes(), name


def test_the_folder_stays_small():
    assert sum((DATASETS / name).stat().st_size for name in files(DATASETS)) < 250_000


@pytest.mark.parametrize("name", [p for p in files(SAMPLES) if p.name != "manifest.json"], ids=str)
def test_every_sample_can_be_read(name):
    path = SAMPLES / name
    examples = READERS[name.parts[0]](path)
    text = path.read_text(encoding="utf-8")
    starts = {".mrg": "\n( (", ".conllu": "# sent_id"}
    one = starts.get(name.suffix)
    expected = len(text.splitlines()) if one is None else text.count(one)
    assert len(examples) == expected > 0


def test_the_training_samples_have_every_class():
    labels = {
        "listops/train.tsv": r"(?m)^\d",
        "sst/train.txt": r"(?m)^\(\d",
        "inex/inex05.train.elastic.tree": r"(?m)^\d+",
        "boolsent/train.txt": r"(?m)^\(\d",
        "sick/SICK_train_parsed.txt": r"(?m)^[A-Z]+",
        "wikiqa/WikiQASent-train.txt": r"(?m)\d$",
    }
    wanted = {"listops": 10, "sst": 5, "inex": 4, "boolsent": 2, "sick": 3, "wikiqa": 2}
    for name, pattern in labels.items():
        found = set(re.findall(pattern, (SAMPLES / name).read_text(encoding="utf-8")))
        assert len(found) == wanted[Path(name).parts[0]]


def test_implication_associates_to_the_left():
    assert [implication([a, b]) for a in (0, 1) for b in (0, 1)] == [1, 1, 0, 1]
    assert [implication([0]), implication([1])] == [0, 1]
    assert implication([0, 0, 0]) == 0
    assert implication([1, 0, 0]) == 1


def test_the_pages_hold_well_formed_examples(tmp_path):
    """What a page shows between its first fences is read by the reader of its format."""
    for page, read in READERS.items():
        if page == "snli":  # told apart by the file's name, and shown on SICK's page
            continue
        text = (DATASETS / f"{page.partition('_')[0]}.md").read_text(encoding="utf-8")
        example = re.search(r"(?s)```\n(.*?)```", text)[1]
        (tmp_path / page).write_text(example, encoding="utf-8")
        examples = read(tmp_path / page)
        assert np.all(examples.forest.sizes > 0)

"""What every command prints and writes, on the samples and on models that have learned little.

Numbers are rounded to five digits. Commands run in one folder, one after the other, and find the
samples in its ``samples``.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from dgltrees.cells.compiled.kernels import compiled
from tests.golden.rows import SAMPLES, run, sha, shortened

FILES = {
    "answers.csv": "id,answer\n1,a\n2,c\n",
    "questions.csv": "id,question,a),b),c),d),e)\n1,Ada counted the _____.,stars,late,and,to,of\n"
    "2,The _____ slept.,stars,ship,night,to,of\n",
    "simple.txt": "the\nnight\nships\nguests\n",
    "text.txt": "Ada slept. It is late.\n",
}
SMALL = "--model.hidden_size 4 --training.epochs 2 --training.accelerator cpu --data.limit 30"
PLANS = "--data.train samples/plans/train.jsonl --data.tree plan --data.children Plans"
LM = (
    "--data.train samples/ud/sample.conllu --data.valid samples/ud/sample.conllu --data.min_count 1"
)
LISTOPS = "--data.train samples/listops/train.tsv"
UD = "samples/ud/sample.conllu"
SICK = "samples/sick/SICK_trial_parsed.txt"
COMMANDS = f"""
train listops-sum-c25 --data.root samples --data.test listops/test.tsv {SMALL} --out listops
train listops-sum-c25 --data.root samples --data.test listops/test.tsv {SMALL} --out listops
train listops-hosvd-c10-r3 {LISTOPS} {SMALL} --seeds 0 1 --out seeds
evaluate listops
evaluate listops --test samples/listops/valid.tsv
predict listops --input samples/listops/test.tsv
predict listops --input -
predict listops --input samples/listops/test.tsv --batch_size 7 --out predictions.jsonl
encode listops --input samples/listops/test.tsv --out vectors.npy
sweep listops-sum-c25 {LISTOPS} {SMALL} --grid model.hidden_size=3,4 --seeds 0 1 --out sweep
explain listops --input samples/listops/test.tsv --tree 3
train classify {PLANS} --data.target speed {SMALL} --out classify
evaluate classify --test samples/plans/train.jsonl
predict classify --input samples/plans/train.jsonl
explain classify --input samples/plans/train.jsonl --tree 1
explain classify --input samples/plans/train.jsonl --tree 1 --by subtrees
explain classify --input samples/plans/train.jsonl --tree 2 --target fast --out explained.svg
similar classify --input samples/plans/train.jsonl --query 5 1 --number 2
train regress {PLANS} --data.target seconds {SMALL} --out regress
predict regress --input samples/plans/train.jsonl
train label {PLANS} --data.target 'Node Type' {SMALL} --out label
predict label --input samples/plans/train.jsonl
train parser {LM} {SMALL} --model.embedding 4 --out parser
evaluate parser --test {UD}
parse parser --input {UD} --k 3 --out lists.conllu
parse parser --input text.txt --format text --out parsed/
train tree-lm {LM} {SMALL} --model.embedding 4 --model.left_dependents true --out tree-lm
evaluate tree-lm --test {UD}
rerank tree-lm --input lists.conllu --tune {UD} --out reranked.conllu
complete tree-lm --questions questions.csv --answers answers.csv --parser parser --out answers.jsonl
train-shape tree-lm --epochs 2 --hidden 6 5
evaluate tree-lm --test {UD}
generate tree-lm --number 4 --seed 2 --max_words 12
generate tree-lm --number 3 --sample_decisions true --max_words 8 --out drawn.conllu
compress tree-lm --input {UD} --max_words 4
compress tree-lm --input {UD} --max_words 5 --joint true --out short.conllu
simplify tree-lm --input {UD} --simple_words simple.txt --min_cosine 0
train sick-fullmatching-global --data.root samples {SMALL} --model.embedding 6 --out matching
evaluate matching --test {SICK}
predict matching --input {SICK}
attention matching --input {SICK}
attention matching --input {SICK} --example 2 --out map.svg
accuracy-by-padding matching --input {SICK} --step 2
train sst-phrases-small --data.root samples {SMALL} --model.embedding 6 --out sst
similar sst --input samples/sst/dev.txt --query 'is good' 'very good' --number 3
encode sst --input samples/sst/dev.txt --out sst.npy
train logic-rrnet --data.root samples {SMALL} --out rrnet
evaluate rrnet --test samples/lrt/test2
train mee-reinforce --data.root samples {SMALL} --out policy
compare-trees policy --test samples/mee/test4.tsv --out trees --limit 2
train mee --data.root samples {SMALL} --out mee
evaluate mee --test samples/mee/test4.tsv
predict mee --input samples/mee/test4.tsv
make listops --out made/listops --train 20 --valid 5 --test 5 --seed 1
make logic --out made/logic --seed 1
make mee --out made/mee --seed 1
make plans --out made/plans --seed 1
draw samples/listops/test.tsv
draw samples/ud/sample.conllu --trees 0
draw samples/sst/dev.txt --trees 0:2 --style ascii
draw samples/plans/train.jsonl --tree plan --children Plans --trees 1 --out plan.svg
draw samples/mee/test4.tsv --format mee --trees 0
draw samples/penn/sample.mrg --trees 0
inspect samples/plans/train.jsonl
inspect samples/plans/train.jsonl --target seconds
inspect samples/sick/relatedness_train.jsonl
inspect samples/plans/queries/train.jsonl --target seconds --group query
"""
TYPED = "[MAX 1 2 ]\n[SM 3 9 [MIN 1 2 ] ]\n"
"""The standard input."""
LONGEST = 1500
"""Of a file's text; a longer one has a hash."""


def record() -> dict[str, Any]:
    """A row for each command, numbered where one occurs again."""
    rows: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name, compiled(False):
        folder = Path(name).resolve()
        (folder / "samples").symlink_to(SAMPLES)
        for file, text in FILES.items():
            (folder / file).write_text(text, encoding="utf-8")
        os.chdir(folder)
        try:
            for line in COMMANDS.strip().splitlines():
                key = line if line not in rows else f"{line} (again)"
                rows[key] = _row(shlex.split(line), folder)
        finally:
            os.chdir(before)
    return rows


def _row(words: list[str], folder: Path) -> dict[str, Any]:
    printed = run(words, folder, TYPED)
    row = {key: _plain(text) if key != "status" else text for key, text in printed.items()}
    out = Path(words[words.index("--out") + 1]) if "--out" in words else None
    if out is not None:
        paths = [out] if out.is_file() else sorted(path for path in out.rglob("*"))
        files = {str(path): _content(path, folder) for path in paths if path.is_file()}
        row["files"] = {path: content for path, content in files.items() if content}
    return row


def _content(path: Path, folder: Path) -> str:
    """The text of a file, or its hash; empty for files that are compared elsewhere."""
    if path.suffix == ".npy":
        array = np.load(path)
        return f"{array.dtype} {array.shape} {np.round(array[:2], 4).tolist()}"
    if path.suffix in (".safetensors", ".png", ".lock"):
        return "there"
    text = _plain(shortened(path.read_text(encoding="utf-8"), folder))
    return text if len(text) < LONGEST else sha(text)


def _plain(text: str) -> str:
    """A text with rounded numbers, and without seconds and checksums."""
    text = re.sub(r"\d+\.\d{5,}(e-?\d+)?", lambda number: f"{float(number[0]):.5g}", text)
    text = re.sub(r"(?m)\d+\.\d s(?=$|  \*$)", "N s", text)
    return re.sub(r"\b[0-9a-f]{64}\b", "CHECKSUM", text)

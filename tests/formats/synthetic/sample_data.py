"""Generates `datasets/samples`: small files in the format of every data set.

``python -m tests.formats.synthetic.sample_data datasets/samples`` writes them from a seed.
"""

import json
import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dgltrees.formats.synthetic import GENERATORS
from dgltrees.formats.synthetic.draws import below, stream
from dgltrees.formats.synthetic.plans import write_plans
from tests.installed import installed_tasks

T = TypeVar("T")

NOUNS = ("story", "cast", "music", "ending", "film", "café", "script", "picture")
FEELINGS = {
    "brilliant": 4,
    "moving": 4,
    "good": 3,
    "funny": 3,
    "long": 2,
    "French": 2,
    "dull": 1,
    "thin": 1,
    "awful": 0,
    "hopeless": 0,
}

# hyponyms and their hypernyms
SOMEBODY = (("boy", "child"), ("girl", "child"), ("poodle", "dog"), ("cat", "animal"))
DOING = ("sleeps", "runs", "sings", "waits", "jumps")
PLACES = ("park", "house", "street", "garden")
COLORS = ("red", "green", "black", "white")


def pick(rng: random.Random, items: Sequence[T]) -> T:
    return items[below(rng, len(items))]


def review(rng: random.Random) -> str:
    """A sentence with a label from 0 to 4 on every constituent, in the treebank's format."""
    text, label = clause(rng)
    if below(rng, 3) == 0:
        other, wins = clause(rng)
        tail = f"({wins} (2 but) {other})"
        text, label = f"({wins} {text} ({wins} (2 ,) {tail}))", wins
    return f"({label} {text} (2 .))"


def clause(rng: random.Random) -> tuple[str, int]:
    word, label = pick(rng, list(FEELINGS.items()))
    text = f"({label} {word})"
    if below(rng, 3) == 0:
        label = (0, 0, 2, 4, 4)[label]
        text = f"({label} (2 very) {text})"
    if below(rng, 3) == 0:
        label = (2, 3, 2, 1, 1)[label]
        text = f"({label} (1 not) {text})"
    return f"({label} (2 (2 the) (2 {pick(rng, NOUNS)})) ({label} (2 is) {text}))", label


def inference(rng: random.Random) -> tuple[str, str, str]:
    """A label and two sentences in brackets, each a binary parse."""
    narrow, wide = pick(rng, SOMEBODY)
    doing, place = pick(rng, DOING), pick(rng, PLACES)
    premise = f"( ( A {narrow} ) ( {doing} ( in ( the {place} ) ) ) )"
    label = pick(rng, ("entailment", "contradiction", "neutral"))
    other = pick(rng, [p for p in PLACES if p != place])
    hypothesis = {
        "entailment": f"( ( A {wide} ) {doing} )",
        "contradiction": f"( ( No {wide} ) {doing} )",
        "neutral": f"( ( A {wide} ) ( {doing} ( near ( a {other} ) ) ) )",
    }[label]
    return label, premise, hypothesis


def snli(rng: random.Random) -> str:
    """A pair in SNLI's own form, with the fields that the reader reads."""
    fields = ("gold_label", "sentence1_binary_parse", "sentence2_binary_parse")
    return json.dumps(dict(zip(fields, inference(rng))))


def sick(rng: random.Random) -> str:
    label, premise, hypothesis = inference(rng)
    return f"{label.upper()}\t{premise}\t{hypothesis}"


def relatedness(rng: random.Random) -> str:
    """A pair of sentences as trees in a record, each word below the one before it."""
    label, *parses = inference(rng)
    record: dict[str, object] = {}
    for key, parse in zip(("first", "second"), parses):
        words = [token for token in parse.split() if token not in "()"]
        node: dict[str, object] = {"word": words[-1]}
        for word in reversed(words[:-1]):
            node = {"word": word, "children": [node]}
        record[key] = node
    record["entailment_label"] = label.upper()
    lowest = {"entailment": 40, "contradiction": 30, "neutral": 10}[label]
    record["relatedness_score"] = (lowest + below(rng, 11)) / 10
    return json.dumps(record)


def question(rng: random.Random) -> str:
    """A question with a line per sentence; most questions have an answer."""
    animal, color = pick(rng, SOMEBODY)[0], pick(rng, COLORS)
    name = f"{animal} number {below(rng, 1000)}"
    right = f"The {name} is {color} ."
    wrong = [f"The {name} {pick(rng, DOING)} in the {pick(rng, PLACES)} ." for _ in range(3)]
    rows = [(sentence, 0) for sentence in wrong]
    if below(rng, 5):
        rows.insert(below(rng, 4), (right, 1))
    return "\n".join(f"what color is the {name} ?\t{text}\t{label}" for text, label in rows)


def line(rng: random.Random) -> str:
    """A sentence as language models have it: lower case, N for numbers, spaces on both sides."""
    animal, other = (pick(rng, [word for pair in SOMEBODY for word in pair]) for _ in range(2))
    begin = pick(rng, (f"the {animal}", f"a {animal} of the {other}", f"N {animal}s", "<unk>"))
    end = pick(rng, ("", f" in the {pick(rng, PLACES)}", f" near a {pick(rng, COLORS)} house"))
    return f" {begin} {pick(rng, DOING)}{end} "


def parse(rng: random.Random) -> str:
    """A sentence in the brackets of the Penn Treebank, below an empty line."""
    _, premise, _ = inference(rng)
    tagged = re.sub(r"[^\s()]+", r"(T \g<0>)", premise)
    return f"\n( {tagged.replace('( ', '(X ')} )"


def parsed(rng: random.Random) -> str:
    """A sentence with its dependencies in CoNLL-U: word, tag, head, relation."""
    subject = [("the", "DET", 2, "det"), (pick(rng, SOMEBODY)[0], "NOUN", 3, "nsubj")]
    if below(rng, 2):
        color = (pick(rng, COLORS), "ADJ", 3, "amod")
        subject = [("the", "DET", 3, "det"), color, (pick(rng, SOMEBODY)[0], "NOUN", 4, "nsubj")]
    verb = len(subject) + 1
    rows = [*subject, (pick(rng, DOING), "VERB", 0, "root")]
    if below(rng, 2):
        rows += [("in", "ADP", verb + 3, "case"), ("the", "DET", verb + 3, "det")]
        rows.append((pick(rng, PLACES), "NOUN", verb, "obl"))
    rows.append((".", "PUNCT", verb, "punct"))
    return f"# text = {' '.join(word for word, *_ in rows)}\n" + "".join(
        f"{place}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n"
        for place, (word, tag, head, relation) in enumerate(rows, 1)
    )


def word_vectors(path: Path, size: int) -> None:
    """Write random vectors of some of the words, one of the words a line, as GloVe has them."""
    words = {*FEELINGS, *COLORS, *PLACES, *(word for pair in SOMEBODY for word in pair), "the", "."}
    rows = iter(sorted(words))

    def draw(rng: random.Random) -> str:
        return " ".join([next(rows), *(f".{below(rng, 10)}" for _ in range(size))])

    write(path, draw, len(words))


def write(path: Path, draw: Callable[[random.Random], str], count: int) -> None:
    """Write ``count`` lines, drawn from the stream of the file's name."""
    rng = stream("sample", path.parent.name, path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{draw(rng)}\n" for _ in range(count))
    path.write_bytes(lines.encode("utf-8"))


OF_PAPERS: dict[str, dict[str, Any]] = {
    "listops": {"train": 150, "valid": 40, "test": 40, "max_depth": 6},
    "lrt": {"train": [10] * 13, "valid": 0, "test": [4] * 13},
    "mee": {"train": 20, "valid": 10, "test": 10, "lengths": (4, 5)},
}
"""The settings of the generators of papers; a folder has the name of its generator."""


def make_samples(out: Path) -> None:
    """Write every sample that is generated; the handwritten ones stay as they are."""
    for name, settings in installed_tasks(OF_PAPERS).items():
        GENERATORS[name](out / name, **settings, overwrite=True)
    write_plans(out / "plans", train=60, valid=0, test=0, overwrite=True)
    queries = {"max_tables": 3, "alternatives": 4, "overwrite": True}
    write_plans(out / "plans" / "queries", train=48, valid=0, test=0, **queries)
    write(out / "sst" / "train.txt", review, 80)
    write(out / "sst" / "dev.txt", review, 30)
    write(out / "snli" / "snli_1.0_train.jsonl", snli, 60)
    write(out / "snli" / "snli_1.0_dev.jsonl", snli, 30)
    write(out / "sick" / "SICK_train_parsed.txt", sick, 60)
    write(out / "sick" / "SICK_trial_parsed.txt", sick, 30)
    write(out / "sick" / "relatedness_train.jsonl", relatedness, 24)
    write(out / "sick" / "relatedness_trial.jsonl", relatedness, 8)
    write(out / "wikiqa" / "WikiQASent-train.txt", question, 20)
    write(out / "wikiqa" / "WikiQASent-dev.txt", question, 10)
    for part, count in (("train", 40), ("dev", 12)):
        write(out / "ud" / "en_ewt" / f"en_ewt-ud-{part}.conllu", parsed, count)
    write(out / "msr" / "train1.conllu", parsed, 40)
    write(out / "msr" / "valid.conllu", parsed, 12)
    word_vectors(out / "glove" / "glove.840B.300d.txt", 300)
    word_vectors(out / "glove" / "glove.6B.100d.txt", 100)
    write(out / "ptb_lm" / "ptb.train.txt", line, 80)
    write(out / "ptb_lm" / "ptb.valid.txt", line, 30)
    write(out / "penn" / "train.mrg", parse, 40)
    write(out / "penn" / "valid.mrg", parse, 20)


if __name__ == "__main__":
    make_samples(Path(sys.argv[1]))

"""Tasks on plain sentences: what is read, what words begin with, what is reported."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.testing import assert_close

from dgltrees.errors import ConfigError, TreeError
from dgltrees.settings.layers import Settings
from dgltrees.settings.tasks import get_task
from dgltrees.tasks.splits import load_examples, load_splits
from dgltrees.training.run import prepare, train
from dgltrees.training.trained import load
from dgltrees.trees import LabeledTrees, Vocabulary
from tests.tasks.build import build
from tests.training.samples import SAMPLES

FILES = {
    "nli": ("sick/SICK_train_parsed.txt", "snli/snli_1.0_dev.jsonl"),
    "wikiqa": ("wikiqa/WikiQASent-train.txt", "wikiqa/WikiQASent-dev.txt"),
    "sst-phrases": ("sst/train.txt", "sst/dev.txt"),
}
LOOP = {"optimizer": "adam", "lr": 0.01, "accelerator": "cpu", "epochs": 2, "batch_size": 32}


def settings(
    task: str,
    *,
    data: dict[str, Any] | None = None,
    model: dict[str, Any] | None = None,
    **training: Any,
) -> Settings:
    names, valid = FILES[task]
    sizes = {"hidden_size": 8, "embedding": 6, "head_hidden_sizes": [8], "init": "uniform"}
    return Settings(
        {
            "task": task,
            "data": {"train": names, "valid": valid, "dir": str(SAMPLES), **(data or {})},
            "model": {**sizes, **(model or {})},
            "training": {**LOOP, "monitor": "loss", **training},
        }
    )


def logits(how: Settings) -> tuple[Tensor, Tensor]:
    """What the model in its initial state says of five examples, and their classes."""
    examples = load_splits(how.task, how.data).train
    batch, targets = how.task.batch(examples, np.arange(5))
    return build(how.task, examples, **how.model).eval()(batch), targets


@pytest.mark.parametrize(
    "model",
    [
        {"leaves": "identity", "embedding": 8},
        {"leaves": "linear"},
        {"leaves": "bilstm", "cell": "chainer_nti_lstm"},
        {"cell": "nti_attention", "score": "dot"},
        {"cell": "lstm", "aggregator": "full", "hidden_size": 3},
        {"branching": 3, "padding": "right", "pad": "learned", "width": 27},
        {"branching": 3, "stride": 2},
        {"trees": "left"},
        {"interaction": "node_by_node", "attention": "tree"},
        {"interaction": "matching", "attention": "tree_code", "root_query": False},
        {"interaction": "full_matching", "mask_pads": True, "score": "map", "last_step": True},
        {"encoder": "bilstm", "layers": 2},
    ],
)
def test_settings_make_models(model: dict[str, Any]) -> None:
    scores, targets = logits(settings("nli", model=model))
    assert scores.shape == (5, 3)
    assert targets.shape == (5,)
    assert torch.isfinite(scores).all()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"leaves": "identity"}, "size of the inputs, .*set model.leaves to linear"),
        ({"head_hidden_sizes": []}, "model.head_hidden_sizes to be the size of one hidden layer"),
        ({"leaves": "linear", "cell": "nary"}, "other than linear with model.cell nary"),
        ({"stride": 3}, "a stride from 1 to 2"),
    ],
)
def test_settings_that_do_not_fit(model: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        logits(settings("nli", model=model))


some_are_zero = pytest.mark.filterwarnings("ignore:.*no vectors for")


def _vectors(folder: Path, text: str = "a 1 2 3 4 5 6\nunheard 1 1 1 1 1 1\n") -> dict[str, Any]:
    """Settings of data with a file of word vectors."""
    (folder / "v.txt").write_text(text, encoding="utf-8")
    return {"vectors": str(folder / "v.txt"), "lower": True}


@some_are_zero
def test_word_vectors_are_fixed_and_unknown_words_zero(tmp_path: Path) -> None:
    how = settings("nli", data=_vectors(tmp_path), model={"fixed_words": True})
    with pytest.warns(UserWarning, match=r"v.txt: no vectors for (\d+) of (\d+) words") as caught:
        ready = prepare(how)
    weight: Any = ready.model.get_parameter("encoder.input.weight")
    words = ready.splits.train.schema["word"]
    assert weight[words.encode(["a"])[0]].tolist() == [1, 2, 3, 4, 5, 6]
    assert (weight != 0).any(1).sum() == 1
    unknown_apart = len(words) - 1
    assert f"for {unknown_apart - 1} of {unknown_apart} words" in str(caught[0].message)
    result = train(how, tmp_path / "run", bar=False)
    assert math.isfinite(result["valid"]["loss"])
    weights = load_file(tmp_path / "run" / "weights.safetensors")
    assert_close(weights["encoder.encoder.input.weight"], weight)


@some_are_zero
def test_word_vectors_that_are_learned_move(tmp_path: Path) -> None:
    train(settings("nli", data=_vectors(tmp_path)), tmp_path / "run", bar=False)
    words = load_file(tmp_path / "run" / "weights.safetensors")["encoder.encoder.input.weight"]
    assert (words != 0).any(1).sum() > 1


@some_are_zero
@pytest.mark.parametrize(("every_split", "words"), [(False, 3), (True, 5)])
def test_the_vocabulary_is_of_training_or_of_all_splits(
    tmp_path: Path, every_split: bool, words: int
) -> None:
    for name, text in (("train", "yes no"), ("dev", "yes unheard"), ("test", "unseen")):
        (tmp_path / name).write_text(f"NEUTRAL\t{text}\tno\n", encoding="utf-8")
    vectors = _vectors(tmp_path, "no 3 3 3 3 3 3\nunheard 1 1 1 1 1 1\nunseen 2 2 2 2 2 2\n")
    files = {"train": "train", "valid": "dev", "test": "test", "dir": str(tmp_path)}
    data = {**files, **vectors, "vocabulary_from_all_splits": every_split}
    ready = prepare(settings("nli", data=data))
    weight = ready.model.get_parameter("encoder.input.weight")
    assert weight.shape == (words, 6)
    assert len(ready.splits.train) == 1
    assert ready.test is not None
    unseen = int(ready.test.forest.columns["word"][0])
    assert weight[unseen].tolist() == ([2] * 6 if every_split else [0] * 6)


def test_fixed_words_need_vectors() -> None:
    with pytest.raises(ConfigError, match=r"missing data.vectors with model.fixed_words"):
        prepare(settings("nli", model={"fixed_words": True}))


def test_trees_of_one_width_need_a_limit() -> None:
    for limit in (None, 9):
        with pytest.raises(ConfigError, match=rf"data.max_words of at most 8 .*, got {limit}"):
            prepare(settings("nli", data={"max_words": limit}, model={"width": 8}))
    with pytest.raises(TreeError, match=r"SICK_train_parsed.txt:1: .* at most 5 words, got 6"):
        prepare(settings("nli", data={"max_words": 5}, model={"width": 8}))
    prepare(settings("nli", data={"max_words": 8}, model={"width": 8}))


def test_vectors_of_another_size_are_refused(tmp_path: Path) -> None:
    data = _vectors(tmp_path, "a 1 2 3\n")
    with pytest.raises(
        TreeError, match=r"v.txt:1: expected a word and 6 numbers after single spaces, got 4 fields"
    ):
        prepare(settings("nli", data=data))


SST = "(3 (2 The) (4 (3 good) (2 One)))\n(2 (1 bad) (2 day))\n"


def read(path: Path, vocabs: dict[str, Vocabulary] | None = None, **data: Any) -> LabeledTrees:
    task = get_task("sst-phrases")
    return load_examples(task, task.data(**data), [path], vocabs)


def sentences(data: LabeledTrees) -> list[str]:
    names = data.forest.vocabs["word"].decode(data.forest.columns["word"])
    ends = data.forest.offsets
    return [" ".join(names[i:j]) for i, j in itertools.pairwise(ends)]


@pytest.fixture
def sst(tmp_path: Path) -> Path:
    path = tmp_path / "sst.txt"
    path.write_text(SST, encoding="utf-8")
    return path


def test_phrases_are_learned_and_sentences_evaluated(sst: Path) -> None:
    data = read(sst)
    every = ["The good One", "The", "good One", "good", "One", "bad day", "bad", "day"]
    assert sentences(data) == every
    assert data.columns["target"].tolist() == [3, 2, 4, 3, 2, 2, 1, 2]
    for vocabulary in data.schema.values():
        vocabulary.freeze()
    later = read(sst, data.schema, lower=True)
    assert sentences(later) == ["<unk> good <unk>", "bad day"]
    assert sentences(read(sst, supervise="root")) == ["The good One", "bad day"]


def test_binary_leaves_neutral_phrases_out(sst: Path) -> None:
    data = read(sst, binary=True, lower=True)
    assert sentences(data) == ["the good one", "good one", "good", "bad"]
    assert data.targets.decode(data.columns["target"]) == [*["positive"] * 3, "negative"]


def test_long_sentences_are_refused_or_cut(sst: Path) -> None:
    sst.write_text("\n" + SST, encoding="utf-8")
    with pytest.raises(
        TreeError, match=r"sst.txt:2: expected a sentence of at most 2 words, got 3"
    ):
        read(sst, max_words=2)
    cut = read(sst, max_words=1, truncate=True, supervise="root")
    assert sentences(cut) == ["The", "bad"]


def test_questions_of_several_files_stay_apart(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("q\tyes\t1\nq\tno\t0\n", encoding="utf-8")
    (tmp_path / "none").write_text("q\tyes\t0\np\tno\t0\n", encoding="utf-8")
    train(settings("wikiqa", model={"encoder": "lstm"}), tmp_path / "run", bar=False)
    run = load(tmp_path / "run")
    report = run.evaluate(test=[str(tmp_path / name) for name in "ab"])
    assert (report["questions"], report["dropped"], report["examples"]) == (2, 0, 4)
    lines = list(run.predict([tmp_path / "a", tmp_path / "b"]))
    assert [(x["question"], x["sentence"]) for x in lines] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert sorted(line["rank"] for line in lines) == [1, 1, 2, 2]
    with pytest.raises(TreeError, match="a question with a right answer, got 2 without one"):
        run.evaluate(test=[str(tmp_path / "none")])


def test_word_counts_change_the_score() -> None:
    plain, _ = logits(settings("wikiqa"))
    counted, _ = logits(settings("wikiqa", model={"word_count": True}))
    assert plain.shape == counted.shape == (5, 1)
    assert not torch.equal(plain, counted)

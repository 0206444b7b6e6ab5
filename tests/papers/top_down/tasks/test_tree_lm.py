"""The language-model task, from files to perplexities."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from dgltrees import ConfigError, LabeledTrees, TreeBatch
from dgltrees.papers.top_down.models.language_model import BidirectionalLM, SequenceLM
from dgltrees.papers.top_down.tasks.tree_lm import TREE_LM, Objective
from dgltrees.training.run import prepare, train
from tests.papers.top_down.samples import tree_lm_settings
from tests.tasks.build import columns


def ready(values: dict[str, Any]) -> tuple[Any, LabeledTrees, TreeBatch, torch.Tensor]:
    """An untrained model in evaluation mode, and its training examples as one batch."""
    prepared = prepare(tree_lm_settings(values))
    data = prepared.splits.train
    return (prepared.model.eval(), data, *TREE_LM.batch(data, np.arange(len(data))))


def test_perplexity_is_of_the_words_alone() -> None:
    """Not of ROOT, and by the full softmax."""
    model, data, batch, targets = ready({"objective": "nce"})
    loss = TREE_LM.outputs(model, batch, targets)["loss"]
    assert (loss[torch.from_numpy(data.forest.roots)] == 0).all()
    with torch.no_grad():
        assert_close(loss.sum(), -model.model.log_prob(batch).double().sum())


def test_the_end_of_a_sentence_counts_beside_its_words() -> None:
    model, data, batch, targets = ready({"language_model": "sequence", "end": True})
    report = TREE_LM.report(data, columns(TREE_LM.outputs(model, batch, targets)), {})
    with torch.no_grad():
        whole = -float(model.model.log_prob(batch).double().sum())
        assert_close(float(TREE_LM.losses(model, batch, targets).sum()), whole)
        model.model.end = False
        alone = -float(model.model.log_prob(batch).double().sum())
    words = report["words"]
    assert_close((report["loss"], report["joint_loss"]), (alone / words, whole / words))
    assert alone < whole


def test_start_and_stop_count_beside_the_words() -> None:
    """Their loss joins that of the words in joint_loss."""
    model, data, batch, targets = ready({"stops": True})
    report = TREE_LM.report(data, columns(TREE_LM.outputs(model, batch, targets)), {})
    with torch.no_grad():
        h, words, node = model.model(batch)
        loss = F.cross_entropy(h @ model.model.output.t(), words, reduction="none")
        assert_close(TREE_LM.losses(model, batch, targets).sum(), loss.sum())
    is_word = words < len(data.forest.vocabs["word"])
    assert (is_word == (targets[node] >= 0)).all()
    per_word = loss[is_word].mean(), loss.sum() / report["words"]
    assert_close(torch.tensor([report["loss"], report["joint_loss"]]), torch.stack(per_word))
    assert report["words"] == int(is_word.sum())


def test_the_joint_loss_may_decide(tmp_path: Path) -> None:
    """Which epoch is the best, and when the learning rate is halved."""
    how = {"monitor": "joint_loss", "epochs": 5}
    result = train(tree_lm_settings({"stops": True}, training=how), tmp_path / "run", bar=False)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["valid_joint_loss"] for line in lines]
    assert result["valid"]["joint_loss"] == min(losses)
    assert result["best_epoch"] == 1 + losses.index(min(losses))
    with pytest.raises(ConfigError, match="or loss, the metrics of this model .*'joint_loss'"):
        train(tree_lm_settings(training=how), tmp_path / "plain", bar=False)


def _noise(model: nn.Module) -> torch.Tensor:
    """How often each word is expected among the noise of one word."""
    assert isinstance(model, Objective)
    assert model.nce is not None
    return model.nce.log_noise.exp()


def test_noise_counts_start_and_stop() -> None:
    prepared = prepare(tree_lm_settings({"objective": "nce", "stops": True}))
    words = prepared.splits.train.forest
    n, trees = words.num_nodes - len(words), len(words)
    noise = _noise(prepared.model)
    root = float(noise[words.columns["word"][0]])
    expected = torch.tensor([n / trees, (n + trees) / trees]) ** 0.75
    assert_close(noise[-2:].float() / root, expected)


def test_labels_are_learned_beside_the_words() -> None:
    """The perplexity is that of the words alone."""
    model, data, batch, targets = ready({"labels": True})
    with torch.no_grad():
        both = TREE_LM.losses(model, batch, targets).sum()
        outputs = TREE_LM.outputs(model, batch, targets)
        loss, label, p = (outputs[name] for name in ("loss", "label", "label_probability"))
        assert_close(loss.sum(), -model.model.log_prob(batch).double().sum())
        assert_close(both.double(), loss.sum() - p[p >= 0].log().sum())
        h, words, _ = model.model(batch)
        scores = torch.log_softmax(model.model.label_scores(h, words), 1)
    real = targets >= 0
    truth = batch.ndata["deprel"][real]
    assert (label[real] == scores.argmax(1)).all()
    assert_close(p[real], scores.exp().gather(1, truth[:, None])[:, 0].double())


def test_words_without_labels_count_for_the_words_alone(tmp_path: Path) -> None:
    path = tmp_path / "bare.conllu"
    path.write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n\n")
    data = {"train": str(path), "valid": str(path)}
    result = train(tree_lm_settings({"labels": True}, data=data), tmp_path / "run", bar=False)[
        "valid"
    ]
    assert result["words"] == 2
    assert result["label_accuracy"] in (0.0, 1.0)
    path.write_text("1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n\n")
    with pytest.raises(ConfigError, match="needs dependency labels .*, the data have none"):
        prepare(tree_lm_settings({"labels": True}, data=data))


def test_a_step_is_divided_by_its_sentences() -> None:
    assert TREE_LM.loss_denominator(64, 1500) == 64


def test_noise_is_by_the_words_of_the_training_examples() -> None:
    prepared = prepare(tree_lm_settings({"objective": "nce"}))
    words = prepared.splits.train.forest.columns["word"]
    names = prepared.splits.train.schema["word"]
    p = np.bincount(words, minlength=len(names)) ** 0.75
    assert_close(_noise(prepared.model) / 20, torch.from_numpy(p / p.sum()))


def test_word_vectors_are_where_the_words_begin(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2 3 4\nnever-seen 5 6 7 8\n", encoding="utf-8")
    with pytest.warns(UserWarning, match=r"no vectors for \d+ of \d+ words; .* random"):
        prepared = prepare(tree_lm_settings(data={"vectors": str(path)}))
    row = int(prepared.splits.train.schema["word"].encode(["the"])[0])
    assert prepared.model.model.embed.weight[row].tolist() == [1, 2, 3, 4]


def test_parameters_are_counted_as_in_table_1() -> None:
    model = Objective(SequenceLM(50, 8, embedding=8, tied=True))
    assert TREE_LM.parameters(model) == {"aggregator": None, "cell": 576, "model": 576 + 400}
    model = Objective(BidirectionalLM(50, 8))
    cell = 2 * 4 * 8 * (4 + 8 + 2)
    assert TREE_LM.parameters(model) == {"aggregator": None, "cell": cell, "model": cell + 50 * 20}


def test_halving_goes_on_after_a_resume(tmp_path: Path) -> None:
    """Eight epochs with so large a rate that some are undone; the same in two goes."""
    whole = train(tree_lm_settings(training={"epochs": 8, "lr": 30.0}), tmp_path / "one", bar=False)
    for epochs in (3, 8):
        part = tree_lm_settings(training={"epochs": epochs, "lr": 30.0})
        parts = train(part, tmp_path / "two", bar=False)
    assert parts == whole
    one, two = (tmp_path / name / "resume.json" for name in ("one", "two"))
    states = [json.loads(path.read_text()) for path in (one, two)]
    assert states[0]["progress"]["schedule"] == states[1]["progress"]["schedule"]
    assert states[0]["progress"]["schedule"]["halving"]
    assert states[0]["optimizer"]["groups"][0]["lr"] < 30.0


def test_halving_needs_validation_examples(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing validation examples for training.schedule"):
        train(
            tree_lm_settings(data={"valid": None, "valid_fraction": 0.0}),
            tmp_path / "run",
            bar=False,
        )


@pytest.mark.parametrize(
    ("model", "apart"),
    [({}, False), ({"objective": "nce"}, True), ({"labels": True}, True), ({"stops": True}, True)],
)
def test_losses_with_other_terms_have_scales_of_their_own(
    model: dict[str, Any], apart: bool
) -> None:
    assert TREE_LM.separate_losses(tree_lm_settings(model).model) is apart

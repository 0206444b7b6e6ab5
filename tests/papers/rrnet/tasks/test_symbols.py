"""Tasks whose models decide while they read: math expressions, and pairs of sentences."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn
from torch.testing import assert_close

from dgltrees.errors import ConfigError
from dgltrees.papers.rrnet.models.objectives import Reinforce
from dgltrees.settings.layers import Settings
from dgltrees.tasks.splits import Splits, load_splits
from dgltrees.tasks.task import Task
from dgltrees.training.run import train
from dgltrees.training.trained import TrainedModel, load
from dgltrees.trees import LabeledTrees
from tests.tasks.build import build
from tests.training.samples import SAMPLES, quick, with_model

FILES = {
    "mee": (["mee/train4.tsv", "mee/train5.tsv"], ["mee/valid4.tsv", "mee/valid5.tsv"]),
    "nli": ("sick/SICK_train_parsed.txt", "snli/snli_1.0_dev.jsonl"),
}


def settings(
    task: str = "mee",
    policy: dict[str, Any] | None = None,
    model: dict[str, Any] | None = None,
    **training: Any,
) -> Settings:
    sizes: dict[str, Any] = {"encoder": "rrnet", "hidden_size": 8, "embedding": 6}
    if task == "nli":
        sizes["head_hidden_sizes"] = [8]
    loop = {"optimizer": "adam", "lr": 0.01, "accelerator": "cpu", "epochs": 2, "batch_size": 16}
    return Settings(
        {
            "task": task,
            "data": {"dir": str(SAMPLES), **dict(zip(("train", "valid"), FILES[task]))},
            "model": {**sizes, "policy": policy or {}, **(model or {})},
            "training": {**loop, "monitor": "loss", **training},
        }
    )


def built(reader: Settings) -> tuple[Any, LabeledTrees]:
    examples = load_splits(reader.task, reader.data).train
    return build(reader.task, examples, **reader.model), examples


def test_what_the_settings_say_is_what_is_built() -> None:
    policy = {"operations": "policy", "hidden_sizes": [7], "stack": 5, "detach": True}
    rates = {"discount": 0.9, "entropy": 0.1, "value": 0.3}
    policy = {**policy, **rates, "merge": "two_layers", "agent": "reinforce", "weight": 0.5}
    reader, _ = built(settings(policy=policy, model={"dropout": 0.2, "layer_norm": True}))
    encoder = reader.encoder
    assert encoder.objective == Reinforce(0.9, 0.1, 0.3)
    assert (encoder.max_open, encoder.dropout, encoder.cell.merge) == (5, 0.2, "two_layers")
    assert encoder.cell.layer_norm
    assert encoder.policy.detach
    for layers in (encoder.policy.scores, encoder.policy.values):
        assert next(tuple(p.shape) for p in layers.parameters()) == (7, 14)
    assert reader.weight == 0.5


def test_all_encoders_have_one_decoder() -> None:
    sizes = []
    for model in ({"encoder": "rrnet"}, {"encoder": "lstm"}):
        how = settings(model=model)
        reader, examples = built(how)
        sizes.append(sum(p.numel() for p in reader.head.parameters()))
        batch, targets = how.task.batch(examples, np.arange(4))
        reader.eval()
        outputs = how.task.outputs(reader, batch, targets)
        assert [*outputs] == ["loss", "prediction", "probability"]
        assert all(column.shape == (4,) for column in outputs.values())
        rollout = how.task.rollout(reader, batch)
        assert_close(outputs["loss"].float(), reader(rollout, targets))
    assert sizes[0] == sizes[1]


PRESETS = {"lrt-rrnet": "supervised RRNet", "lrt-lstm": "LSTM", "lrt-transformer": "transformer"}
"""What their models are called."""


Run = tuple[TrainedModel, dict[str, Any]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of an RRNet on its own copy of the sample, and its result."""
    folder = tmp_path_factory.mktemp("lrt")
    shutil.copytree(SAMPLES / "lrt", folder / "data" / "lrt")
    settings = quick(
        "lrt-rrnet", {"max_train_examples": None, "dir": str(folder / "data")}, epochs=2
    )
    result = train(with_model(settings, hidden_size=6, embedding=4), folder / "run")
    return load(folder / "run"), result


def test_what_is_held_out_is_tested(run: Run) -> None:
    loaded, result = run
    report = loaded.evaluate()
    assert report == result["test"]
    assert report["examples"] == loaded.metadata["examples"]["valid"] == 13
    assert set(report["accuracy_by_operators"]) <= {*map(str, range(12)), "12+"}


def test_a_test_file_goes_before_what_is_held_out(run: Run) -> None:
    assert run[0].evaluate(test=str(SAMPLES / "lrt" / "test3"))["examples"] == 4


def test_what_was_held_out_of_other_files_is_unknown(run: Run, tmp_path: Path) -> None:
    loaded, result = run
    shutil.copytree(SAMPLES / "lrt", tmp_path / "lrt")
    assert loaded.evaluate(dir=str(tmp_path)) == result["test"]
    with open(tmp_path / "lrt" / "train3", "a", encoding="utf-8") as file:
        file.write("=\ta\ta\n")
    with pytest.raises(ConfigError, match=r"data file train3 \(data\.train\) has changed"):
        loaded.evaluate(dir=str(tmp_path))


@pytest.mark.parametrize(
    ("fraction", "message"),
    [(0.0, "missing test files"), (0.001, r"0\.001 of the training examples is less than one")],
)
def test_a_run_without_test_examples_says_so(tmp_path: Path, fraction: float, message: str) -> None:
    train(quick("lrt-rrnet", {"test_fraction": fraction}), tmp_path / "run")
    with pytest.raises(ConfigError, match=message):
        load(tmp_path / "run").evaluate()


def lrt_model(preset: str, **model: Any) -> tuple[Task, nn.Module, Splits]:
    settings = quick(preset)
    task, parts = settings.task, load_splits(settings.task, settings.data)
    options = {**settings.model, **model}
    if "max_children" in options:
        options["max_children"] = task.max_children
    return task, build(task, parts.train, **options), parts


def test_the_presets_have_about_as_many_parameters() -> None:
    counts = [task.parameters(model)["model"] for task, model, _ in map(lrt_model, PRESETS)]
    assert max(counts) < 1.05 * min(counts)


@pytest.mark.parametrize("preset", PRESETS)
def test_models_have_names(preset: str) -> None:
    settings = quick(preset)
    assert settings.task.display_name(settings.model) == PRESETS[preset]

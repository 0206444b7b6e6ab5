"""Every setting of data and model that is accepted makes a difference, or is refused."""

import dataclasses
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
from torch import nn

from dgltrees.errors import ConfigError, TreeError
from dgltrees.settings import Option
from dgltrees.settings.catalog import load_preset, preset_names
from dgltrees.settings.layers import Settings, layered
from dgltrees.settings.presets import PRESETS
from dgltrees.settings.tasks import TASKS
from dgltrees.training.loading import training_sampler
from dgltrees.training.run import prepare
from dgltrees.trees import Forest, LabeledTrees
from tests.training.samples import PLANS, quick, with_model

# These change result.json, not what is learned: see tests/tasks/custom_trees.
REPORT = {"data.baselines"}
WORDS = {"hidden_size": 4, "embedding": 4}


def representatives(names: Iterable[str]) -> list[str]:
    """One preset for each task with data and each set of settings that a preset of it reads."""
    found: dict[tuple[str, frozenset[str]], str] = {}
    for name in names:
        settings = load_preset(name)
        if settings.data.train is None and name not in PLANS:  # custom trees
            continue
        read = frozenset(f"{s}.{n}" for s in ("data", "model") for n in settings.sections[s])
        found.setdefault((settings.task.name, read), name)
    return sorted(found.values())


def small(preset: str, data: dict[str, Any], **model: Any) -> Settings:
    """A preset on a few examples, with small layers."""
    settings = quick(preset, {"max_train_examples": 12, **data}, batch_size=6)
    sizes = {name: value for name, value in WORDS.items() if name in settings.model}
    sizes.update({"head_hidden_sizes": [4]} if settings.model.get("head_hidden_sizes") else {})
    return with_model(settings, **sizes, **model)


def another(option: Option, value: Any, tmp_path: Path) -> list[Any]:
    """Other values of an option, of which one must make a difference."""
    if option.choices is not None:
        return [name for name in option.choices if name != value]
    for kind in (option.type, *get_args(option.type)):
        if get_origin(kind) is Literal:
            return [choice for choice in get_args(kind) if choice != value]
    if isinstance(value, bool) or option.takes(bool):
        return [not value]
    if option.name in ("dir", "train", "valid", "test", "vectors", "pretrained", "cache_dir"):
        return [str(tmp_path / "none")]
    if option.takes(list):
        return [[3], [3, 3]]
    if option.takes(int):
        return [(value or 0) + 1, 2, 5, 40]
    if option.takes(float):
        return [0.25, 0.5, 2.0]
    return ["other"]


def digest(*arrays: Any) -> str:
    """A hash of arrays and texts."""
    whole = hashlib.sha256()
    for each in arrays:
        whole.update(each.tobytes() if isinstance(each, np.ndarray) else str(each).encode())
    return whole.hexdigest()


def of_forest(forest: Forest) -> str:
    """All of a forest."""
    names = {name: vocabulary.names for name, vocabulary in forest.vocabs.items()}
    return digest(forest.parent, forest.pos, forest.offsets, *forest.columns.values(), names)


def of_examples(data: LabeledTrees | None) -> str:
    """All of a data set."""
    return "" if data is None else digest(of_forest(data.forest), *data.columns.values())


def of_model(model: nn.Module) -> str:
    """Weights, and the plain attributes of all modules."""
    plain = (int, float, str, tuple, list)
    parts: list[Any] = [(name, t.detach().numpy()) for name, t in model.state_dict().items()]
    for name, module in model.named_modules():
        parts.append((name, type(module).__name__))
        for key, value in vars(module).items():
            if isinstance(value, plain) or dataclasses.is_dataclass(value) or callable(value):
                parts.append((name, key, getattr(value, "keywords", None) or repr(value)))
    return digest(*(each for part in parts for each in part))


def fingerprint(settings: Settings) -> str:
    """All that a run begins with: its model, its data, and the order of its examples."""
    ready = prepare(settings)
    sampler = training_sampler(settings, ready.splits.train)
    batches = [np.asarray(ids).tolist() for ids in sampler.batches()]
    parts = [ready.splits.train, ready.splits.valid, ready.splits.test, ready.test]
    return digest(of_model(ready.model), *map(of_examples, parts), batches)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("preset", representatives(PRESETS))
def test_every_setting_of_data_and_model_makes_a_difference(preset: str, tmp_path: Path) -> None:
    assert unused(small(preset, {}), tmp_path) <= REPORT


def unused(settings: Settings, tmp_path: Path) -> set[str]:
    """The settings of data and model whose other values make no difference."""
    before, found = fingerprint(settings), set[str]()
    for section in ("data", "model"):
        for name, option in settings.sections[section].options.items():
            values = another(option, settings.sections[section][name], tmp_path)
            if not any(differs(settings, section, name, value, before) for value in values):
                found.add(f"{section}.{name}")
    return found


def differs(settings: Settings, section: str, name: str, value: Any, before: str) -> bool:
    """Whether a run with another value begins differently, or is refused."""
    try:
        changed = Settings(layered(settings.to_dict(), {section: {name: value}}))
        return fingerprint(changed) != before
    except (ConfigError, TreeError):
        return True


def test_every_task_has_a_preset() -> None:
    """Those that are missing want a file in dgltrees/training/presets."""
    tasks = {load_preset(name).task.name for name in preset_names()}
    assert {*TASKS} - tasks == set()

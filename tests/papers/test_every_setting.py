"""Every setting of the papers' data and models makes a difference; runs in every precision."""

import math
from pathlib import Path
from typing import Any

import pytest

from dgltrees.settings.catalog import load_preset, preset_names
from dgltrees.settings.layers import Settings
from dgltrees.settings.presets import PRESETS
from dgltrees.training.run import train
from tests.papers.samples import SENTENCES
from tests.training import test_every_setting
from tests.training.samples import SAMPLES
from tests.training.test_every_setting import representatives, unused

# Settings of some formats alone, which the samples are not; test_tree_lm.py has tests of them.
OTHER_FORMATS = {"data.single_root", "data.label"}
_NAMES = [name for name in preset_names() if name not in PRESETS]


def small(preset: str, tmp_path: Path) -> Settings:
    """A preset on a few examples, with small layers."""
    settings = load_preset(preset)
    task, data = settings.task.name, dict[str, Any]()
    if task in ("tree-lm", "parser"):
        data = {**SENTENCES, "max_train_examples": 4, "min_freq": 1}
    if task == "sst-phrases":  # with words in upper case
        text = (SAMPLES / "sst" / "train.txt").read_text(encoding="utf-8")
        (tmp_path / "train.txt").write_text(text.replace(" the)", " The)"), encoding="utf-8")
        data.update(train=str(tmp_path / "train.txt"), valid="sst/dev.txt")
    if settings.sections["data"].get("truncate"):
        data["max_words"] = 4
    if "vectors" in settings.sections["data"]:
        data["vectors"] = None
    model = {"fixed_words": False} if "fixed_words" in settings.model else {}
    return test_every_setting.small(preset, data, **model)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("preset", representatives(_NAMES))
def test_every_setting_of_data_and_model_makes_a_difference(preset: str, tmp_path: Path) -> None:
    assert unused(small(preset, tmp_path), tmp_path) <= OTHER_FORMATS


@pytest.mark.parametrize("precision", ["64-true", "bf16-true", "bf16-mixed"])
@pytest.mark.parametrize("preset", sorted({"parser", "ptb-lstm", "mee-reinforce"} & {*_NAMES}))
def test_models_with_inputs_or_outputs_of_their_own_train_in_every_precision(
    preset: str, precision: str, tmp_path: Path
) -> None:
    """Lightning-fabric turns what goes into a model, and what comes out, into other types."""
    settings = small(preset, tmp_path).replace("training", precision=precision)
    result = train(settings, tmp_path / "run")
    assert math.isfinite(result["valid"]["loss"])

"""Every preset of a paper trains for an epoch on a sample of its data."""

from pathlib import Path

import pytest

from dgltrees.settings.catalog import preset_names
from dgltrees.settings.presets import PRESETS
from tests.papers.samples import small
from tests.settings.test_presets import trains

# test_edge_classifier.py has the preset whose data are states of another model
_NAMES = [name for name in preset_names() if name not in {*PRESETS, "edge-classifier"}]


@pytest.mark.filterwarnings("ignore:.*no vectors for")
@pytest.mark.parametrize("preset", _NAMES)
def test_a_preset_trains_on_a_sample(tmp_path: Path, preset: str) -> None:
    trains(small(preset, tmp_path), tmp_path / "run")

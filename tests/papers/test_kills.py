"""A run of any family of the papers survives kills; ``make kills`` takes 100."""

import random
from pathlib import Path

import pytest

from dgltrees.settings.catalog import preset_names
from tests.papers.samples import small
from tests.training import test_kills

pytestmark = [*test_kills.pytestmark, pytest.mark.filterwarnings("ignore:.*no vectors for")]

FAMILIES = {
    "tensor Tree-LSTM": "listops-hosvd-c10-r3",
    "N-ary Tree-LSTM": "sst-tree",
    "top-down TreeLSTM": "tree-lm-ld",
    "parser": "parser",
    "neural tree indexer": "snli-slstm-lstm-node-tree",
    "RRNet with a policy": "mee-reinforce",
    "running text": "ptb-small",
}
"""A preset of each family."""


@pytest.mark.parametrize("family", [f for f, name in FAMILIES.items() if name in preset_names()])
def test_kills_change_nothing(tmp_path: Path, family: str) -> None:
    settings = small(FAMILIES[family], tmp_path)
    test_kills.survives_kills(settings, tmp_path, random.Random(family))

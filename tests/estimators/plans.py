"""The plans of the samples, with what the tests of estimators learn from them, and short fits."""

import json
from typing import Any

import numpy as np

from dgltrees import Forest
from tests.training.samples import PLANS_FILE

RECORDS = [json.loads(line) for line in PLANS_FILE.read_text().splitlines()]
PLANS = [record["plan"] for record in RECORDS]
FOREST = Forest.from_objects(PLANS, children="Plans")
SECONDS = np.array([record["seconds"] for record in RECORDS])
SPEED = np.array([record["speed"] for record in RECORDS])
TINY: dict[str, Any] = {
    "hidden_size": 4,
    "epochs": 2,
    "settings": {"model.embedding": 4, "data.baselines": False},
}
"""Arguments of estimators that are fitted fast; QUICK ones tell trees apart."""
QUICK: dict[str, Any] = {
    **TINY,
    "hidden_size": 8,
    "settings": {**TINY["settings"], "model.embedding": 8},
}

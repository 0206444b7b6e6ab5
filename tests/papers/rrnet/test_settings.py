from __future__ import annotations

from typing import Any

import pytest
import yaml

from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings


def test_nested_sections_round_trip() -> None:
    policy = {"operations": "policy", "agent": "dqn", "epsilon": 0.2}
    settings = Settings({"task": "mee", "model": {"policy": policy}})
    assert settings.model["policy.epsilon"] == 0.2
    assert Settings(yaml.safe_load(settings.to_yaml())) == settings


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"task": "ptb", "training": {"max_nodes": 9}},
            r"max_nodes is not read by the task ptb; l",
        ),
        (
            {"task": "mee", "model": {"policy": {"epsilon": 1}}},
            r"with model\.policy\.operations given",
        ),
    ],
)
def test_wrong_settings(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        Settings(values)
    assert "\n" not in str(error.value)

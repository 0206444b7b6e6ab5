"""Settings of the paper."""

import yaml

from dgltrees.settings.layers import Settings


def test_nested_sections_round_trip() -> None:
    policy = {"operations": "policy", "agent": "reinforce", "entropy": 0.2}
    settings = Settings({"task": "mee", "model": {"policy": policy}})
    assert settings.model["policy.entropy"] == 0.2
    assert Settings(yaml.safe_load(settings.to_yaml())) == settings

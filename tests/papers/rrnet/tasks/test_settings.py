"""Settings and arguments that are refused by name."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from dgltrees.cells import RRNetCell
from dgltrees.papers.rrnet.models.classifier import NumberDecoder
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder
from dgltrees.papers.rrnet.models.language_model import LSTMStream
from dgltrees.papers.rrnet.models.objectives import Reinforce
from dgltrees.papers.rrnet.models.policy import Policy
from dgltrees.settings.layers import Settings
from tests.models.test_ranges import WORDS, assert_refused


def test_nested_sections_round_trip() -> None:
    policy = {"operations": "policy", "agent": "reinforce", "entropy": 0.2}
    settings = Settings({"task": "mee", "model": {"policy": policy}})
    assert settings.model["policy.entropy"] == 0.2
    assert Settings(yaml.safe_load(settings.to_yaml())) == settings


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (lambda **o: NumberDecoder(4, **o), {"digits": 2.5}, "an integer of at least 1"),
    (Reinforce, {"discount": 1.5}, "a number of at least 0 and at most 1"),
    (lambda **o: Policy(3, 4, **o), {"detach": "no"}, "true or false"),
    (lambda **o: RRNetEncoder(WORDS, RRNetCell(4, 3), **o), {"max_open": 0}, "an integer of "),
    (lambda **o: LSTMStream(WORDS, 3, **o), {"dropout": 1.0}, "a number of at least 0 and below"),
]


@pytest.mark.parametrize(("build", "options", "words"), REFUSED)
def test_values_out_of_range_are_refused(
    build: Callable[..., Any], options: dict[str, Any], words: str
) -> None:
    assert_refused(build, options, words)

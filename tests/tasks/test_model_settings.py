"""Settings that a task, or a model of it, does not read are refused by name."""

from typing import Any

import pytest

from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings


def assert_refused(task: str, section: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=rf"{section}\.(policy\.)?({message})") as caught:
        Settings({"task": task, section: values})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("task", "section", "values", "message"),
    [
        (
            *("classify", "data", {"handle_unknown": "drop"}),
            "handle_unknown to be one of use_encoded_value, error, got 'drop'",
        ),
        (
            *("regress", "training", {"monitor": "accuracy"}),
            "monitor to be .*one of loss, r2_log, .* got 'accuracy'",
        ),
        (
            *("rank", "training", {"monitor": "accuracy"}),
            "monitor to be .*one of pair_accuracy, kendall, .* got 'accuracy'",
        ),
    ],
)
def test_settings_that_do_not_go_together(
    task: str, section: str, values: dict[str, Any], message: str
) -> None:
    assert_refused(task, section, values, message)

"""Former names of settings, for old settings files and old run directories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dgltrees.options import overlay
from dgltrees.tasks.table import get_task
from dgltrees.training.settings import SECTIONS, flat, section_sources

__all__ = ["RENAMED", "renamed", "settings_of_format_1"]

RENAMED = {
    "data.keep_back": "data.valid_fraction",
    "data.test_part": "data.test_fraction",
    "data.every_word": "data.vocabulary_from_all_splits",
    "model.gate": "model.cell",
    "model.policy.hidden": "model.policy.hidden_sizes",
    "model.policy.told": "model.policy.supervised_fraction",
    "model.policy.trace": "model.policy.gae_lambda",
    "model.policy.explore": "model.policy.epsilon",
    "training.l2": "training.weight_decay",
    "training.alike": "training.bucket_by",
    "training.window": "data.window",
}
"""Old name to new name, with the section of each."""


def renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace former names of settings by the current ones."""
    result: dict[str, Any] = {key: value for key, value in values.items() if key not in SECTIONS}
    for section in SECTIONS:
        for name, value in flat(values.get(section, {})).items():
            full = RENAMED.get(f"{section}.{name}", f"{section}.{name}")
            new_section, _, new_name = full.partition(".")
            result.setdefault(new_section, {})[new_name] = value
    return result


def settings_of_format_1(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run directory of format 1, which held those of all tasks.

    Settings that the run's task and model do not read are dropped.
    """
    result = renamed(values)
    if result.get("training", {}).get("optimizer_options") == {}:
        del result["training"]["optimizer_options"]
    sources = section_sources(get_task(result["task"]))
    for section in SECTIONS:
        result[section] = overlay(sources[section], result.get(section, {}), {}, section)
    return result

from __future__ import annotations

import pytest

from dgltrees import registry
from dgltrees.errors import ConfigError
from dgltrees.settings.catalog import load_preset, paper_of, preset_names, preset_values
from dgltrees.settings.tasks import TASKS
from tests.settings.test_catalog import NTI

_ALL = {*preset_names()}


def test_a_preset_has_the_paper_of_its_base_or_its_own() -> None:
    assert paper_of("mee-lstm") == "Jacob et al. 2018, Table 2 (LSTM)"
    assert paper_of("mee-dqn") == ""


@pytest.mark.usefixtures("without_nti")
def test_presets_that_need_a_paper_go_with_it() -> None:
    names = preset_names()
    assert not [name for name in names if name.startswith(("snli", "wikiqa", "sst-"))]
    assert [name for name in names if name.startswith("sick")] == ["sick-relatedness"]
    assert _ALL & {"mee", "listops", "parser", "classify"} <= {*names}


@pytest.mark.usefixtures("without_nti")
@pytest.mark.parametrize("name", ["sick-rrnet", "sick-rrnet-told"])
def test_a_missing_base_is_named(name: str) -> None:
    with pytest.raises(ConfigError) as error:
        preset_values(name)
    assert str(error.value) == f"preset sick-rrnet: base: preset 'sick' is of {NTI}"


def test_a_preset_needs_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TASKS, "logic", raising=False)
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    assert not [name for name in preset_names() if name.startswith("lrt") or name == "logic-tree"]
    with pytest.raises(ConfigError) as error:
        load_preset("logic-tree")
    paper = "the paper tensor_tree_lstm (dgltrees.papers.tensor_tree_lstm), which is not installed"
    assert str(error.value) == f"preset logic-tree: the task logic is of {paper}"
